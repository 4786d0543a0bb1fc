"""TriWeave: one pass cuts at all edges, and each group of windows is a tree with its own edges."""

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.model.passes import Engine
from muntin.model.prices import Prices
from muntin.model.time import MINUTE, SECOND
from muntin.model.windows import Window
from muntin.model.workload import Workload
from muntin.optimizer import edges
from muntin.optimizer.exact import cheapest_partition
from muntin.optimizer.optimize import optimize
from muntin.optimizer.plan_for_stream import plan_for_stream
from muntin.optimizer.triweave import triweave, triweave_cost, triweave_groups
from muntin.optimizer.weave_share.groups import GroupCost, group_of, same_edges
from tests.support import window_sets as my
from tests.support.examples import examples
from tests.support.woven import sets, window

SHORT = [window(4, 1), window(5, 1)]
LONG = [window(240, 60), window(300, 60), window(600, 120)]
GROUP_BY_ONLY = Prices(handed=1e12)
distinct_windows = st.lists(my.windows(unit=SECOND), min_size=1, max_size=6, unique=True)


@given(distinct_windows)
def test_each_tree_pays_for_the_finest_slices(windows):
    cost = GroupCost(overhead=7.0)
    groups = triweave_groups(same_edges(windows), cost)
    finest = group_of(windows).rate
    expected = 7.0 + len(groups) * finest + sum(g.rate * g.load.overlap for g in groups)
    assert triweave_cost(groups, cost) == pytest.approx(expected)


@settings(max_examples=examples(25))
@given(distinct_windows, st.sampled_from(["panes", "two_stacks"]))
def test_greedy_groups_cost_between_the_best_ones_and_those_of_equal_edges(windows, technique):
    model = GroupCost(overhead=0.0, technique=technique)

    def cost(groups):
        return triweave_cost(groups, model)

    finest = group_of(windows).rate
    best = cheapest_partition(
        len(windows),
        # Every group pays for all finest slices, whatever its own windows are.
        lambda part: cost([group := group_of(windows[i] for i in part)]) - group.rate + finest,
    )
    least = cost([group_of(windows[i] for i in part) for part in best])
    apart = same_edges(windows)
    found = cost(triweave_groups(apart, model))
    # Two groups are joined only where that saves.
    assert least * (1 - 1e-9) <= found <= cost(apart) * (1 + 1e-9)


def test_groups_are_trees_with_their_own_edges_made_in_one_pass():
    workload = my.workload([*SHORT, *LONG], rate=1.0)
    plan = optimize(workload, "triweave")
    (shared,) = plan.passes
    assert shared.slicing.width == SECOND
    assert sets(map(windows_of, plan.trees)) == {frozenset(SHORT), frozenset(LONG)}
    assert sorted(tree.slicing.width for tree in plan.trees) == [SECOND, MINUTE]
    assert all(tree.is_flat and tree.slicing_pass == shared for tree in plan.trees)
    for view in (plan.explain(), plan.to_svg()):
        assert "read once for 2 trees" in view
        assert "read 2 times" not in view


@settings(max_examples=examples(38))
@given(my.workloads())
def test_a_grouping_is_cut_once(workload):
    parts = {part.grouping: part for part in workload.split_by_grouping}
    whole = dict.fromkeys(parts, workload)
    for plan, facts in ((triweave(workload), whole), (optimize(workload, "triweave"), parts)):
        trees = defaultdict(list)
        for tree in plan.trees:
            trees[tree.grouping].append(tree)
        for grouping, queries in workload.queries_by_grouping.items():
            mine = trees[grouping]
            assert len({tree.slicing_pass for tree in mine}) == 1
            assert len({tree.slicing for tree in mine}) == len(mine)
            for tree in mine:
                assert tree.is_flat
                assert tree.slicing == edges.slicing(windows_of(tree).windows, facts[grouping])
            if len(mine) > 1:
                cut = mine[0].slicing_pass.slicing
                assert all(cut.includes(tree.slicing) for tree in mine)
                assert all(cut.cuts(query.window) for query in queries)


def test_the_pass_costs_one_reading_of_the_events():
    prices = GROUP_BY_ONLY
    for rate in (1e3, 1e6):
        work = Workload(queries=my.workload([*SHORT, *LONG]).queries, rate=rate, prices=prices)
        plan = triweave(work)
        (shared,) = plan.passes
        assert shared.engine is Engine.SPARK
        # One key, and a slice for every second.
        assert shared.cost == pytest.approx(prices.event * rate + prices.partial)
        folded = {tree.slicing.width: tree.cut_cost for tree in plan.trees}
        assert folded[SECOND] == pytest.approx(prices.packed)
        assert folded[MINUTE] == pytest.approx(prices.packed / 60 + prices.folded)
        assert plan.cost == pytest.approx(shared.cost + sum(tree.cost for tree in plan.trees))


def test_other_filters_and_keys_join_the_pass_of_all_groups():
    queries = [
        *(my.query(f"a{w}", w, keys=["device"]) for w in (*SHORT, *LONG)),
        *(my.query(f"b{w}", w, keys=["site"], where="x > 0") for w in (*SHORT, *LONG)),
    ]
    work = Workload(queries=tuple(queries), prices=Prices(event=1e6, handed=1e12))
    plan = optimize(work, "triweave")
    (shared,) = plan.passes
    assert shared.keys == ("device", "site")
    assert len(plan.trees_of(shared)) == len(plan.trees) == 4
    # Where two readings are cheaper, the groups of each stay together.
    dense = Workload(queries=tuple(queries), rate=1e6, keys=1e3, prices=GROUP_BY_ONLY)
    apart = optimize(dense, "triweave")
    assert [len(apart.trees_of(each)) for each in apart.passes] == [2, 2]
    assert [each.keys for each in apart.passes] == [("device",), ("site",)]


def test_auto_takes_it_where_one_reading_and_few_combines_are_cheapest():
    # No tumbling window but that of one second serves windows that end 7 seconds past the minute.
    windows = [window(5, 1), *(window(60 * n + 7, 60) for n in range(2, 22))]
    queries = tuple(my.query(f"q{n}", w, keys=["device"]) for n, w in enumerate(windows))
    plan = optimize(Workload(queries=queries, rate=1e5, keys=1e4), "auto")
    assert plan.chosen_strategies == ("triweave",)
    assert plan.strategy_costs["triweave"] < 0.99 * plan.strategy_costs["intermediate"]
    assert plan.cost == pytest.approx(plan.strategy_costs["triweave"])
    assert sorted(tree.slicing.rate for tree in plan.trees) == pytest.approx([2 / 60, 1])
    # In a stream, all windows read the slices that are cut once.
    (tree,) = plan_for_stream(plan).trees
    assert tree.slicing.width == SECOND


def test_windows_whose_slices_are_one_grid_are_one_tree():
    # Alone, either window is cut on a grid of two seconds.
    windows = [Window(size=8 * SECOND, slide=6 * SECOND), Window(size=6 * SECOND, slide=4 * SECOND)]
    for tree in triweave(my.workload(windows)).trees:
        assert tree.slicing.width == 2 * SECOND
    assert len(triweave(my.workload(windows)).trees) == 1


def windows_of(tree):
    return group_of(node.window for node in tree.nodes)
