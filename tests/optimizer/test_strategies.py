from dataclasses import replace
from random import Random

import pytest
from hypothesis import example, given, settings

from benchmarks.papers.generators import (
    incremental_gen,
    random_gen,
    sequential_gen,
    weave_share_gen,
    zipf,
)
from muntin.aggregates import aggregate as ag
from muntin.errors import PlanError
from muntin.model.passes import Engine
from muntin.model.plan import cost_of, trees_by_pass
from muntin.model.prices import SHIPPED, Prices
from muntin.model.time import MINUTE, SECOND
from muntin.model.windows import CumulateWindow, Window
from muntin.model.workload import NO_OPTIONS, PlanOptions, Workload
from muntin.optimizer.intermediate import tumbling_closure
from muntin.optimizer.lower_bounds import (
    depends_on_data,
    least_with_one_tree,
    least_with_two_trees,
)
from muntin.optimizer.optimize import optimize
from muntin.optimizer.strategies import STRATEGIES
from tests.support import window_sets as my
from tests.support.examples import examples

# What could be cheaper by less is not looked for.
THOUSANDTH = 1.001 * (1 + 1e-9)
# Prices at which Spark's GROUP BY makes all slices.
NO_SLICER = Prices(handed=1e9)


def tumbling(size):
    return Window(size=size, slide=size)


@settings(max_examples=examples(25))
@given(my.workloads(largest=5))
def test_auto_is_never_dearer_than_any_other_strategy(workload):
    least = optimize(workload, "auto").cost
    for name in STRATEGIES:
        plan = optimize(workload, name)
        assert plan.strategy == name
        assert least <= plan.cost * THOUSANDTH


def test_auto_knows_what_trees_of_several_groupings_cost_in_one_pass():
    """One tree of eight and twelve seconds has panes of four, which three do not go well with;
    two trees have fewer edges beside these."""
    lengths = {"a": (16, 8, []), "b": (6, 3, ["device"]), "c": (24, 12, [])}
    asked = tuple(
        my.query(name, CumulateWindow(size=size * SECOND, slide=every * SECOND), keys=keys)
        for name, (size, every, keys) in lengths.items()
    )
    panes = Workload(queries=asked, rate=10.0, options=PlanOptions(slicing="panes"))
    least = optimize(replace(panes, options=NO_OPTIONS), "auto").cost
    assert least < 0.75 * optimize(panes, "shared").cost
    # At the shipped price of a progression, one tree of pairs is as cheap as two. Where finding
    # slices is dear, it has panes.
    dear = Workload(queries=asked, rate=10.0, prices=Prices(progression=8.0))
    assert optimize(dear, "auto").cost < 0.96 * optimize(dear, "shared").cost


def generated(seed):
    random = Random(seed)
    count = random.randint(2, 8)
    draw = random.choice(
        [
            lambda: weave_share_gen(random, count=count, longest_slide=50, most_overlap=20),
            lambda: incremental_gen(random, count=count, longest_slide=60, most_overlap=100),
            lambda: random_gen(random, count=count, tumbling=True),
            lambda: random_gen(random, count=count, tumbling=False),
            lambda: sequential_gen(random, count=count, tumbling=True),
        ]
    )
    asked = random.sample(my.AGGREGATES, random.randint(1, 3))
    return my.workload(
        list(dict.fromkeys(draw())),
        *asked,
        rate=random.choice([0.1, 10.0, 1000.0]),
        keys=random.choice([1.0, 100.0]),
    )


def auto_against_exact(seeds):
    ratios = []
    for seed in seeds:
        workload = generated(seed)
        best = min(optimize(workload, name).cost for name in ("exact", "exact_factor"))
        ratios.append(optimize(workload, "auto").cost / best)
    return ratios


def test_auto_is_within_one_percent_of_exact():
    ratios = auto_against_exact(range(30))
    assert max(ratios) <= THOUSANDTH
    assert sum(ratios) / len(ratios) <= 1.01


@pytest.mark.slow
def test_auto_is_within_one_percent_of_exact_on_500():
    ratios = auto_against_exact(range(2000, 2500))
    assert max(ratios) <= THOUSANDTH


def test_intermediate_windows_that_no_paper_takes():
    # Slices of all four have little in common. Tumbling windows of ten and fifteen seconds, each
    # for one hopping window alone, leave less to read than the divisor of all, one second.
    windows = [
        Window(size=86_401 // 7 * 7 * SECOND, slide=7 * SECOND),
        Window(size=3600 * SECOND, slide=15 * SECOND),
        Window(size=1800 * SECOND, slide=10 * SECOND),
        Window(size=900 * SECOND, slide=6 * SECOND),
    ]
    workload = my.workload(windows, ag.avg("x"), ag.max_("x"), rate=10_000.0, keys=10.0)
    options = PlanOptions(slicing="pairs")
    workload = replace(workload, prices=Prices(kept=5.0), options=options)
    costs = {name: optimize(workload, name).cost for name in STRATEGIES}
    papers = ("shared", "coverage", "factor", "exact_factor", "weave", "triweave", "subsume")
    assert costs["auto"] < min(costs[name] for name in papers)
    (tree,) = optimize(workload, "auto").trees
    factors = {node.window for node in tree.nodes if node.is_factor}
    assert factors == {tumbling(10 * SECOND), tumbling(15 * SECOND)}


def test_where_few_events_meet_a_slice_auto_does_not_lose_to_unshared():
    windows = [Window(size=7 * SECOND, slide=SECOND), tumbling(3600 * SECOND)]
    for rate in (0.001, 1.0, 1e6):
        plan = optimize(my.workload(windows, rate=rate, keys=1e6), "auto")
        assert plan.cost <= plan.unshared_cost


@settings(max_examples=examples(38))
# Alone, the second window is cut on a grid of two seconds; beside the first it is not.
@example(
    Workload(
        queries=(
            my.query("a", tumbling(11 * SECOND), ag.min_("x")),
            my.query(
                "b",
                Window(size=8 * SECOND, slide=6 * SECOND),
                ag.min_("x"),
                ag.max_("x"),
                ag.sum_("x"),
            ),
        ),
        rate=10.0,
        keys=1.0,
    )
)
@given(my.workloads(largest=5))
def test_trees_never_cost_less_than_said(workload):
    # Before trees are put into passes, in which they share what a bound counts for each. TriWeave
    # has passes of its own, which cut at all edges, as one tree does.
    for part in workload.split_by_grouping:
        for name, strategy in STRATEGIES.items():
            trees = strategy(part).trees
            unite_groups_of_pass = len(trees_by_pass(trees)) == 1
            bound = least_with_one_tree if unite_groups_of_pass else least_with_two_trees
            assert cost_of(trees) >= bound(part.periodic_queries, part) * (1 - 1e-9), name


def test_data_is_looked_at_only_where_one_tree_may_lose():
    def depends(*windows, prices=NO_SLICER):
        return depends_on_data(replace(my.workload(windows), prices=prices))

    hour, second = tumbling(3600 * SECOND), tumbling(SECOND)
    assert depends(second, hour)
    # The slicer makes slices of single events cheap enough to share them at any rate.
    assert not depends(second, hour, prices=SHIPPED)
    assert not depends(hour)
    assert not depends(*(tumbling(n * MINUTE) for n in (1, 2, 3, 5, 10)))
    assert not depends(Window(size=hour.size, slide=MINUTE), Window(size=MINUTE * 15, slide=MINUTE))


def test_auto_says_what_it_tried_and_took():
    windows = {"second": tumbling(SECOND), "hour": tumbling(3600 * SECOND)}
    queries = tuple(my.query(name, window, keys=["device"]) for name, window in windows.items())
    few = Workload(queries=queries, rate=100.0, keys=200.0)
    plan = optimize(few, "auto")
    assert plan.chosen_strategies == ("shared",)
    assert plan.trees[0].slicing_pass.engine is Engine.COMPILED
    few = replace(few, prices=NO_SLICER)
    plan = optimize(few, "auto")
    assert plan.chosen_strategies == ("unshared",)
    assert len(plan.trees) == 2
    assert plan.strategy_costs["shared"] > plan.cost == plan.strategy_costs["unshared"]
    assert len(optimize(replace(few, rate=1e5), "auto").trees) == 1


def test_families_do_not_mix():
    queries = [
        my.query("a", tumbling(MINUTE), keys=["device"]),
        my.query("b", tumbling(2 * MINUTE), keys=["device"]),
        my.query("c", tumbling(2 * MINUTE)),
        my.query("d", tumbling(MINUTE), where="x > 0"),
    ]
    for name in STRATEGIES:
        plan = optimize(Workload(queries=tuple(queries)), name)
        for tree in plan.trees:
            asked = [name for node in tree.nodes for name in node.queries]
            assert {q.grouping for q in queries if q.name in asked} == {tree.grouping}


def test_equal_windows_meet_in_one_node():
    queries = my.query("a", tumbling(MINUTE)), my.query("b", tumbling(MINUTE), ag.count())
    for name in set(STRATEGIES) - {"unshared"}:
        (tree,) = optimize(Workload(queries=queries), name).trees
        (node,) = tree.nodes
        assert node.queries == ("a", "b")
        assert set(node.aggregates) == {ag.sum_("x"), ag.count()}


def test_tumbling_closure():
    assert tumbling_closure([tumbling(20), tumbling(30), Window(size=45, slide=15)]) == [
        tumbling(5),
        tumbling(10),
        tumbling(15),
        tumbling(20),
        tumbling(30),
    ]
    shifted = Window(size=20, slide=20, offset=5)
    assert Window(size=5, slide=5) in tumbling_closure([tumbling(20), shifted])


def test_generators_follow_their_tables():
    random = Random(0)
    assert {w.size // w.slide for w in random_gen(random, count=20, tumbling=False)} == {2}
    slides = [w.slide // SECOND for w in sequential_gen(random, count=4, tumbling=True)]
    assert slides == [slides[0] // 2 * step for step in (2, 3, 4, 5)]
    assert all(1000 % (w.slide // SECOND) == 0 for w in incremental_gen(random, count=50))
    drawn = zipf(random, range(1, 101), 2.0, 2000)
    assert sum(drawn) / len(drawn) > 85
    assert abs(sum(zipf(random, range(1, 101), 0.0, 5000)) / 5000 - 50.5) < 3
    assert all(1 <= w.overlap <= 50 for w in weave_share_gen(random, count=50))


def test_unknown_strategies_are_refused():
    with pytest.raises(PlanError, match="did you mean 'weave'"):
        optimize(my.workload([tumbling(MINUTE)]), "weav")
