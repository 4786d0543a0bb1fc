from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.papers.generators import incremental_gen
from muntin.errors import PlanError
from muntin.model.time import SECOND
from muntin.model.workload import Workload
from muntin.optimizer.optimize import optimize
from muntin.optimizer.weave_share.groups import GroupCost, same_edges
from muntin.optimizer.weave_share.incremental import _FEW_SETS, Reweaving, ReweavingPlan, edge_set
from muntin.optimizer.weave_share.weave_share import weave_groups
from tests.support import window_sets as my
from tests.support.examples import examples
from tests.support.woven import A, B, C, sets

COST = GroupCost(overhead=1.2)


def test_example_3_window_by_window():
    woven = Reweaving([], COST)
    for one in (A, C, B):
        woven.add(one)
    assert sets(woven.groups) == {frozenset({A, C}), frozenset({B})}
    assert woven.plan_cost == pytest.approx(4.3)
    woven.remove(A)
    # With the short window alone beside it, one tree for both is cheaper.
    assert woven.plan_cost == pytest.approx(COST.plan(woven.groups))
    assert woven.plan_cost <= COST.plan(weave_groups(same_edges([B, C]), COST)) + 1e-9


@given(
    st.lists(my.windows(unit=SECOND), min_size=1, max_size=10, unique=True),
    st.sampled_from(["panes", "two_stacks", "subtract", "slick_deque"]),
    st.randoms(use_true_random=False),
)
def test_windows_come_and_go(windows, technique, random):
    woven = Reweaving([], GroupCost(overhead=2.0, technique=technique))
    present = set()
    for one in [*windows, *random.choices(windows, k=len(windows))]:
        if one in present:
            woven.remove(one)
        else:
            woven.add(one)
        present ^= {one}
        assert set(woven.windows) == present
        groups = woven.groups
        assert sorted(w for group in groups for w in group.windows) == sorted(present)
    # Rates are counted in trees of few edge sets and estimated in larger ones.
    if all(len(set(map(edge_set, group.windows))) <= _FEW_SETS for group in woven.groups):
        assert woven.plan_cost == pytest.approx(woven.cost.plan(woven.groups))


def test_the_curve_and_what_a_new_plan_costs_at_least():
    windows = list(dict.fromkeys(incremental_gen(Random(2), count=60, most_overlap=50)))
    woven = Reweaving(windows[:20], COST, tolerance=0.0)
    ((count, cost),) = woven.curve
    assert (count, cost) == (20, pytest.approx(COST.plan(woven.groups)))
    first = woven.least_cost
    assert 0 < first < cost
    # Windows that come do not change what a new plan costs at least, and those that go do.
    woven.add(windows[20])
    assert woven.least_cost == first
    woven.remove(windows[0])
    assert woven.least_cost < first
    for one in windows[21:40]:
        woven.add(one)
    woven.rebuild_if_due()
    assert woven.curve[-1][0] == len(woven.windows) == 39
    # It was just compared, and costs no more than a new plan.
    assert woven.plan_cost <= woven.curve[-1][1] * (1 + 1e-9)


def test_no_tolerance_rebuilds_often_and_endless_tolerance_never():
    windows = list(dict.fromkeys(incremental_gen(Random(4), count=80, most_overlap=50)))
    rebuilt, compared, costs = {}, {}, {}
    for tolerance in (0.0, 0.25, float("inf")):
        woven = Reweaving(windows[:5], GroupCost(overhead=5.0), tolerance=tolerance)
        rebuilt[tolerance] = 0
        for one in windows[5:]:
            woven.add(one)
            rebuilt[tolerance] += woven.rebuild_if_due()
        compared[tolerance], costs[tolerance] = len(woven.curve) - 1, woven.plan_cost
    assert rebuilt[float("inf")] == compared[float("inf")] == 0
    assert rebuilt[0.0] >= rebuilt[0.25]
    assert compared[0.0] == len(windows) - 5 > compared[0.25]
    best = GroupCost(overhead=5.0).plan(weave_groups(same_edges(windows), GroupCost(overhead=5.0)))
    assert costs[0.0] <= best * (1 + 1e-9)
    assert costs[0.25] <= best * 1.25


def test_trees_that_run_are_compared_at_the_first_change():
    apart = Reweaving.of_trees([[A], [B], [C]], COST)
    assert sets(apart.groups) == {frozenset({A}), frozenset({B}), frozenset({C})}
    assert apart.plan_cost == pytest.approx(5.5)
    assert apart.rebuild_if_due()
    assert sets(apart.groups) == {frozenset({A, C}), frozenset({B})}
    assert not apart.rebuild_if_due()


def test_adding_stays_near_planning_from_scratch():
    for seed in range(5):
        windows = list(dict.fromkeys(incremental_gen(Random(seed), count=80, most_overlap=20)))
        cost = GroupCost(overhead=3.0)
        woven = Reweaving(windows[:40], cost)
        for one in windows[40:]:
            woven.add(one)
        assert woven.plan_cost <= 1.3 * cost.plan(weave_groups(same_edges(windows), cost))


@settings(max_examples=examples(19))
@given(my.workloads())
def test_a_plan_follows_its_queries(workload):
    first, *rest = workload.queries
    start = Workload(queries=(first,), rate=workload.rate, keys=workload.keys)
    changing = ReweavingPlan(optimize(start, "weave"), tolerance=0.2)
    for query in rest:
        changing.add(query)
        changing.plan()
    assert {query.name for query in changing.plan().queries} == {q.name for q in workload.queries}
    for query in rest:
        changing.remove(query.name)
    assert [query.name for query in changing.plan().queries] == [first.name]


def test_names_are_checked():
    changing = ReweavingPlan(optimize(my.workload([A]), "weave"))
    with pytest.raises(PlanError, match="'q0' is there already"):
        changing.add(my.query("q0", B))
    with pytest.raises(PlanError, match="no query is called 'q7'"):
        changing.remove("q7")
    with pytest.raises(PlanError, match="no window"):
        Reweaving([A], COST).remove(B)
