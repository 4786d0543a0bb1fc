"""Queries that move from tree to tree of a running plan, and when it pays."""

from dataclasses import replace

import pytest

from muntin.aggregates.aggregate import max_
from muntin.model.query import Query
from muntin.model.windows import hopping, tumbling
from muntin.model.workload import workload
from muntin.optimizer.optimize import optimize
from muntin.optimizer.plan_for_stream import plan_for_stream
from muntin.optimizer.replan import (
    STRATEGIES,
    Measurement,
    Replanner,
    cheapest_plan,
    outlook,
    price_stream_plan,
)
from muntin.optimizer.transitions import move_queries, pin_queries, without


def ask(name, window, key="k"):
    return Query(name=name, window=window, aggregates={"m": max_("x")}, keys=[key], time="t")


A = ask("a", tumbling("1 minute"))
B = ask("b", hopping("1 hour", every="1 minute"))
C = ask("c", tumbling("7 minutes"))
OTHER = ask("other", tumbling("1 minute"), key="site")


def plan(*queries, strategy="shared"):
    return plan_for_stream(optimize(workload(queries), strategy))


def trees(found):
    return sorted(sorted(tree.queries) for tree in found.plan.trees)


def test_a_query_that_moves_stays_in_its_old_tree_under_another_name():
    apart = plan(A, B, OTHER, strategy="unshared")
    found = move_queries(plan(A, B, C, OTHER), apart, mark="leaving 1")
    assert trees(found) == [["a", "b", "c"], ["b (leaving 1)"], ["other"]]
    assert found.moved == {"b (leaving 1)": "b"}
    # The next change keeps it there, until it is done.
    after = pin_queries(plan(A, B, OTHER), found.plan, {"b (leaving 1)"})
    assert trees(after) == [["a", "b"], ["b (leaving 1)"], ["other"]]
    assert trees(pin_queries(plan(A, B, OTHER), found.plan)) == [["a", "b"], ["other"]]
    back = move_queries(
        plan(A, B, OTHER, strategy="unshared"), found.plan, {"b (leaving 1)"}, mark="two"
    )
    # The tree that is left has no query to go on with, so this one moves to a new tree.
    assert trees(back) == [["a", "b (two)"], ["b"], ["b (leaving 1)"], ["other"]]
    assert [query.name for query in without(found.plan, found.moved).queries] == [
        "a",
        "b",
        "c",
        "other",
    ]


def test_nothing_moves_where_the_trees_are_the_same():
    found = move_queries(plan(A, B, C), plan(A, B))
    assert found.moved == {}
    assert trees(found) == [["a", "b", "c"]]


def test_the_outlook_compares_both_plans_for_what_was_measured():
    apart = plan(A, B, C, OTHER, strategy="unshared")
    assert outlook(apart, None).saves == 0
    measured = Measurement(
        rate=2000.0, keys={A.grouping: 50.0, OTHER.grouping: 4.0}, shares={A.grouping: 1.0}
    )
    found = outlook(apart, measured)
    assert (found.now.rate, found.best.rate) == (2000.0, 2000.0)
    assert found.best.workload.live_keys == {frozenset("k"): 50.0, frozenset(["site"]): 4.0}
    assert found.saves == pytest.approx(1 - found.best.cost / found.now.cost)
    assert found.saves > 0
    work = measured.of(workload([A, B, C, OTHER]))
    costs = [plan_for_stream(optimize(work, strategy)).cost for strategy in STRATEGIES]
    assert found.best.cost == min(costs) == cheapest_plan(work).cost
    # A plan costs the same whether it is made for the figures or looked at with them.
    alone = plan_for_stream(optimize(work, "unshared"))
    assert found.now.cost == pytest.approx(alone.cost)
    assert found.now.unshared_cost == pytest.approx(alone.unshared_cost)
    assert found.now.plain_cost == pytest.approx(alone.plain_cost)
    assert price_stream_plan(found.best, work).cost == pytest.approx(found.best.cost)
    assert outlook(found.best, measured).saves == 0
    assert "replan() saves" in str(found)


def test_weave_share_moves_queries_when_their_plan_costs_too_much():
    apart = replace(plan(A, B, strategy="unshared"), strategy="weave")
    replanner = Replanner(apart)
    # A tree for each query costs more than a new plan allows, and the queries share one now.
    found = replanner.plan(workload([A, B, C, OTHER]))
    assert found.moves
    assert trees(found) == [["a", "b", "c"], ["other"]]
    assert not replanner.plan(workload([A, B, C])).moves
    assert not Replanner(plan(A, B, strategy="weave")).plan(workload([A, B, C])).moves
