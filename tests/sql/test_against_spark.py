"""The first law, for the parser: a statement and its parts put together again mean the same."""
# ruff: noqa: E501

from dataclasses import replace

import pytest

from muntin.model.query import Query
from muntin.sql import parse_sql

EVENTS = """
SELECT timestamp_seconds(1704067200 + id * 17) AS ts,
       concat('d', id % 3) AS device,
       CASE WHEN id % 7 != 0 THEN id END AS x,
       cast(id % 5 AS double) / 3 AS temp,
       named_struct('zone', concat('z', id % 2), 'site', named_struct('code', id % 4)) AS s,
       date_add(DATE '2024-01-01', cast(id % 2 AS int)) AS date,
       map('k', id % 2) AS m,
       id % 2 AS `odd name`,
       array(id, id + 1) AS xs
FROM range(60)
"""

BY = "GROUP BY device, window(ts, '5 minutes')"

STATEMENTS = [
    "SELECT device, window, max(temp) AS hottest FROM r {by}",
    "SELECT DEVICE, Window.Start, window.end, count(*) FROM r {by}",
    "SELECT device, window FROM r {by}",
    "SELECT count(1), count(x), count(NULL), count_if(x > 9), sum(x), avg(temp), mean(x) FROM r {by}",
    "SELECT min(DISTINCT x), max(ALL x), variance(x), var_pop(x), std(temp), stddev_pop(x) FROM r {by}",
    "SELECT any(x > 9), some(x > 1), bool_or(x > 3), every(x > 1), bool_and(x < 99) FROM r {by}",
    "SELECT device, max(temp) - min(temp) AS spread, sum(x) / count(*) FROM r {by}",
    "SELECT device, count(*) FROM r GROUP BY device, window(ts, '10 minutes', '3 minutes', '-30 seconds')",
    "SELECT window(ts, '300 seconds'), count(*) AS n FROM r GROUP BY window(ts, '5 minutes')",
    "SELECT window(ts, '5 minutes').start, count(*) FROM r GROUP BY window(ts, 300000000L)",
    "SELECT window('2024-01-01', '1 hour'), count(*) FROM r GROUP BY window('2024-01-01', '1 hour')",
    "SELECT sum(x) FILTER (WHERE temp > 0.5) AS f, count(*) FILTER (WHERE device = 'd1') FROM r {by}",
    "SELECT device, count(*) AS n FROM r {by} HAVING n > 5 AND max(temp) > 1",
    "SELECT device, max(temp) AS temp FROM r {by} HAVING max(temp) > 1 OR temp < 1",
    "SELECT device AS d, upper(device) AS device FROM r GROUP BY 1, window(ts, '5 minutes') HAVING device = 'd1'",
    "SELECT device, sum(x) * 10 AS x FROM r {by} HAVING x > 1000",
    "SELECT device, struct(count(*) AS c, 2 AS d) AS n FROM r {by} HAVING n.c > 5",
    "SELECT window.start, count(*) FROM r {by} HAVING start > '2024-01-01 00:06:00'",
    "SELECT upper(device), concat(UPPER( device ), 'x') AS y, count(*) FROM r GROUP BY upper(device), window(ts, '5 minutes') HAVING upper(device) != 'D1'",
    "SELECT upper(device) AS d, window(ts, '5 minutes') AS w, max(x) AS m FROM r GROUP BY 1, 2",
    "SELECT r.device, count(*) FROM r {by}",
    "SELECT device, max(r.x) FROM r GROUP BY r.device, window(r.ts, '5 minutes')",
    "SELECT a.device, max(b.x) AS m FROM r a JOIN r AS b ON a.ts = b.ts GROUP BY a.device, window(a.ts, '5 minutes')",
    "SELECT r.device, sum(u.w) AS w FROM r JOIN (SELECT 'd1' AS device, 2 AS w) u ON r.device = u.device GROUP BY r.device, window(ts, '5 minutes')",
    "SELECT s.zone, s.site.code, count(*) FROM r GROUP BY s.zone, s.site.code, window(ts, '5 minutes')",
    "SELECT s.site.code, s, count(*) AS n FROM r GROUP BY s, window(ts, '5 minutes')",
    "SELECT m['k'], count(*) FROM r GROUP BY m['k'], window(ts, '5 minutes')",
    "SELECT `odd name`, `odd name` + max(x) AS t FROM r GROUP BY `odd name`, window(ts, '5 minutes')",
    "SELECT date, DATE '2020-01-01', cast(max(ts) AS date) AS c, date(min(ts)) FROM r GROUP BY date, window(ts, '5 minutes')",
    "SELECT x + 1, (x + 1) * 2 AS two FROM r GROUP BY x + 1, window(ts, '5 minutes')",
    "SELECT x + temp * 2 AS t FROM r GROUP BY x, temp, x + temp, window(ts, '5 minutes')",
    "SELECT CASE WHEN device = 'd1' THEN max(x) ELSE -1 END AS c FROM r {by}",
    "SELECT device LIKE ANY ('%1', '%2') AS l, max(ts)::date, extract(MINUTE FROM max(ts)) AS mi FROM r {by}",
    "SELECT timestampdiff(SECOND, min(ts), max(ts)) AS d, max(ts) + INTERVAL '1' DAY AS i FROM r {by}",
    "SELECT transform(array(1, 2), device -> device + max(x)) AS t FROM r {by}",
    "SELECT max(aggregate(xs, 0L, (acc, v) -> acc + v)) AS t FROM r {by}",
    "SELECT date_format(max(ts), 'yyyy-MM-dd HH:mm') AS f, 'a;--b' AS t, \"it's\" AS q FROM r {by}",
    "SELECT count(*) AS n FROM r WHERE x IS DISTINCT FROM 3 AND date_format(ts, 'ss') > '10' {by}",
    "SELECT count(*) AS n FROM r WHERE x IN (1, 2, 30) -- few\n {by} -- done",
    "SELECT count(*) AS n, max(date) FROM r GROUP BY (device, date), window(ts, '5 minutes')",
    "SELECT device, sum(x) FROM r GROUP BY device, 'lit', 2.5, current_date(), window(ts, '5 minutes')",
    "SELECT count(*) AS n FROM (SELECT *, ts + INTERVAL 1 HOUR AS later FROM r WHERE x > 3) GROUP BY window(later, '5 minutes')",
    "SELECT max(id) AS m FROM range(9) GROUP BY window(timestamp_seconds(id), '3 seconds')",
    "SELECT device, max(temp) AS `a``b c`, min(x) AS `_a0`, sum(x) AS window FROM r {by}",
    "SELECT count(*) AS n FROM r TABLESAMPLE (100 PERCENT) GROUP BY r.device, window(ts, '5 minutes')",
    "SELECT ALL device, 1 + 1, NULL AS nothing, count(*) IS DISTINCT FROM 3 AS b FROM r {by} HAVING true",
]  # fmt: skip


@pytest.fixture(scope="module")
def events(spark):
    frame = spark.sql(EVENTS)
    frame.createOrReplaceTempView("r")
    frame.createOrReplaceTempView("stand_in")
    yield frame
    spark.catalog.dropTempView("r")
    spark.catalog.dropTempView("stand_in")


@pytest.mark.parametrize("sql", [sql.format(by=BY) for sql in STATEMENTS])
def test_the_parts_mean_what_the_statement_means(spark, events, sql):
    (query,) = parse_sql(sql)
    assert isinstance(query, Query), query.reason
    expected = spark.sql(sql)
    parts = spark.sql(replace(query, statement=None).to_sql().fill({"r": "stand_in"}))
    whole = spark.sql(query.statement.fill({"r": "stand_in"}))
    assert rows(parts) == rows(expected)
    assert whole.schema == expected.schema
    for column, wanted, found in zip(query.columns, expected.schema, parts.schema, strict=True):
        assert found.dataType == wanted.dataType
        assert column.name in (None, wanted.name)


def rows(frame):
    """The rows in an order of their own; floats as Spark prints them."""
    return sorted(repr(tuple(row)) for row in frame.collect())


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT s.zone AS z, count(*) FROM r GROUP BY z, window(ts, '5 minutes')",
        "SELECT count(*) AS n, n + 1 AS m FROM r {by}",
        "SELECT try_avg(x), collect_list(1), first(2) FROM r {by}",
        "SELECT max(window.start) FROM r {by}",
        "SELECT count(*) FROM r GROUP BY window(ts, '5 minutes').start",
        "SELECT count(*) FROM r GROUP BY window(ts, '1 day 0 months')",
        "SELECT r.x FROM r WHERE r.x IN (SELECT x FROM r) ORDER BY r.x LIMIT 3",
        "WITH r AS (SELECT * FROM r WHERE x > 3) SELECT r.device, count(*) FROM r {by}",
        "SELECT * FROM r PIVOT (count(1) FOR device IN ('d1', 'd2'))",
        "SELECT r.x, y FROM r LATERAL VIEW explode(xs) e AS y",
        "FROM r |> WHERE x > 3 |> SELECT r.x",
        "SELECT /*+ BROADCAST(r) */ r.x FROM r UNION ALL SELECT x FROM r",
    ],
)
def test_a_plain_statement_reads_what_stands_in(spark, events, sql):
    sql = sql.format(by=BY)
    (query,) = parse_sql(sql)
    assert not isinstance(query, Query)
    assert set(query.statement.tables) == {"r"}
    assert rows(spark.sql(query.statement.fill({"r": "stand_in"}))) == rows(spark.sql(sql))
