"""ORDER BY, SORT BY, LIMIT and OFFSET: the aggregation is shared, and Spark orders the answer."""

from dataclasses import replace

import pytest
from pyspark.sql import functions as F

import muntin as mt
from muntin.model.plan_json import query_from_json, query_to_json
from tests.support.answers import plain

FROM = "FROM readings GROUP BY device, window(ts, '2 minutes', '40 seconds')"
# Each gives all rows an order of their own, as far as columns tell them apart.
STATEMENTS = {
    "columns": f"SELECT device, window, max(temp) AS m {FROM} ORDER BY device, window",
    "directions": f"""SELECT device, window.start, sum(load) AS s {FROM}
        ORDER BY s DESC NULLS LAST, device ASC NULLS LAST, start DESC""",
    "places": f"SELECT window.end, device, count(*) {FROM} ORDER BY 3 DESC, (2), 1",
    "all columns": f"SELECT device, count(*) AS n, window.start {FROM} ORDER BY ALL DESC",
    "other aggregates": f"""SELECT device, window.start {FROM}
        ORDER BY max(load) - min(load), avg(temp) NULLS LAST, window.start, device""",
    "an item before a key": """SELECT count(*) AS device, device AS d, window.start AS s
        FROM readings GROUP BY 2, window(ts, '2 minutes', '40 seconds')
        ORDER BY device, readings.device, s""",
    "expressions": f"""SELECT upper(device) AS up, window, count(*) + 1 AS n {FROM}
        ORDER BY n % 3, length(up), up DESC, window.end""",
    "limit": f"SELECT device, window, min(temp) AS m {FROM} ORDER BY window, device LIMIT 7",
    "offset": f"SELECT device, window, min(temp) AS m {FROM} ORDER BY window, device OFFSET 30",
    "both": f"SELECT window, device {FROM} ORDER BY window DESC, device LIMIT 4 OFFSET 2",
    "no rows": f"SELECT window, device {FROM} ORDER BY window LIMIT 0",
    "a limit of all": f"SELECT window, device {FROM} ORDER BY 1, 2 LIMIT ALL",
    "a constant": f"SELECT device, 1 AS one, window {FROM} ORDER BY one, device, window",
    "distinct values": f"""SELECT device, window, count(DISTINCT load) AS d {FROM}
        ORDER BY d, device, window LIMIT 9""",
    "sets": """SELECT device, window, sum(load) AS s, grouping(device) AS g FROM readings
        GROUP BY window(ts, '2 minutes', '40 seconds'), ROLLUP(device)
        ORDER BY grouping(device) DESC, s DESC, device, window LIMIT 12""",
    "sessions": """SELECT device, session_window.start, count(*) AS n FROM readings
        GROUP BY device, session_window(ts, '5 seconds') ORDER BY n DESC, device, 2 LIMIT 5""",
    "other sessions": """SELECT device, session_window.end, max(temp) AS m FROM readings
        GROUP BY device, session_window(ts, '3 seconds') ORDER BY session_window.end, device""",
    "tags": """SELECT tags['m'] AS m, window, count(*) AS n FROM readings
        GROUP BY tags, window(ts, '2 minutes', '40 seconds') ORDER BY window, m LIMIT 5""",
    "no order": f"SELECT device, window, max(load) AS m {FROM}",
}


@pytest.fixture(scope="module")
def queries():
    return mt.parse_sql("".join(f"-- name: {name}\n{sql};" for name, sql in STATEMENTS.items()))


@pytest.fixture(scope="module")
def data(readings):
    rows = readings.localCheckpoint()
    rows.createOrReplaceTempView("readings")
    return {"readings": rows}


@pytest.fixture(scope="module")
def results(queries, data):
    with mt.run(queries, data, strategy="shared") as found:
        yield found


@pytest.fixture(scope="module")
def expected(queries, data):
    return {query.name: plain(query, data) for query in queries}


def rows(frame):
    return [repr(row) for row in frame.collect()]


def test_answers_come_in_sparks_order(results, expected):
    assert not results.plan.plain_queries
    for name in STATEMENTS:
        assert results[name].schema == expected[name].schema, name
        found, wanted = rows(results[name]), rows(expected[name])
        assert (found if name != "no order" else sorted(found)) == (
            wanted if name != "no order" else sorted(wanted)
        ), name


def test_the_long_form_and_files_have_the_rows_of_each(spark, queries, data, expected, tmp_path):
    names = ("columns", "both", "no order", "sessions", "other sessions", "sets")
    asked = [query for query in queries if query.name in names]
    with mt.run(asked, data, strategy="shared") as results:
        together = results.together().groupBy("query").count().collect()
        results.write(str(tmp_path))
    wanted = {name: rows(expected[name]) for name in names}
    assert {row["query"]: row["count"] for row in together} == {
        name: len(found) for name, found in wanted.items()
    }
    for name in names:
        written = rows(spark.read.parquet(str(tmp_path / name)))
        assert sorted(written) == sorted(wanted[name])


def test_json_and_sql_have_the_ending(spark, queries, results, expected):
    for query in queries:
        again = query_from_json(query_to_json(query))
        assert again.ending == query.ending
        name = query.name
        if all(column.name for column in query.columns) and query.sets is None:
            own = replace(again, statement=None).to_sql().fill()
            assert sorted(rows(spark.sql(own))) == sorted(rows(expected[name]))
    for name in ("columns", "other aggregates", "both", "sets", "sessions"):
        assert rows(spark.sql(results.to_sql(name))) == rows(expected[name])
    whole = results.to_sql(together=True)
    assert "'columns' is not in it: it has an order or a limit of its own" in whole
    assert sorted(rows(spark.sql(whole).drop("query").select("device", "window", "m"))) == sorted(
        rows(expected["no order"])
    )


def test_what_spark_cannot_resolve_above_having_is_refused(data):
    queries = mt.parse_sql(
        f"SELECT device {FROM} HAVING count(*) > 3 ORDER BY max(load); SELECT sum(load) AS s {FROM}"
    )
    with pytest.raises(mt.RunError, match=r"query 'q1': .*`load` cannot be resolved"):
        mt.run(queries, data, strategy="shared")


def test_sort_by_orders_each_partition(data):
    queries = mt.parse_sql(
        f"SELECT device, window, count(*) AS n {FROM} SORT BY n; SELECT sum(load) AS s {FROM}"
    )
    results = mt.run(queries, data, strategy="shared")
    assert not results.plan.plain_queries
    assert sorted(rows(results["q1"])) == sorted(rows(plain(queries[0], data)))
    parts = results["q1"].select("n", F.spark_partition_id().alias("part")).collect()
    for part in {row.part for row in parts}:
        counts = [row.n for row in parts if row.part == part]
        assert counts == sorted(counts)


@pytest.mark.parametrize(
    ("ending", "reason"),
    [
        ("ORDER BY max(n)", "in ORDER BY, n may mean a column or an item of SELECT"),
        ("ORDER BY r.n", "n is neither a key nor inside an aggregate"),
        ("ORDER BY rand()", "rand() gives other values each time"),
        ("ORDER BY window(ts, '1 minute').start", "a window in ORDER BY that is called anew"),
        ("ORDER BY 5", "ORDER BY 5 has no item to stand for"),
        ("ORDER BY (SELECT 1)", "a subquery in ORDER BY"),
        ("LIMIT 1 + 1", "LIMIT 1 + 1"),
    ],
)
def test_what_spark_alone_can_order(ending, reason):
    (query,) = mt.parse_sql(
        f"SELECT device AS n FROM r GROUP BY device, window(ts, '1 minute') {ending}"
    )
    assert query.reason == reason


def test_frames(readings):
    by = readings.groupBy("device", F.window("ts", "2 minutes", "40 seconds"))
    counted = by.agg(F.count("*").alias("n"), F.max("temp").alias("m"))
    frames = {
        "sorted": counted.orderBy("window", "device"),
        "down": counted.orderBy(F.desc("n"), F.col("m").asc_nulls_last(), "window", "device"),
        "dropped": counted.orderBy("window", "device").select("m", "n"),
        "missing": counted.select("device", "window").orderBy(F.col("window.end").desc(), "device"),
        "limit": counted.orderBy("window", "device").limit(9),
        "offset": counted.orderBy("window", "device").offset(40).limit(5),
        "cut": counted.orderBy("window", "device").limit(9).offset(3).limit(4),
        "filtered": counted.orderBy("window", "device").where("n > 4"),
        "twice": counted.orderBy("n").orderBy("window", "device"),
        "constant": counted.orderBy(F.lit(1), "window", "device"),
    }
    results = mt.share({**frames, "plain": counted}, strategy="shared")
    assert not results.plan.plain_queries
    for name, frame in frames.items():
        assert results[name].schema == frame.schema, name
        assert rows(results[name]) == rows(frame), name
    inside = mt.share({"f": counted.limit(3).orderBy("window")})
    assert inside.plan.plain_queries[0].reason == "it has a filter or an order above its limit"
