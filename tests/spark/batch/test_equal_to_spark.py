"""The first law: shared answers equal plain Spark's, on generated workloads and data."""

import os
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from pyspark.errors import ArithmeticException
from pyspark.sql import DataFrame, SparkSession

from muntin.api.batch import run
from muntin.model.prices import Prices
from muntin.model.query import Query
from muntin.model.workload import workload
from muntin.optimizer.optimize import optimize
from muntin.optimizer.strategies import STRATEGIES
from muntin.spark.batch.results import Results
from muntin.spark.engine.settings import temporary_settings as configured
from tests.support.answers import TOLERANCE, assert_same, plain
from tests.support.comparing import Pair, compare
from tests.support.examples import SEED
from tests.support.workloads import SCHEMA, may_overflow, tables, workloads

EXAMPLES = int(os.environ.get("MUNTIN_FUZZ", "16"))
# Workloads whose answers are compared in one job.
TOGETHER = 8
# What a plan is told: nothing; few events of one key, so that time is split, or of many keys; or
# prices at which one GROUP BY, or the slicer, makes the slices of all that may share a pass.
FACTS = [
    {},
    {"rate": 0.01, "keys": 1},
    {"rate": 0.01, "keys": 1e6},
    {"prices": Prices(event=1e6, handed=1e12)},
    {"prices": Prices(event=1e9, handed=1e6), "keys": 1},
    {"prices": Prices(event=1e9, handed=1e6)},
]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A workload, its data, and how it is planned."""

    queries: list[Query]
    rows: list[tuple[Any, ...]]
    strategy: str
    facts: dict[str, Any]

    def run(self, frame: DataFrame) -> Results:
        """The answers of a plan that is told the facts, if there are any."""
        if not self.facts:
            return run(self.queries, frame, strategy=self.strategy)
        return run(optimize(workload(self.queries, **self.facts), self.strategy), frame)


@cache
def cases() -> list[Case]:
    """All generated cases; the seed decides which."""
    drawn = []

    @seed(SEED)
    @settings(
        max_examples=EXAMPLES,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(
        queries=workloads(),
        rows=tables,
        strategy=st.sampled_from(sorted(STRATEGIES)),
        facts=st.sampled_from(FACTS),
    )
    def draw(**parts: Any) -> None:
        drawn.append(Case(**parts))

    draw()
    return drawn


@pytest.mark.parametrize("number", range(-(-EXAMPLES // TOGETHER)))
@pytest.mark.long
def test_any_workload_on_any_data(spark, number):
    some = cases()[number * TOGETHER : (number + 1) * TOGETHER]
    ansi = {"spark.sql.ansi.enabled": str(number % 2 == 1).lower()}
    with configured(spark, ansi):
        wrong = differences(spark, some, may_raise=number % 2 == 1)
    said = "\n\n".join(f"{text}\n{case}" for case, text in wrong)
    if wrong:
        pytest.fail(f"{said}\n\nMUNTIN_SEED={SEED} repeats this", pytrace=False)


def differences(spark: SparkSession, some: list[Case], *, may_raise: bool) -> list[Any]:
    """Each case with an answer that is not Spark's, and what is wrong with it."""
    pairs, owners = [], {}
    with ExitStack() as released:
        for number, case in enumerate(some):
            frame = spark.createDataFrame(case.rows, SCHEMA).coalesce(1)
            results = released.enter_context(case.run(frame))
            for query in case.queries:
                expected, actual = plain(query, frame), results[query.name]
                if may_raise and may_overflow(query):
                    assert_same_or_both_overflow(actual, expected, f"{query.name} of {case}")
                    continue
                pairs.append(
                    Pair(
                        name=f"{query.name} of case {number}",
                        expected=expected,
                        actual=actual,
                        tolerance=TOLERANCE,
                    )
                )
                owners[pairs[-1].name] = case
        outcomes = compare(pairs)
    return [(owners[name], it.wrong) for name, it in outcomes.items() if it.wrong is not None]


def assert_same_or_both_overflow(actual: DataFrame, expected: DataFrame, name: str) -> None:
    try:
        rows = expected.collect()
    except ArithmeticException:
        with pytest.raises(ArithmeticException, match="ARITHMETIC_OVERFLOW"):
            actual.collect()
    else:
        assert_same(actual, expected, name, rows)
