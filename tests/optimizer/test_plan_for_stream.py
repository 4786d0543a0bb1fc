"""Plans as streams run them: every periodic window reads the slices of its tree."""

import pytest

import muntin as mt
from muntin.model.passes import Engine
from muntin.model.plan import trees_by_pass
from muntin.model.time import MINUTE
from muntin.model.workload import workload
from muntin.optimizer.optimize import optimize
from muntin.optimizer.plan_for_stream import plan_for_stream
from muntin.optimizer.strategies import STRATEGIES


def ask(name, window, **aggregates):
    return mt.Query(name=name, window=window, aggregates=aggregates, time="t", keys=["k"])


QUERIES = [
    ask("two", mt.hopping("1 hour", every="20 minutes"), low=mt.min("x")),
    ask("three", mt.hopping("1 hour", every="30 minutes"), low=mt.min("x")),
    ask("long", mt.hopping("2 hours", every="30 minutes"), low=mt.min("x"), mean=mt.avg("x")),
]

NAMES = [query.name for query in QUERIES]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_node_was_asked_for_and_reads_slices_cut_for_it(strategy):
    planned = optimize(workload(QUERIES, rate=3.0, keys=2.0), strategy)
    plan = plan_for_stream(planned)
    # The groups of TriWeave, which are cut once, are one tree.
    kept = trees_by_pass(planned.trees) if strategy == "triweave" else [[t] for t in planned.trees]
    assert [tree.queries for tree in plan.trees] == [
        tuple(sorted((n for tree in trees for n in tree.queries), key=NAMES.index))
        for trees in kept
    ]
    for tree in plan.trees:
        assert tree.is_flat
        assert tree.slicing_pass.engine is Engine.COMPILED
        queries = list(plan.queries_of(tree).values())
        (asked,) = optimize(workload(queries), "shared").trees
        assert tree.slicing == asked.slicing
        assert [node.aggregates for node in tree.nodes] == [node.aggregates for node in asked.nodes]
    assert plan_for_stream(plan) is plan


def test_a_factor_window_and_its_slices_are_left_out():
    plan = mt.plan(QUERIES[:2], strategy="factor")
    streamed = plan_for_stream(plan)
    assert any(node.is_factor for tree in plan.trees for node in tree.nodes)
    # Asked are edges at 0, 20, 30 and 40 minutes of every hour.
    assert [tree.slicing.width for tree in streamed.trees] == [10 * MINUTE]
    assert 8 * streamed.trees[0].slicing.rate <= plan.trees[0].slicing.rate
    assert "factor window" in plan.explain()
    assert "factor window" not in streamed.explain()
    assert streamed.strategy == "factor"


def test_what_other_strategies_cost_is_not_said_of_a_plan_that_none_of_them_made():
    plan = mt.plan(QUERIES, keys=1, rate=1e6)
    assert plan.strategy_costs
    streamed = plan_for_stream(plan)
    assert streamed.trees == plan.trees or not streamed.strategy_costs
