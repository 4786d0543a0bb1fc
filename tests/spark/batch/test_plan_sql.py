"""`plan.to_sql()` pasted into Spark gives the answers of the plain queries."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.errors import ArithmeticException
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from muntin.model.passes import Engine
from muntin.model.plan import Plan
from muntin.model.prices import SHIPPED, Prices
from muntin.model.workload import PlanOptions, workload
from muntin.optimizer.optimize import optimize
from muntin.sql_text import SqlText
from tests.support.answers import assert_same, plain
from tests.support.examples import examples
from tests.support.workloads import SCHEMA, tables, workloads

MANY = """
  -- name: hot
  SELECT device, window, max(temp) AS hottest, min(state) AS first FROM readings
  GROUP BY device, window(ts, '1 minute');
  -- name: quarter
  SELECT r.device AS d, window.start, avg(r.temp), stddev(load) + 1, count(*) FROM readings AS r
  GROUP BY r.device, window(r.ts, '15 seconds', '5 seconds', '2 seconds') HAVING count(*) > 1;
  -- name: three
  SELECT window, device, sum(load) AS total, bool_or(alarm) AS rang,
    count(temp) FILTER (WHERE load > 3) AS busy, var_pop(temp) AS spread
  FROM readings GROUP BY window(ts, '3 minutes', '1 minute'), device;
  -- name: odd
  SELECT device, window, max(load) AS top, max(temp) AS hottest FROM readings
  GROUP BY device, window(ts, '70 seconds', '30 seconds');
  -- name: alone
  SELECT device, window, stddev(DISTINCT load) AS states FROM readings
  GROUP BY device, window(ts, '1 minute')
"""


@pytest.fixture(scope="module", autouse=True)
def view(readings: DataFrame):
    readings.createOrReplaceTempView("readings")
    yield
    readings.sparkSession.catalog.dropTempView("readings")


def assert_equal(plan: Plan, data: DataFrame) -> None:
    for query in plan.queries:
        found = data.sparkSession.sql(plan.to_sql(query.name))
        assert_same(found, plain(query, data), query.name)


@pytest.mark.parametrize("strategy", ["unshared", "factor"])
def test_statements_give_the_answers_of_plain_spark(readings, strategy):
    assert_equal(mt.plan(mt.parse_sql(MANY), strategy=strategy), readings)


def test_windows_that_read_overlapping_windows(readings):
    def top(name: str, size: int, every: int) -> mt.Query:
        return mt.Query(
            name=name,
            window=mt.hopping(f"{size} seconds", every=f"{every} seconds"),
            aggregates={"top": mt.max("temp"), "any": mt.any("alarm")},
            keys=["device"],
            time="ts",
            relation="readings",
        )

    queries = [top("a", 20, 10), top("b", 60, 10), top("c", 120, 120)]
    plan = mt.plan(queries, strategy="coverage", rate=1e6)
    (tree,) = plan.trees
    assert [node.parent for node in tree.nodes] == [None, queries[0].window, queries[1].window]
    assert "FROM w2" in plan.to_sql("c")
    assert "w.end <= around.end" in plan.to_sql("c")
    assert_equal(plan, readings)


def test_all_statements_stand_under_their_names(readings):
    plan = mt.plan(mt.parse_sql(MANY))
    text = plan.to_sql()
    assert [one.name for one in mt.parse_sql(text)] == [one.name for one in plan.queries]
    for part, query in zip(text.split(";\n"), plan.queries, strict=False):
        assert f"-- name: {query.name}\n{plan.to_sql(query.name)}" in part


def test_results_know_the_types(readings):
    queries = mt.parse_sql("""
      SELECT window, sum(price) AS total FROM readings GROUP BY window(ts, '2 minutes', '1 minute');
      SELECT window, avg(price) AS mean FROM readings GROUP BY window(ts, '2 minutes', '1 minute')
    """)
    with mt.run(queries, readings) as results:
        for query in queries:
            found = readings.sparkSession.sql(results.to_sql(query.name))
            assert_same(found, plain(query, readings), query.name)


TEAMS = """
  -- name: devices
  SELECT device, window, avg(temp) AS mean, count(*) AS n, stddev(load) AS spread FROM readings
  GROUP BY device, window(ts, '1 minute');
  -- name: seconds
  SELECT device, window, min(temp) AS low, max(price) AS most FROM readings
  GROUP BY device, window(ts, '3 seconds', '1 second');
  -- name: hot
  SELECT device AS d, window.end, count(*), max(temp) + 1 FROM readings
  WHERE temp > 5 AND load > 1
  GROUP BY device, window(ts, '5 minutes', '1 minute') HAVING count(*) > 1;
  -- name: guarded
  SELECT state, device, window, sum(10 / load) AS total, count(temp) FILTER (WHERE load > 3) AS busy
  FROM readings WHERE load <> 0 GROUP BY device, state, window(ts, '2 minutes');
  -- name: all
  SELECT window, sum(load) AS total, corr(temp, load) AS together FROM readings
  GROUP BY window(ts, '90 seconds', '30 seconds');
  -- name: alarms
  SELECT alarm, window, max(state) AS last FROM readings WHERE NOT (temp > 3)
  GROUP BY alarm, window(ts, '10 minutes', '3 minutes', '1 minute');
  -- name: nobody
  SELECT device, window, count(*) AS n FROM readings WHERE temp > 1e9
  GROUP BY device, window(ts, '1 minute')
"""


def test_trees_of_a_pass_are_grouped_from_its_slices(readings):
    prices = Prices(event=1e6, handed=1e12)
    # By the combines of two stacks, windows of one grouping are two groups.
    options = PlanOptions(technique="two_stacks")
    plan = optimize(workload(mt.parse_sql(TEAMS), prices=prices, options=options), "triweave")
    # Trees of one grouping, and of others.
    assert (len(plan.trees), len({tree.grouping for tree in plan.trees})) == (7, 6)
    (shared,) = plan.passes
    assert (shared.engine, shared.keys) == (Engine.SPARK, ("alarm", "device", "state"))
    texts = [plan.to_sql(query.name) for query in plan.queries]
    # The pass is the same expression in every statement, and all that reads events.
    (made,) = {text[: text.index("slices AS (")] for text in texts}
    assert made.startswith("WITH pass_1 AS (")
    for where in ("temp > 5 AND load > 1", "load <> 0", "NOT (temp > 3)", "temp > 1e9"):
        assert made.count(f"count(CASE WHEN {where} THEN 1 END)") == 1
    for text in texts:
        assert text.count("GROUP BY alarm, device, state, window(ts, ") == 1
        assert "FROM pass_1" in text
    assert_equal(plan, readings)


def test_what_the_slicer_makes_is_grouped_from_events():
    prices = Prices(event=1e9, handed=1e6)
    plan = optimize(workload(mt.parse_sql(TEAMS), prices=prices), "shared")
    assert [each.engine for each in plan.passes] == [Engine.COMPILED]
    assert "pass_1" not in plan.to_sql()


@settings(
    max_examples=examples(5),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(data=st.data(), queries=workloads(most=3), rows=tables)
def test_any_workload(spark: SparkSession, data, queries, rows):
    strategy = data.draw(st.sampled_from(["shared", "coverage", "factor", "triweave", "auto"]))
    spark.createDataFrame(rows, SCHEMA).coalesce(1).createOrReplaceTempView("data")
    frame = spark.table("data")
    prices = data.draw(st.sampled_from([SHIPPED, Prices(event=1e6, handed=1e12)]))
    results = mt.run(optimize(workload(queries, prices=prices), strategy), frame)
    for query in queries:
        try:
            rows_of_plain = (expected := plain(query, frame)).collect()
        except ArithmeticException:
            continue
        found = spark.sql(results.to_sql(query.name))
        try:
            assert_same(found, expected, query.name, rows_of_plain)
        except ArithmeticException:
            # Partial sums may overflow where Spark's own order of addition did not.
            assert any(one.function == "sum" for one in query.aggregates.values())


def test_windows_that_sql_lacks_are_said_to_be_so():
    query = mt.Query(name="n", window=mt.count_window(5), aggregates={"n": mt.count()}, time="ts")
    text = mt.plan([query]).to_sql()
    assert text.startswith("-- query 'n': Spark SQL has no window such as")


def test_a_query_without_a_relation_reads_data():
    query = mt.Query(
        name="n", window=mt.tumbling("1 minute"), aggregates={"n": mt.count()}, time="ts"
    )
    assert SqlText(("", ""), ("",)) == query.relation
    assert "\n  FROM data\n" in mt.plan([query]).to_sql("n")
