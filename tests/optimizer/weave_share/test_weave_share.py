from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.papers import rivals
from benchmarks.papers.generators import incremental_gen, weave_share_gen
from muntin.errors import PlanError
from muntin.model.time import SECOND
from muntin.model.workload import PlanOptions
from muntin.optimizer.operations import OPERATIONS
from muntin.optimizer.optimize import optimize
from muntin.optimizer.weave_share import weave_share as weaving
from muntin.optimizer.weave_share.groups import (
    GroupCost,
    Lookup,
    group_of,
    same_edges,
    weaveability,
)
from muntin.optimizer.weave_share.weave_share import weave, weave_groups
from tests.support import window_sets as my
from tests.support.examples import examples
from tests.support.woven import A, B, C, sets, window

EXAMPLE_3 = GroupCost(overhead=1.2)


def forced(workload, technique):
    """The workload with a technique that its user demands."""
    return replace(workload, options=PlanOptions(technique=technique))


def test_example_2_weaveability():
    assert weaveability(group_of([window(12, 9)]), group_of([window(10, 6)])) == 0.25


def test_example_3():
    # Equation 3 gives 5.5 for the start, where the paper's figure says 11.6.
    assert EXAMPLE_3.plan(group_of([w]) for w in (A, B, C)) == pytest.approx(5.5)
    assert EXAMPLE_3.plan([group_of([A, C]), group_of([B])]) == pytest.approx(4.3)
    assert EXAMPLE_3.plan([group_of([A, B, C])]) == pytest.approx(4.4)
    groups = weave_groups([group_of([w]) for w in (A, B, C)], EXAMPLE_3)
    assert sets(groups) == {frozenset({A, C}), frozenset({B})}


def test_example_3_as_a_plan():
    workload = forced(my.workload([A, B, C], rate=1.2), "panes")
    assert {frozenset(node.window for node in tree.nodes) for tree in weave(workload).trees} == {
        frozenset({A, C}),
        frozenset({B}),
    }


def test_reduction_is_equation_5():
    one, other = group_of([A]), group_of([B])
    both = one + other
    expected = 1.2 + 0.25 * 4 + 0.2 * 2 - both.rate * 6
    assert EXAMPLE_3.reduction(one, other) == pytest.approx(expected)


@settings(max_examples=examples(16))
@given(st.lists(my.windows(unit=SECOND), min_size=1, max_size=8, unique=True), st.floats(0.01, 100))
def test_windows_are_kept_and_no_two_trees_are_left_to_merge(windows, overhead):
    for technique in OPERATIONS:
        cost = GroupCost(overhead=overhead, technique=technique)
        groups = weave_groups(same_edges(windows), cost)
        assert sorted(w for group in groups for w in group.windows) == sorted(windows)
        assert cost.plan(groups) <= cost.plan(group_of([w]) for w in windows) * (1 + 1e-9)
        for one in groups:
            assert all(cost.reduction(one, o) <= 1e-9 for o in groups if o is not one)


@given(st.lists(my.windows(unit=SECOND), min_size=2, max_size=8, unique=True))
def test_the_lookup_is_exact_for_pairs(windows):
    groups = same_edges(windows)
    cost = GroupCost(overhead=1.0)
    lookup = Lookup(groups, cost)
    for i, one in enumerate(groups):
        for j, other in enumerate(groups):
            if i != j:
                saved = 1.0 - lookup._added[i, j]
                assert saved == pytest.approx(cost.reduction(one, other), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("technique", ["panes", "slick_deque", "subtract"])
def test_the_estimated_lookup_is_as_good_as_the_exact_one(monkeypatch, technique):
    random = Random(11)
    cost = GroupCost(overhead=5.0, technique=technique)
    ratios = []
    for _ in range(4):
        groups = same_edges(set(weave_share_gen(random, count=30, longest_slide=60)))
        exact = cost.plan(weave_groups(groups, cost))
        monkeypatch.setattr(weaving, "MOST_EXACT", 0)
        ratios.append(cost.plan(weave_groups(groups, cost)) / exact)
        monkeypatch.undo()
    assert np.mean(ratios) < 1.1


def test_very_many_groups_are_sampled_and_assigned(monkeypatch):
    windows = list(dict.fromkeys(weave_share_gen(Random(3), count=400, longest_slide=2000)))
    cost = GroupCost(overhead=100.0)
    looked_up = weave_groups(same_edges(windows), cost)
    monkeypatch.setattr(weaving, "MOST_LOOKED_UP", 100)
    assigned = weave_groups(same_edges(windows), cost)
    assert sorted(w for group in assigned for w in group.windows) == sorted(windows)
    assert cost.plan(assigned) < 2 * cost.plan(looked_up)


def test_panes_and_slick_deque_differ_by_three_orders_in_the_middle_of_figure_17():
    costs = {}
    for technique in ("panes", "slick_deque", "subtract"):
        cost = GroupCost(overhead=1.0, technique=technique)
        drawn = [incremental_gen(Random(seed)) for seed in range(5)]
        costs[technique] = np.mean([cost.plan(weave_groups(same_edges(d), cost)) for d in drawn])
    assert costs["panes"] / costs["slick_deque"] >= 1000
    assert costs["panes"] / costs["subtract"] >= 1000


def test_weave_share_beats_its_rivals():
    random = Random(5)
    cost = GroupCost(overhead=50.0)
    for _ in range(2):
        windows = list(dict.fromkeys(weave_share_gen(random, count=20, longest_slide=100)))
        woven = cost.plan(weave_groups(same_edges(windows), cost))
        no_share = rivals.no_share(windows)
        for groups in (
            no_share,
            rivals.share_all(windows),
            rivals.random_groups(windows, random),
        ):
            assert sorted(w for group in groups for w in group.windows) == sorted(windows)
            assert woven <= cost.plan(groups) * (1 + 1e-9)
        for groups in (
            rivals.insert_then_weave(windows, cost),
            rivals.local_search(no_share, cost, random, iterations=10 * len(windows)),
        ):
            assert sorted(w for group in groups for w in group.windows) == sorted(windows)
            assert cost.plan(groups) <= cost.plan(no_share) * (1 + 1e-9)
            assert woven <= cost.plan(groups) * 1.05


@settings(max_examples=examples(31))
@given(my.workloads())
def test_every_grouping_is_a_valid_plan(workload):
    for strategy in ("weave", "triweave"):
        assert optimize(workload, strategy).strategy == strategy


def test_unknown_techniques_are_refused():
    with pytest.raises(PlanError, match="no technique is called 'best'"):
        weave(forced(my.workload([A, B]), "best"))
