"""Events brought to their keys' places before they are cut: one move, the same answers."""

from dataclasses import replace

import pytest

from muntin.model.aggregates.aggregate import avg, count, max_, sum_
from muntin.model.query import Query, workload
from muntin.model.sql_text import SqlText
from muntin.model.windows.window import hopping, tumbling
from muntin.share.optimizer import optimize
from muntin.spark.batch.pre_shuffle import can_move
from muntin.spark.batch.results import run
from tests.support.answers import assert_equal_answers


def plan_of(*, keys=("device",), relation=None, where=None, known=2, moves=True):
    """Two windows in a tree that moves its events, or not."""
    queries = [
        Query(
            name=name,
            window=window,
            aggregates={"n": count(), "top": max_("temp"), "mean": avg("temp"), "all": sum_("id")},
            keys=list(keys),
            time="ts",
            relation=relation,
            where=where,
        )
        for name, window in {
            "short": tumbling("2 seconds"),
            "hops": hopping("7 seconds", every="3 seconds", offset="1 second"),
        }.items()
    ]
    plan = optimize(workload(queries, keys=known), "shared")
    trees = tuple(replace(tree, moves_events=moves) for tree in plan.trees)
    return replace(plan, trees=trees)


def moves_in(results):
    """How often Spark moves rows for the answers."""
    (tree,) = results._trees
    plan = tree._ordered.frame._jdf.queryExecution().executedPlan().toString()
    return plan.count("Exchange hashpartitioning")


@pytest.fixture(scope="module")
def events(spark):
    """A few keys, null among them, some at once, over gaps and from before 1970 on."""
    return spark.range(600).selectExpr(
        "id",
        "CASE id % 3 WHEN 0 THEN 'a' WHEN 1 THEN 'b' END AS device",
        "timestamp_seconds(CASE WHEN id % 50 = 7 THEN NULL ELSE id - 300 + id div 200 * 90 END)"
        " AS ts",
        "CASE id % 7 WHEN 0 THEN NULL WHEN 1 THEN double('NaN') ELSE id * 7919 % 1000 END AS temp",
    )


@pytest.mark.parametrize("keys", [["device"], ["device", "id % 2"], []])
@pytest.mark.parametrize("known", [2, 1000])
def test_moved_events_give_the_same_answers(events, monkeypatch, keys, known):
    monkeypatch.setattr("muntin.spark.batch.time_split._SLICES", 1)
    with run(plan_of(keys=keys, known=known), events) as results:
        assert moves_in(results) == 1
        assert_equal_answers(results, events)


def test_a_table_may_have_a_name_and_a_filter(spark, events):
    plan = plan_of(relation="readings", where="readings.id > 20 AND temp < 900")
    with run(plan, {"readings": events}) as results:
        assert moves_in(results) == 1
        assert_equal_answers(results, {"readings": events})


def test_slices_are_moved_where_events_are_not(events):
    with run(plan_of(moves=False), events) as results:
        assert moves_in(results) == 2


def test_few_events_in_a_slice_are_moved_and_many_are_not():
    queries = plan_of().queries
    assert optimize(workload(queries, rate=1.0, keys=100), "shared").trees[0].moves_events
    assert not optimize(workload(queries, rate=1e6, keys=100), "shared").trees[0].moves_events


def test_joins_are_left_as_they_are():
    grouping = plan_of().trees[0].grouping
    joined = SqlText(("", " AS a JOIN ", " AS b ON a.id = b.id"), ("one", "two"))
    assert can_move(grouping)
    assert can_move(replace(grouping, relation=SqlText.table("readings")))
    assert not can_move(replace(grouping, relation=joined))
