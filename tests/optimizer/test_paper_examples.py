"""Worked examples of the papers as plans, under the papers' cost models: `prices=` of each paper.

Numbers are the papers', or computed by hand from their formulas where a comment says so.
"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.papers.optimizer_techniques import TECHNIQUES, draw_workload, plan_groups
from muntin.aggregates import aggregate as ag
from muntin.model.prices import PAPERS
from muntin.model.time import SECOND
from muntin.model.windows import Window
from muntin.model.workload import PlanOptions
from muntin.optimizer.cost_models import MODELS, WindowReads, common_period
from muntin.optimizer.factor_windows import benefit, best_covering
from muntin.optimizer.optimize import optimize
from tests.support import window_sets as my
from tests.support.woven import A, B, C, window


def plan(windows, strategy, prices, *aggregates, rate=1.0):
    """The plan of a strategy under the cost model of a paper."""
    work = my.workload(windows, *aggregates, rate=rate)
    return optimize(replace(work, prices=PAPERS[prices]), strategy)


def parents(found):
    """What each window reads, in seconds."""
    return {
        shape(node.window): node.parent and shape(node.parent)
        for tree in found.trees
        for node in tree.nodes
    }


def shape(each):
    return each.size // SECOND, each.slide // SECOND


def windows_of(found):
    """The windows of each tree."""
    return {frozenset(node.window for node in tree.nodes) for tree in found.trees}


def cost_per_period(found, period):
    """Equation 1 counts a period, a plan counts a second."""
    return pytest.approx(found.cost * period)


@pytest.mark.parametrize("aggregate", [ag.min_("x"), ag.sum_("x")])
@pytest.mark.parametrize("strategy", ["coverage", "factor"])
def test_multipliers_are_those_of_theorem_3(strategy, aggregate):
    # By hand: 13 · 12 + 4 · 6 events, and min(24, M = 13, M = 4) for the widest: 156 + 24 + 4.
    windows = [window(12, 1), window(6, 6), window(24, 12)]
    found = plan(windows, strategy, "factor_windows", aggregate)
    assert cost_per_period(found, 24) == 184
    assert parents(found)[12, 1] is parents(found)[6, 6] is None


def test_algorithm_3_adds_the_window_with_the_greatest_benefit():
    # <12, 12> saves 13 - 2 and costs 2 below <12, 1>; the widest then reads it, at no other cost.
    windows = [window(12, 1), window(6, 6), window(24, 12)]
    found = parents(plan(windows, "factor", "factor_windows", ag.min_("x")))
    assert found[24, 12] == (12, 12)
    assert found[12, 12] == (12, 1)


@pytest.mark.parametrize("strategy", ["coverage", "factor"])
def test_no_factor_window_is_added_that_does_not_pay(strategy):
    # By hand: 31 · 30 + 10 · 45 events in 90 seconds. Equation 2 is negative for all <r, 1>.
    windows = [window(30, 2), window(45, 5)]
    found = plan(windows, strategy, "factor_windows", ag.min_("x"))
    assert cost_per_period(found, 90) == 1380
    assert set(parents(found)) == {(30, 2), (45, 5)}


@pytest.mark.parametrize("aggregate", [ag.min_("x"), ag.sum_("x")])
def test_examples_6_and_7_of_factor_windows(aggregate):
    tens = [window(size, size) for size in (10, 20, 30, 40)]
    asked = plan(tens, "coverage", "factor_windows", aggregate)
    assert cost_per_period(asked, 120) == 150
    assert asked.unshared_cost * 120 == pytest.approx(480)
    found = plan(tens[1:], "factor", "factor_windows", aggregate)
    assert cost_per_period(found, 120) == 150
    assert parents(found)[20, 20] == parents(found)[30, 30] == (10, 10)
    without = plan(tens[1:], "coverage", "factor_windows", aggregate)
    assert cost_per_period(without, 120) == 246
    assert without.unshared_cost * 120 == pytest.approx(360)


@given(
    st.sampled_from([None, 1, 2, 3]),
    st.lists(st.tuples(st.integers(1, 4), st.integers(1, 6)), min_size=1, max_size=3, unique=True),
    st.integers(1, 3),
    st.sampled_from([0.5, 1, 7]),
)
def test_algorithm_2_finds_the_best_of_all_sizes(target, shapes, unit, eta):
    """The two ends are enough, since equation 2 is convex in the size."""
    is_stream = target is None
    source = Window(size=target or 1, slide=target or 1)
    step = unit * source.slide
    below = [Window(size=k * slide * step, slide=slide * step) for slide, k in shapes]
    reads = WindowReads(eta=eta, period=common_period(below), model=MODELS["window_reads"])

    def gain(factor):
        return benefit(factor, None if is_stream else source, below, reads, is_harmless=True)

    every = [
        factor
        for slide in range(1, min(w.slide for w in below) + 1)
        for size in range(slide, min(w.size for w in below) + 1)
        if (factor := Window(size=size, slide=slide)) not in (*below, source)
        and source.covers(factor)
        and size % slide == 0
        and all(factor.covers(w) for w in below)
    ]
    best = best_covering(source, below, reads, is_stream=is_stream)
    most = max([0.0, *map(gain, every)])
    assert (0.0 if best is None else gain(best)) == pytest.approx(most)


def test_example_2_of_weave_share_merges_above_the_edges_it_adds():
    # By hand, equation 5: 4/9 · 3 - 2/9 · 4/3 - 1/3 · 5/3 = 13/27.
    windows = [window(12, 9), window(10, 6)]
    for rate, trees in ((0.4814, 2), (0.4815, 1)):
        assert len(plan(windows, "weave", "weave_share", rate=rate).trees) == trees


def test_example_3_of_weave_share_merges_all_above_its_rate():
    # By hand, equation 3: 2λ + 1.9 < λ + 3.2 up to λ = 1.3.
    for rate in (1.2, 1.299):
        found = plan([A, B, C], "weave", "weave_share", rate=rate)
        assert windows_of(found) == {frozenset({A, C}), frozenset({B})}
    assert len(plan([A, B, C], "weave", "weave_share", rate=1.301).trees) == 1


def test_costs_of_plans_are_equation_3_of_weave_share():
    # The paper's figure 3 says 4.3 and 4.4; for the start its 11.6 is 5.5 by equation 3.
    costs = {"weave": 4.3, "shared": 4.4, "unshared": 5.5}
    for strategy, cost in costs.items():
        assert plan([A, B, C], strategy, "weave_share", rate=1.2).cost == pytest.approx(cost)


def test_costs_of_triweave_read_the_finest_slices_once_for_each_tree():
    # By hand: λ = 1.2, E = 0.4, and 0.25 · 6 + 0.2 · 2 for the trees of example 3.
    found = plan([A, B, C], "triweave", "triweave", rate=1.2)
    assert windows_of(found) == {frozenset({A, C}), frozenset({B})}
    assert found.cost == pytest.approx(1.2 + 2 * 0.4 + 1.5 + 0.4)


@pytest.mark.parametrize("optimizer", ["Weave Share", "TriWeave"])
@pytest.mark.parametrize(("technique", "trees"), [*zip(TECHNIQUES, [16, 13, 7, 7, 7], strict=True)])
def test_the_groups_are_those_of_the_technique(optimizer, technique, trees):
    """Incremental MQO, experiments 1 to 5, in the middle of every figure: a workload of the bench
    has as many trees in a plan as in the bench."""
    drawn = draw_workload(0)
    strategy = optimizer.replace(" ", "").lower().replace("weaveshare", "weave")
    _, counted = plan_groups(drawn, optimizer, technique)
    aggregate = ag.count() if technique == "subtract" else ag.min_("x")
    queries = tuple(replace(each, aggregates={"a": aggregate}) for each in drawn.periodic_queries)
    asked = replace(drawn, queries=queries, options=PlanOptions(technique=technique))
    assert len(optimize(asked, strategy).trees) == counted == trees
