"""Techniques in optimizers: the paper's figure 17, and what it says of SlickDeque."""

from random import Random

import pytest

from benchmarks.papers.generators import incremental_gen
from benchmarks.papers.optimizer_techniques import SWEEPS, TECHNIQUES, run


@pytest.fixture(scope="module")
def experiment():
    return run(repeats=2, sweeps=[SWEEPS[0], SWEEPS[3]])


def test_both_optimizers_have_each_figure_with_a_line_a_technique(experiment):
    assert [figure.name for figure in experiment.figures] == [
        "techniques_17_weave_share",
        "techniques_17_triweave",
        "techniques_20_weave_share",
        "techniques_20_triweave",
    ]
    for figure in experiment.figures:
        assert list(figure.lines) == list(TECHNIQUES.values())


def test_panes_and_slick_deque_differ_by_three_orders_in_the_middle(experiment):
    for figure in experiment.figures[:2]:
        for name in ("SlickDeque (non-inv)", "SlickDeque (inv)"):
            assert figure.at("panes", 100) / figure.at(name, 100) >= 1000


def test_the_order_of_techniques_is_the_papers(experiment):
    figure = experiment.figures[0]
    for queries in (100, 1_000, 10_000):
        costs = [
            figure.at(TECHNIQUES[one], queries)
            for one in ("slick_deque", "flat_fit", "flat_fat", "panes")
        ]
        assert costs == sorted(costs)
    # FlatFIT is up to three times as dear, as the paper says.
    assert figure.at("FlatFIT", 10_000) / figure.at("SlickDeque (non-inv)", 10_000) < 3.2


def test_better_techniques_make_fewer_trees(experiment):
    (panes,) = (c for c in experiment.claims if c.what == "trees in a plan, panes")
    (slick,) = (c for c in experiment.claims if c.what.endswith("SlickDeque (non-inv)"))
    assert float(slick.found.split()[-1]) < float(panes.found.split()[-1])


def test_slides_are_factors_of_the_longest():
    windows = incremental_gen(Random(0), longest_slide=100)
    assert {100_000_000 % window.slide for window in windows} == {0}
