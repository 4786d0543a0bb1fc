"""Every type of Spark's, as a key and as an argument, beside a query of plain numbers.

Whatever Spark answers alone, it answers here, too, shared or left to it, and the query of plain
numbers shares.
"""

import pytest
from pyspark.errors import PySparkException

import muntin as mt
from muntin.errors import PlanError
from muntin.spark.binding import bind
from muntin.spark.binding.bound_tree import value_type_of
from muntin.spark.binding.leave_to_spark import reason_of_records
from muntin.spark.binding.relations import Relations
from tests.support.answers import assert_same, plain
from tests.support.comparing import Pair, assert_pairs_equal

# A few values of each type, with `i` from 0 to 4.
TYPES = {
    "boolean": "i % 2 = 0",
    "tinyint": "CAST(i AS TINYINT)",
    "smallint": "CAST(i AS SMALLINT)",
    "int": "CAST(i AS INT)",
    "bigint": "i",
    "float": "CAST(i / 3 AS FLOAT)",
    "double": "if(i = 3, double('NaN'), CAST(i / 3 AS DOUBLE))",
    "decimal": "CAST(i / 4 AS DECIMAL(10, 2))",
    "long decimal": "CAST(i AS DECIMAL(38, 2))",
    "string": "CAST(i AS STRING)",
    "collated": "collate(if(i % 2 = 0, '1e1', '1E1'), 'UTF8_LCASE')",
    "binary": "CAST(concat('b', i) AS BINARY)",
    "date": "date_add(DATE '2024-01-01', CAST(i AS INT))",
    "timestamp": "timestamp_seconds(i)",
    "local timestamp": "CAST(timestamp_seconds(i) AS TIMESTAMP_NTZ)",
    "time": "make_time(CAST(i AS INT), 1, 2)",
    "months": "make_ym_interval(0, CAST(i AS INT))",
    "days": "make_dt_interval(CAST(i AS INT))",
    "interval": "make_interval(0, CAST(i AS INT))",
    "array": "array(i, NULL)",
    "array of months": "array(make_ym_interval(0, CAST(i AS INT)))",
    "struct": "named_struct('a', i, 'b', concat('s', i))",
    "struct of months": "named_struct('a', make_ym_interval(0, CAST(i AS INT)))",
    "map": "map('m', i)",
    "variant": "parse_json(CAST(i AS STRING))",
    "void": "NULL",
}
CALLS = [
    *("min(v)", "max(v)", "max_by(v, n)", "min_by(e, v)", "max_by(v, v)", "count(v)"),
    *("count(DISTINCT v)", "sum(v)", "avg(v)", "median(v)", "approx_count_distinct(v)"),
    *("stddev(v)", "size(collect_set(v))", "max(struct(v, n))"),
]
# What Spark accepts, and then fails to compute.
FAILING = {
    "interval": {"sessions", "others"},
    "variant": {"count(DISTINCT v)", "approx_count_distinct(v)"},
}
BY = "GROUP BY d, window(ts, '2 minutes', '1 minute')"


def rows(session, values):
    return session.sql(f"""
        SELECT timestamp_seconds(id * 13) AS ts, id % 2 AS d, id % 7 AS n, i % 2 AS e,
               if(id % 11 = 0, NULL, {values}) AS v
        FROM (SELECT id, id % 5 AS i FROM range(0, 40, 1, 1))""")


def statements():
    yield "healthy", f"SELECT d, window, sum(n) AS s FROM t {BY}"
    yield "key", "SELECT v, window, count(*) AS c FROM t GROUP BY v, window(ts, '2 minutes')"
    yield (
        "key and distinct",
        "SELECT v, window, count(DISTINCT n) AS c FROM t GROUP BY v, window(ts, '3 minutes')",
    )
    yield "sessions", "SELECT v, count(*) AS c FROM t GROUP BY v, session_window(ts, '20 seconds')"
    yield "others", "SELECT v, max(n) AS c FROM t GROUP BY v, session_window(ts, '30 seconds')"
    for call in CALLS:
        yield call, f"SELECT d, window, {call} AS a FROM t {BY}"


# The others take long, and are of types that most tests have.
RARE = {"float", "collated", "months", "interval", "struct of months", "map", "void"}


@pytest.mark.parametrize(
    "kind", [kind if kind in RARE else pytest.param(kind, marks=pytest.mark.slow) for kind in TYPES]
)
def test_a_type_beside_plain_numbers(spark, kind):
    try:
        data = rows(spark, TYPES[kind])
    except PySparkException:
        pytest.skip("this Spark does not have the type")
    expected, queries = {}, []
    for name, statement in statements():
        (query,) = mt.parse_sql(f"-- name: {name}\n{statement}")
        try:
            answer = Relations({"t": data}, [query]).check(query)
        except (PySparkException, mt.RunError):
            continue
        if name not in FAILING.get(kind, ()):
            queries.append(query)
            expected[name] = answer
    with mt.run(queries, {"t": data}, strategy="shared") as results:
        assert "healthy" not in {query.name for query in results.plan.plain_queries}
        assert_pairs_equal(
            Pair(name=name, expected=expected[name], actual=results[name], tolerance=1e-9)
            for name in results
        )


def test_a_query_that_cannot_be_bound_is_left_to_spark(spark, monkeypatch):
    def refuse(component, *given):
        if component.argument == "n + 1":
            raise PlanError("no slices keep it")
        return value_type_of(component, *given)

    monkeypatch.setattr(bind, "value_type_of", refuse)
    data = rows(spark, "i")
    queries = mt.parse_sql(f"SELECT sum(n + 1) AS s FROM t {BY}; SELECT sum(n) AS s FROM t {BY}")
    results = mt.run(queries, {"t": data})
    assert {query.name: query.reason for query in results.plan.plain_queries} == {
        "q1": "no slices keep it"
    }
    assert "no slices keep it" in results.plan.explain()
    for query in queries:
        assert_same(results[query.name], plain(query, {"t": data}))


def test_a_session_that_cannot_be_bound_is_left_to_spark(spark, monkeypatch):
    def refuse(query, *given, **options):
        if "n + 1" in query.to_sql().fill():
            raise PlanError("no records keep it")
        return reason_of_records(query, *given, **options)

    monkeypatch.setattr(bind, "reason_of_records", refuse)
    data = rows(spark, "i")
    by = "GROUP BY session_window(ts, '{} seconds')"
    queries = mt.parse_sql(
        f"SELECT sum(n + 1) AS s FROM t {by.format(5)}; SELECT sum(n) AS s FROM t {by.format(7)};"
        f"SELECT max(n) AS s FROM t {by.format(9)}"
    )
    results = mt.run(queries, {"t": data}, strategy="shared")
    reasons = {query.name: query.reason for query in results.plan.plain_queries}
    assert reasons == {"q1": "no records keep it"}
    for query in queries:
        assert_same(results[query.name], plain(query, {"t": data}))


def test_a_table_whose_name_is_not_ascii(spark):
    data = rows(spark, "i")
    data.createOrReplaceTempView("`größen`")
    queries = mt.parse_sql(
        f"SELECT sum(n) AS s FROM `größen` {BY}; SELECT max(n) AS m FROM `größen` {BY}"
    )
    for given in (None, {"größen": data}, {"`größen`": data}):
        results = mt.run(queries, given)
        assert not results.plan.plain_queries
        for query in queries:
            assert_same(results[query.name], plain(query, given))
