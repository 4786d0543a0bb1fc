"""Every reason for which a statement does not share."""
# ruff: noqa: E501

import pytest

from muntin.model.query import PlainQuery
from muntin.sql import parse_sql

BY = "GROUP BY device, window(ts, '1 minute')"


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        # Shapes.
        ("WITH x AS (SELECT 1) SELECT count(*) FROM r {by}", "WITH"),
        ("SELECT count(*) FROM r {by} UNION ALL SELECT 1", "UNION"),
        ("SELECT count(*) FROM r {by} EXCEPT SELECT 1", "EXCEPT"),
        ("SELECT count(*) FROM r {by} INTERSECT SELECT 1", "INTERSECT"),
        ("SELECT DISTINCT count(*) FROM r {by}", "SELECT DISTINCT"),
        ("SELECT count(*) FROM r {by} CLUSTER BY device", "CLUSTER BY"),
        ("SELECT count(*) FROM r {by} DISTRIBUTE BY device", "DISTRIBUTE BY"),
        ("SELECT count(*) FROM r {by} WINDOW w AS (PARTITION BY device)", "a WINDOW clause"),
        ("SELECT /*+ COALESCE(1) */ count(*) FROM r {by}", "a hint"),
        ("SELECT count(*) FROM r LATERAL VIEW explode(xs) e AS x {by}", "LATERAL VIEW"),
        ("SELECT count(*) FROM r PIVOT (sum(x) FOR y IN ('a')) {by}", "PIVOT"),
        ("FROM r SELECT count(*) {by}", "FROM stands before SELECT"),
        ("FROM r |> WHERE x > 1", "the pipe syntax |>"),
        ("SELECT count(*) FROM r HAVING count(*) > 1 {by}", "its SQL is beyond the parser: its clauses are not in the usual order"),
        ("SELECT 1", "no FROM"),
        ("SELECT count(*) FROM r", "no GROUP BY"),
        ("SELECT * FROM r {by}", "SELECT *"),
        ("SELECT r.*, 1 FROM r {by}", "SELECT *"),
        ("SELECT f(max(x)) AS (a, b) FROM r {by}", "an item of SELECT that is several columns"),
        # Groupings.
        ("SELECT count(*) FROM r GROUP BY ALL", "GROUP BY ALL"),
        ("SELECT count(*) FROM r {by} WITH ROLLUP", "a grouping set without the window"),
        ("SELECT count(*) FROM r {by} WITH CUBE", "a grouping set without the window"),
        ("SELECT count(*) FROM r GROUP BY GROUPING SETS ((device), ())", "no window in GROUP BY"),
        ("SELECT count(*) FROM r {by} GROUPING SETS ((device), ())", "a grouping set without the window"),
        ("SELECT count(*) FROM r GROUP BY ROLLUP(device, session_window(ts, '1 hour'))", "grouping sets of sessions"),
        ("SELECT count(*) FROM r {by}, ROLLUP(x, 'day')", "the constant 'day' among the keys of grouping sets"),
        ("SELECT count(*) FROM r {by}, ROLLUP(x * y, y * x)", "y * x and another key of the grouping sets may be the same"),
        ("SELECT count(*) FROM r {by}, ROLLUP(x, upper(x))", "upper(x) and another key of the grouping sets may be the same"),
        ("SELECT count(*) FROM r {by}, CUBE(a, b, c, d, e, f, g)", "128 grouping sets, and at most 64 are shared"),
        ("SELECT count(*) FROM r {by}, " + ", ".join(f"CUBE(a{n}, b{n})" for n in range(40)), f"{4**40} grouping sets"),
        ("SELECT count(*) FROM r {by}, CUBE(" + ", ".join(f"a{n}" for n in range(50)) + ")", f"{2**50} grouping sets"),
        ("SELECT count(*) FROM r {by}, ROLLUP()", "its ROLLUP is beyond the parser"),
        ("SELECT count(*) FROM r {by}, ROLLUP(CUBE(x))", "its SQL is beyond the parser"),
        ("SELECT grouping_id(x) FROM r {by}, ROLLUP(x)", "grouping_id(x) is not of the keys of GROUP BY"),
        ("SELECT grouping(y) FROM r {by}, ROLLUP(x)", "grouping(y) is not of the keys of GROUP BY"),
        ("SELECT grouping__id FROM r {by}, ROLLUP(x)", "grouping__id is neither a key nor inside an aggregate"),
        ("SELECT count(*) FROM r GROUP BY device", "no window in GROUP BY"),
        ("SELECT count(*) FROM r GROUP BY session_window(ts, gap)", "a session window whose gap is not a text"),
        ("SELECT count(*) FROM r GROUP BY session_window(ts, INTERVAL '1' HOUR)", "a session window whose gap is not a text"),
        ("SELECT count(*) FROM r GROUP BY x, SESSION_WINDOW(ts, '1 month')", "its session's gap is spelled '1 month', which only Spark reads"),
        ("SELECT count(*) FROM r GROUP BY session_window(ts, '-1 hour')", "its session's gap is spelled '-1 hour', which only Spark reads"),
        ("SELECT session_window(ts, '2 hours') FROM r GROUP BY session_window(ts, '1 hour')", "two windows in one query"),
        ("SELECT window, count(*) FROM r GROUP BY session_window(ts, '1 hour')", "window is neither a key nor inside an aggregate"),
        ("SELECT count(*) FROM r {by}, window(ts, '1 hour')", "two windows in GROUP BY"),
        ("SELECT window(ts, '1 hour'), count(*) FROM r {by}", "two windows in one query"),
        ("SELECT count(*) FROM r GROUP BY window(ts, '1 hour').start", "a window inside the key window(ts, '1 hour').start"),
        ("SELECT count(*) FROM r {by}, window", "a window inside the key window"),
        ("SELECT count(*) FROM r {by}, rand()", "rand() gives other values each time"),
        ("SELECT count(*) FROM r {by}, max(x)", "the aggregate max inside the key max(x)"),
        ("SELECT device, count(*) AS n FROM r {by}, 2", "the aggregate count inside the key count(*)"),
        ("SELECT device, count(*) AS n FROM r {by}, 7", "GROUP BY 7 has no item to stand for"),
        ("SELECT count(*) FROM r {by}, x AS y", "its SQL is beyond the parser"),
        # Names that are unclear without the schema.
        ("SELECT upper(name) AS n, count(*) FROM r GROUP BY n, window(ts, '1 hour')", "GROUP BY n may mean a column or an item of SELECT; write the expression itself"),
        ("SELECT window(ts, '1 hour') AS w FROM r GROUP BY w", "GROUP BY w may mean a column or an item of SELECT; write the expression itself"),
        ("SELECT s.device, count(*) FROM r {by}", "GROUP BY device may mean a column or an item of SELECT; write the expression itself"),
        ("SELECT upper(a) FROM r GROUP BY `upper(a)`, window(ts, '1 hour')", "GROUP BY upper(a) may mean"),
        # Subqueries and window functions.
        ("SELECT (SELECT 1), count(*) FROM r {by}", "a subquery in SELECT"),
        ("SELECT count(*) FROM r WHERE x IN (SELECT y FROM z) {by}", "a subquery in WHERE"),
        ("SELECT count(*) FROM r WHERE EXISTS (SELECT y FROM z) {by}", "a subquery in WHERE"),
        ("SELECT count(*) FROM r {by} HAVING count(*) > (SELECT 1)", "a subquery in HAVING"),
        ("SELECT max(max(x)) OVER (PARTITION BY device) FROM r {by}", "a window function (OVER)"),
        ("SELECT row_number() OVER (ORDER BY device) FROM r {by}", "a window function (OVER)"),
        # Aggregates.
        ("SELECT median(DISTINCT x) FROM r {by}", "median(DISTINCT x) needs every distinct value"),
        ("SELECT stddev(DISTINCT x) + 1 FROM r {by}", "stddev(DISTINCT x) needs every distinct value"),
        ("SELECT count(DISTINCT *) FROM r {by}", "count(DISTINCT *) reads every column"),
        ("SELECT percentile(x, 0.5, y) FROM r {by}", "percentile(x, 0.5, y) has 3 arguments"),
        ("SELECT percentile(x, y) FROM r {by}", "percentile(x, y): a percentage is a number from 0 to 1, or an array of them, not 'y'"),
        ("SELECT mode(x) FROM r {by}", "mode(x) picks any of the most frequent values; mode(..., true) picks the least"),
        ("SELECT mode() WITHIN GROUP (ORDER BY x, y) FROM r {by}", "mode() WITHIN GROUP is beyond the parser"),
        ("SELECT sum(x) WITHIN GROUP (ORDER BY x) FROM r {by}", "sum(x) WITHIN GROUP is not built from slices"),
        ("SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY rand()) FROM r {by}", "rand() gives other values each time"),
        ("SELECT count(a, b) FROM r {by}", "count(a, b) has 2 arguments"),
        ("SELECT count() FROM r {by}", "count() has no arguments"),
        ("SELECT try_avg(x) FROM r {by}", "try_avg(x) is not built from slices"),
        ("SELECT round(try_avg(abs(x)), 2) FROM r {by}", "try_avg(abs(x)) is not built from slices"),
        ("SELECT approx_count_distinct(x, 0.0001) FROM r {by}", "approx_count_distinct(x, 0.0001): its relative error is"),
        ("SELECT Collect_List(1) FROM r {by}", "Collect_List(1) depends on the order in which rows arrive"),
        ("SELECT any_value(device) FILTER (WHERE x > 1) FROM r {by}", "any_value(device) depends on the order"),
        ("SELECT first(device || x) FROM r {by}", "first(device || x) depends on the order in which"),
        ("SELECT first(device, x > 1) FROM r {by}", "first(device, x > 1) depends on the order in which"),
        ("SELECT first_value(x) FROM r {by}", "first_value(x) depends on the order in which rows arrive"),
        ("SELECT collect_list(x) FROM r {by}", "collect_list(x) depends on the order in which rows arrive"),
        ("SELECT max_by(x, y, 2) FROM r {by}", "max_by(x, y, 2) has 3 arguments"),
        ("SELECT first(x) IGNORE NULLS FROM r {by}", "first(x) depends on the order in which rows arrive"),
        ("SELECT try_sum(x) FROM r {by}", "try_sum(x) is not built from slices"),
        ("SELECT grouping_id() FROM r {by}", "grouping_id() is not built from slices"),
        ("SELECT max(x) IGNORE NULLS FROM r {by}", "max(x) IGNORE NULLS is not built from slices"),
        ("SELECT builtin.max(x) FROM r {by}", "max(x) is not built from slices"),
        ("SELECT my_udaf(x) FROM r {by}", "my_udaf(x) may be an aggregate of its own"),
        ("SELECT my_udaf(device) FROM r {by}", "my_udaf(device) may be an aggregate of its own"),
        ("SELECT device FROM r {by} HAVING try_avg(x) > 1", "try_avg(x) is not built from slices"),
        ("SELECT max(count(x)) FROM r {by}", "the aggregate count inside max(count(x))"),
        ("SELECT max(rand()) FROM r {by}", "rand() gives other values each time"),
        ("SELECT max(struct(*)) FROM r {by}", "max(struct(*)) reads every column"),
        ("SELECT max(window.start) FROM r {by}", "a window inside max(window.start)"),
        ("SELECT count(*) FILTER (WHERE window.end > x) FROM r {by}", "a window inside count(*)"),
        # What is left around them.
        ("SELECT temp, count(*) FROM r {by}", "temp is neither a key nor inside an aggregate"),
        ("SELECT upper(name), count(*) FROM r {by}", "upper(name) is not built from slices"),
        ("SELECT r.window, count(*) FROM r {by}", "r is neither a key nor inside an aggregate"),
        ("SELECT other.device, count(*) FROM r JOIN other {by}, a.device", "GROUP BY device may mean"),
        ("SELECT count(*) AS n, n + 1 AS m FROM r {by}", "n is neither a key nor inside an aggregate"),
        ("SELECT count(*) FROM r {by} HAVING temp > 1", "temp is neither a key nor inside an aggregate"),
        ("SELECT count(*) AS c, sum(x) AS c FROM r {by} HAVING c > 1", "two items of SELECT are called c"),
        ("SELECT struct(*) FROM r {by}", "* stands for columns that are no keys"),
        ("SELECT explode(array(max(x))) FROM r {by}", "explode makes several rows of one"),
        ("SELECT uuid(), count(*) FROM r {by}", "uuid() gives other values each time"),
        ("SELECT window_time(window), count(*) FROM r {by}", "window_time reads Spark's own window"),
        ("SELECT count(*) FROM r WHERE rand() < 0.1 {by}", "rand() gives other values each time"),
        ("SELECT count(*) FROM (SELECT *, uuid() AS u FROM r) {by}", "uuid() gives other values each time"),
        ("SELECT count(*) FROM r WHERE window.start > 1 {by}", "a window inside WHERE"),
        ("SELECT count(*) FROM r WHERE max(x) > 1 {by}", "the aggregate max inside WHERE"),
        # Beyond sqlglot.
        ("SELECT count(*) FROM r GROUP /* by? */ BY window(ts, '1 hour')", "its SQL is beyond the parser"),
        ("SELECT max(x) AS 'text' FROM r {by}", "its SQL is beyond the parser: the alias"),
    ],
)  # fmt: skip
def test_reason(sql, reason):
    sql = sql.format(by=BY)
    (query,) = parse_sql(sql)
    assert isinstance(query, PlainQuery)
    assert query.reason.startswith(reason)
    assert "\n" not in query.reason
    assert (
        str(query.statement)
        .replace(" AS `r`", "")
        .replace(" AS `z`", "")
        .replace(" AS `other`", "")
        == sql
    )
