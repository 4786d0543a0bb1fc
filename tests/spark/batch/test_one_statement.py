"""`plan.to_sql(together=True)`: one statement, one reading of a relation, the answers of Spark."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame

import muntin as mt
from muntin.api.batch import run
from muntin.errors import ModelError
from muntin.model.workload import workload
from muntin.optimizer.optimize import optimize
from tests.support.answers import TOLERANCE, plain
from tests.support.comparing import Pair, assert_pairs_equal
from tests.support.examples import examples
from tests.support.executed_plans import scans
from tests.support.workloads import SCHEMA, may_overflow, tables, workloads

MANY = """
  -- name: minute
  SELECT device, window, max(temp) AS hottest, count(*) AS n FROM read
  GROUP BY device, window(ts, '1 minute');
  -- name: five
  SELECT device AS d, window.start AS since, avg(temp) + 1 AS mean, sum(load) AS n
  FROM read GROUP BY device, window(ts, '5 minutes') HAVING count(*) > 1;
  -- name: same
  SELECT window, device, count(*) AS n FROM read GROUP BY window(ts, '1 minute'), device;
  -- name: hour
  SELECT window, sum(load) AS total, 6 / (max(load) - 3) AS ratio FROM read
  WHERE load > 3 GROUP BY window(ts, '1 hour', '10 minutes');
  -- name: sites
  SELECT 60 / load AS share, window, stddev(temp) AS spread FROM read
  WHERE load <> 0 GROUP BY 60 / load, window(ts, '10 minutes', '5 minutes', '2 minutes');
  -- name: sets
  SELECT device, load, grouping(load) AS g, window, count(temp) AS n FROM read
  GROUP BY window(ts, '10 minutes'), ROLLUP(device, load);
  -- name: growing
  SELECT device, window_end, min(temp) AS low
  FROM CUMULATE(TABLE read, DESCRIPTOR(ts), INTERVAL '5' MINUTES, INTERVAL '1' HOUR)
  GROUP BY device, window_start, window_end
"""


@pytest.fixture(scope="module")
def stored(spark, readings: DataFrame, tmp_path_factory) -> DataFrame:
    folder = str(tmp_path_factory.mktemp("read") / "read")
    readings.select("device", "ts", "temp", "load").coalesce(1).write.parquet(folder)
    frame = spark.read.parquet(folder)
    frame.createOrReplaceTempView("read")
    yield frame
    spark.catalog.dropTempView("read")


def pairs_of(
    statement: str, queries: list[mt.Query], data: DataFrame, note: str = ""
) -> list[Pair]:
    """The rows of each query in a statement, beside plain Spark's."""
    # Computed once, whatever the number of queries: Spark plans such a statement for seconds.
    together = data.sparkSession.sql(statement).localCheckpoint()
    pairs = []
    for query in queries:
        expected = plain(query, data)
        rows = together.where(together["query"] == query.name).select(
            *(together[f"`{name}`"].cast(kind).alias(name) for name, kind in types(expected))
        )
        pairs.append(
            Pair(
                name=f"{query.name}{note}",
                expected=expected,
                actual=rows,
                tolerance=TOLERANCE,
                strict=False,
            )
        )
    return pairs


def types(frame: DataFrame):
    # Columns of one name have one type in the statement, the widest.
    return [(field.name, field.dataType) for field in frame.schema]


@pytest.mark.parametrize("strategy", ["factor", pytest.param("unshared", marks=pytest.mark.slow)])
def test_one_reading_and_the_answers_of_plain_spark(stored, strategy):
    queries = mt.parse_sql(MANY)
    plan = mt.plan(queries, strategy=strategy, rate=1e5, keys=100)
    statement = plan.to_sql(together=True)
    assert scans(stored.sparkSession.sql(statement)) == 1
    if strategy == "factor":
        assert "windows_2 AS (" in statement
    assert_pairs_equal(pairs_of(statement, queries, stored))


def test_what_cannot_be_in_it_is_named(stored):
    queries = mt.parse_sql(
        "SELECT count(*) AS n FROM read GROUP BY window(ts, '1 minute');"
        "SELECT DISTINCT device FROM read;"
        "SELECT count(*) AS n FROM read GROUP BY session_window(ts, '1 minute')"
    )
    plan = mt.plan(queries)
    statement = plan.to_sql(together=True)
    assert [line for line in statement.splitlines() if line.startswith("-- ")] == [
        f"-- 'q2' is not in it: {queries[1].reason}",
        "-- 'q3' is not in it: its windows are found in the data",
    ]
    assert_pairs_equal(pairs_of(statement, queries[:1], stored))
    with pytest.raises(ModelError, match="not 'q1' alone"):
        plan.to_sql("q1", together=True)
    with pytest.raises(ModelError, match="no query of the plan is answered from slices"):
        mt.plan(queries[1:2]).to_sql(together=True)
    named = mt.parse_sql("SELECT count(*) AS Query FROM read GROUP BY window(ts, '1 minute')")
    with pytest.raises(ModelError, match="name yours otherwise"):
        mt.plan(named).to_sql(together=True)


def named_apart(query: mt.Query) -> mt.Query:
    columns = [
        mt.Column(name=f"{query.name}_{index}", expression=column.expression)
        for index, column in enumerate(query.columns)
    ]
    return replace(query, columns=columns)


@pytest.mark.slow
def test_any_workload(spark):
    """Generated workloads, each in one statement; all compared in one job."""
    drawn = []

    @settings(
        max_examples=examples(20),
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(
        queries=workloads(),
        rows=tables,
        strategy=st.sampled_from(["factor", "unshared", "weave", "auto"]),
    )
    def draw(queries, rows, strategy):
        drawn.append((queries, rows, strategy))

    draw()
    pairs = []
    for number, (asked, rows, strategy) in enumerate(drawn):
        frame = spark.createDataFrame(rows, SCHEMA).coalesce(1)
        # A sum that overflows fails the whole job. Columns of one name must have types that agree.
        queries = [named_apart(query) for query in asked if not may_overflow(query)]
        if not queries:
            continue
        with run(optimize(workload(queries), strategy), frame) as results:
            periodic = [
                q for q in results.plan.queries if isinstance(q, mt.Query) and q.is_periodic
            ]
            # The statement leaves out the others.
            shared = [q for q in periodic if q.is_native and q.ending is None]
            if shared:
                frame.createOrReplaceTempView("data")
                statement = results.to_sql(together=True)
                pairs += pairs_of(statement, shared, frame, f" of case {number}")
    assert len(pairs) > 10
    assert_pairs_equal(pairs)
    spark.catalog.dropTempView("data")
