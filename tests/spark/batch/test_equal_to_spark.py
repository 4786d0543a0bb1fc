"""The first law: shared answers equal plain Spark's, on generated workloads and data."""

import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.errors import ArithmeticException
from pyspark.sql import SparkSession

from muntin.model.query import workload
from muntin.share.optimizer import STRATEGIES, optimize
from muntin.spark.batch.results import run
from tests.support.answers import assert_same, plain
from tests.support.workloads import SCHEMA, tables, workloads

EXAMPLES = int(os.environ.get("MUNTIN_FUZZ", "80"))
# What a plan is told of the data: nothing; or so few events that they are moved before they are
# cut, of one key, so that time is split, or of many.
FACTS = [{}, {"rate": 0.01, "keys": 1}, {"rate": 0.01, "keys": 1e6}]


@pytest.fixture
def ansi(spark: SparkSession):
    before = spark.conf.get("spark.sql.ansi.enabled")
    yield lambda on: spark.conf.set("spark.sql.ansi.enabled", str(on).lower())
    spark.conf.set("spark.sql.ansi.enabled", before)


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    # Shrinking runs Spark hundreds of times; the failing example is printed as it is.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(data=st.data(), queries=workloads(), rows=tables)
def test_any_workload_on_any_data(spark, ansi, data, queries, rows):
    ansi(data.draw(st.booleans(), label="ansi"))
    strategy = data.draw(st.sampled_from(sorted(STRATEGIES)), label="strategy")
    facts = data.draw(st.sampled_from(FACTS), label="facts")
    frame = spark.createDataFrame(rows, SCHEMA).coalesce(1)
    asked = optimize(workload(queries, **facts), strategy) if facts else queries
    with run(asked, frame, strategy=strategy) as results:
        for query in queries:
            expected = plain(query, frame)
            try:
                answered = expected.collect()
            except ArithmeticException:
                with pytest.raises(ArithmeticException, match="ARITHMETIC_OVERFLOW"):
                    results[query.name].collect()
            else:
                assert_same(results[query.name], expected, query.name, answered)
