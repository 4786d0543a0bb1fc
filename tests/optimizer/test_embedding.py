"""Queries that come and go under subsumption: only the windows beside them read something else."""

import pytest

from muntin.aggregates.aggregate import max_
from muntin.errors import PlanError
from muntin.model.query import Query
from muntin.model.time import SECOND
from muntin.model.windows import Window
from muntin.model.workload import workload
from muntin.optimizer.embedding import EmbeddingPlan
from muntin.optimizer.optimize import optimize
from muntin.optimizer.plan_for_stream import plan_for_stream
from muntin.optimizer.replan import Replanner
from muntin.optimizer.transitions import move_queries, pin_queries


def ask(name, size, slide, key="k"):
    return Query(
        name=name,
        window=Window(size=size * SECOND, slide=slide * SECOND),
        aggregates={"m": max_("x")},
        keys=[key],
        time="t",
    )


# Windows as in figure 7: two groups, the second with a piggybacked window on its seed.
P, Y = ask("p", 18, 3), ask("y", 27, 3)
D, U, V = ask("d", 10, 2), ask("u", 10, 4), ask("v", 26, 8)
FIGURE_7 = [P, Y, D, U, V]


def plan(queries):
    return optimize(workload(queries), "subsume")


def reads(found):
    """The window that each query's window is made of; None for slices."""
    names = {node.window: node.queries[0] for tree in found.trees for node in tree.nodes}
    return {
        name: None if node.parent is None else names[node.parent]
        for tree in found.trees
        for node in tree.nodes
        for name in node.queries
    }


def slicing_of(found, name):
    (tree,) = (tree for tree in found.trees if name in tree.queries)
    return tree.queries, tree.slicing


def test_figure_7_a_window_between_two_others_changes_what_one_of_them_reads():
    before = plan(FIGURE_7)
    assert reads(before) == {"p": None, "y": "p", "d": None, "u": "d", "v": "d"}
    found = Replanner(before).plan(workload([*FIGURE_7, ask("k", 21, 3)]))
    # ⟨21, 3⟩ is between p and y, and nothing else has changed.
    assert reads(found.plan) == {**reads(before), "k": "p", "y": "k"}
    assert not found.moves
    assert slicing_of(found.plan, "d") == slicing_of(before, "d")


def test_figure_7_a_piggybacked_window_takes_the_place_of_a_seed():
    before = plan(FIGURE_7)
    found = Replanner(before).plan(workload([P, Y, U, V]))
    assert reads(found.plan) == {"p": None, "y": "p", "u": None, "v": "u"}
    assert not found.moves
    assert slicing_of(found.plan, "p") == slicing_of(before, "p")


def test_an_enclosing_window_that_is_revoked_leaves_its_readers_to_the_next():
    whole = [P, ask("k", 21, 3), Y]
    found = Replanner(plan(whole)).plan(workload([P, Y]))
    assert reads(found.plan) == {"p": None, "y": "p"}
    assert not found.moves


def test_orphans_move_and_the_others_stay():
    d, four, six = ask("d", 12, 2), ask("four", 12, 4), ask("six", 12, 6)
    narrow = ask("narrow", 6, 3)
    first = plan_for_stream(plan([d, four, six]))
    replanner = Replanner(first)
    added = replanner.plan(workload([d, four, six, narrow]))
    assert not added.moves
    running = pin_queries(added.plan, first).plan
    assert sorted(sorted(tree.queries) for tree in running.trees) == [
        ["d", "four", "six"],
        ["narrow"],
    ]
    # Without d, windows that slide by 4 and by 6 cannot be piggybacked on one another.
    found = replanner.plan(workload([four, six, narrow]))
    assert found.moves
    whole = move_queries(found.plan, running, mark="leaving")
    assert whole.moved == {"six (leaving)": "six"}
    assert sorted(sorted(tree.queries) for tree in whole.plan.trees) == [
        ["four", "six (leaving)"],
        ["narrow", "six"],
    ]


def test_a_plan_continues_the_groups_that_run_and_not_those_of_a_plan_from_scratch():
    first = plan_for_stream(plan([ask("wide", 32, 4), ask("seed", 12, 4)]))
    replanner = Replanner(first)
    later = replanner.plan(workload([*first.queries, ask("top", 24, 8)]))
    # From scratch ⟨24, 8⟩ would be below ⟨32, 4⟩'s place, and ⟨32, 4⟩ would seed a group alone.
    assert sorted(sorted(tree.queries) for tree in plan(later.plan.queries).trees) == [
        ["seed", "top"],
        ["wide"],
    ]
    assert not later.moves
    after = pin_queries(later.plan, first).plan
    assert [set(tree.queries) for tree in after.trees if "wide" in tree.queries] == [
        {"wide", "seed"}
    ]


def test_queries_of_other_keys_and_of_one_window():
    before = plan([P, ask("twin", 18, 3), ask("site", 18, 3, key="site")])
    running = EmbeddingPlan(before)
    running.remove("p")
    assert sorted(sorted(tree.queries) for tree in running.plan().trees) == [["site"], ["twin"]]
    running.add(ask("y", 27, 3, key="site"))
    assert reads(running.plan())["y"] == "site"
    running.remove("twin")
    assert {name for tree in running.plan().trees for name in tree.queries} == {"site", "y"}
    with pytest.raises(PlanError, match="'y' is there already"):
        running.add(ask("y", 27, 3))
    with pytest.raises(PlanError, match="no query is called 'twin'"):
        running.remove("twin")
