"""What Spark answers and muntin does not share: the rows of docs/not-shared.md.

`python -m tests.support.not_shared` writes the page anew.
"""

from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import muntin as mt
from muntin.spark.binding.relations import Relations

PAGE = Path(__file__).parents[2] / "docs" / "not-shared.md"

READINGS = """
SELECT timestamp_seconds(id) AS ts, concat('d', id % 3) AS device, id % 7 / 2D AS temp,
       CAST(id % 5 AS INT) AS load, CAST(id AS DECIMAL(10, 2)) AS price, map('m', id) AS tags,
       make_ym_interval(0, CAST(id % 5 AS INT)) AS age, '10 minutes' AS gap,
       collate(concat('L', id % 2), 'UTF8_LCASE') AS label
FROM range(90)"""

BY = "GROUP BY device, window(ts, '1 hour')"
SQL = {
    "The shape of the statement": [
        f"WITH r AS (SELECT * FROM readings) SELECT max(temp) FROM r {BY}",
        f"SELECT max(temp) FROM readings {BY} UNION ALL SELECT min(temp) FROM readings {BY}",
        f"SELECT DISTINCT max(temp) FROM readings {BY}",
        f"SELECT max(temp) FROM readings {BY} DISTRIBUTE BY device",
        f"SELECT max(temp) FROM readings {BY} CLUSTER BY device",
        f"SELECT max(temp) FROM readings {BY} LIMIT 2 + 1",
        f"SELECT max(temp), rank() OVER (ORDER BY max(temp)) FROM readings {BY}",
        f"SELECT max(temp) FROM readings WHERE load IN (SELECT 3) {BY}",
        f"SELECT max(temp) FROM readings {BY} HAVING max(temp) > (SELECT 3)",
        f"SELECT max(temp) FROM readings LATERAL VIEW explode(array(1, 2)) AS n {BY}",
        f"FROM readings SELECT max(temp) {BY}",
        f"SELECT /*+ COALESCE(1) */ max(temp) FROM readings {BY}",
    ],
    "GROUP BY": [
        "SELECT max(temp) FROM readings",
        "SELECT max(temp) FROM readings GROUP BY device",
        "SELECT device, window(ts, '1 hour'), max(temp) FROM readings GROUP BY ALL",
        "SELECT upper(device) AS d, max(temp) FROM readings GROUP BY d, window(ts, '1 hour')",
        "SELECT max(temp) FROM readings GROUP BY window(ts, '1 hour').start",
        "SELECT max(temp) FROM readings GROUP BY device, session_window(ts, gap)",
        "SELECT device, max(temp) FROM readings GROUP BY ROLLUP(device, window(ts, '1 hour'))",
        "SELECT max(temp) FROM readings GROUP BY ROLLUP(device), session_window(ts, '1 hour')",
    ],
    "Functions": [
        f"SELECT first(temp) FROM readings {BY}",
        f"SELECT any_value(temp) FROM readings {BY}",
        f"SELECT collect_list(temp) FROM readings {BY}",
        f"SELECT listagg(device, ',') FROM readings {BY}",
        f"SELECT mode(load) FROM readings {BY}",
        f"SELECT try_avg(temp) FROM readings {BY}",
        f"SELECT stddev(DISTINCT temp) FROM readings {BY}",
        f"SELECT percentile(temp, 0.5, load) FROM readings {BY}",
        f"SELECT approx_percentile(temp, 0.5) FROM readings {BY}",
        f"SELECT max(temp) + rand() FROM readings {BY}",
        f"SELECT max(temp) FROM readings WHERE rand() < 0.5 {BY}",
        f"SELECT explode(array(max(temp))) FROM readings {BY}",
    ],
    "Types and names": [
        f"SELECT avg(price) AS mean FROM readings {BY}",
        f"SELECT avg(age) AS mean FROM readings {BY}",
        f"SELECT median(age) AS middle FROM readings {BY}",
        f"SELECT count(DISTINCT label) AS labels FROM readings {BY}",
        f"SELECT approx_count_distinct(label) AS labels FROM readings {BY}",
        "SELECT count(DISTINCT load) AS loads FROM readings GROUP BY tags, window(ts, '1 hour')",
        "SELECT max(temp) AS hottest FROM readings GROUP BY label, session_window(ts, '1 hour')",
        f"SELECT device AS load, max(temp) AS hottest FROM readings {BY} HAVING load <> 7",
    ],
}
HOUR = 'readings.groupBy("device", F.window("ts", "1 hour"))'
FRAMES = [
    'readings.groupBy("device").count()',
    'readings.rollup("device", F.window("ts", "1 hour")).count()',
    'readings.groupBy("device", F.window("ts", "1 hour")).pivot("load", [1, 2]).count()',
    f"{HOUR}.count().distinct()",
    f'{HOUR}.count().dropDuplicates(["count"])',
    f'{HOUR}.count().limit(3).where("count > 1")',
    f'{HOUR}.count().withColumn("n", F.rand())',
    f'{HOUR}.count().withColumn("n", F.udf(lambda n: n + 1, "long")("count"))',
    f'{HOUR}.count().groupBy("device").count()',
    f'{HOUR}.agg(F.first("temp"))',
]
INTRODUCTION = """# What is not shared

Spark answers each of these alone, beside the queries that share: `results[name]` has its answer,
and `plan.explain()` gives the reason. A stream refuses them, with the same reason. The page is
written from the tests (`tests/support/not_shared.py`), so it says what muntin says today.

The statements read `readings`, with the time `ts`, a text `device`, a double `temp`, an integer
`load`, a decimal `price`, a map `tags`, an interval of months `age`, a text `gap`, and a text
`label` with the collation UTF8_LCASE.
"""


def rows(session: SparkSession) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yields each section of the page: what is not shared, and why; checks that Spark takes it."""
    readings = session.sql(READINGS)
    data = {"readings": readings}
    for section, statements in SQL.items():
        queries = mt.parse_sql(";\n".join(statements))
        for query in queries:
            Relations(data, [query]).check(query)
        plan = mt.run([*queries, _sharing(section)], data).plan
        reasons = {query.name: query.reason for query in plan.plain_queries}
        # A statement that shares has no place here.
        assert reasons.keys() == {query.name for query in queries}, section
        yield section, list(zip(statements, reasons.values(), strict=True))
    frames: dict[str, DataFrame] = {
        text: eval(text, {"readings": readings, "F": F}) for text in FRAMES
    }
    names = {f"f{place}": frame for place, frame in enumerate(frames.values())}
    plan = mt.share(names).plan
    assert len(plan.plain_queries) == len(frames)
    yield (
        "DataFrames",
        [(text, query.reason) for text, query in zip(frames, plan.plain_queries, strict=True)],
    )


def _sharing(section: str) -> mt.Query:
    return mt.Query(
        name=section,
        window=mt.hopping("1 hour", every="10 minutes"),
        aggregates={"n": mt.count()},
        relation="readings",
        time="ts",
    )


def page(session: SparkSession) -> str:
    """Returns the text of the page."""
    parts = [INTRODUCTION]
    for section, found in rows(session):
        head = "DataFrame" if section == "DataFrames" else "statement"
        lines = [f"| {head} | reason |", "|---|---|"]
        lines += [f"| `{text}` | {_in_cell(reason)} |" for text, reason in found]
        parts.append("\n".join([f"## {section}", "", *lines]) + "\n")
    return "\n".join(parts)


def _in_cell(reason: str) -> str:
    return reason.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")


if __name__ == "__main__":
    from tests.support.session import session

    PAGE.write_text(page(session()))
