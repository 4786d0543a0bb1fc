from fractions import Fraction
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from benchmarks.papers.generators import random_gen, sequential_gen
from muntin.aggregates import aggregate as ag
from muntin.model.time import SECOND
from muntin.model.windows import Window
from muntin.model.workload import Workload
from muntin.optimizer import coverage
from muntin.optimizer import factor_windows as factor
from muntin.optimizer.cost_models import (
    WindowReads,
    common_period,
    recurrence,
    window_reads,
)
from muntin.optimizer.coverage import min_cost_forest
from muntin.optimizer.optimize import optimize
from tests.support import window_sets as my


def tumbling(size):
    return Window(size=size, slide=size)


UNIT = tumbling(1)


def always(window):
    return True


def never(window):
    return False


def reads_of(windows):
    return WindowReads(eta=1, period=common_period(windows))


def naive(windows):
    """What the windows cost when each reads the stream."""
    model = reads_of(windows)
    return sum(model.cost(window, None, is_harmless=False) for window in windows)


def test_examples_2_3_and_5():
    # 0         8 10
    # [---------)      8 by 2
    #   [---------)
    # [-----------)    10 by 2
    wide, narrow = Window(size=10, slide=2), Window(size=8, slide=2)
    assert narrow.covers(wide)
    assert narrow.multiplier(wide) == 2
    assert not narrow.partitions(wide)
    assert narrow.fewest_starts(wide) == (0, 2)


def test_figure_5_recurrence_count():
    assert recurrence(Window(size=10, slide=2), 40) == 16
    assert recurrence(tumbling(10), 40) == 4


@pytest.mark.parametrize("harmless", [always, never])
def test_example_6_from_480_to_150(harmless):
    windows = [tumbling(size) for size in (10, 20, 30, 40)]
    model = reads_of(windows)
    assert model.period == 120
    assert naive(windows) == 480
    forest = min_cost_forest(windows, model, harmless)
    assert model.total(forest, harmless) == 150
    assert forest == {
        tumbling(10): None,
        tumbling(20): tumbling(10),
        tumbling(30): tumbling(10),
        tumbling(40): tumbling(20),
    }


@pytest.mark.parametrize("harmless", [always, never])
def test_example_7_from_360_to_246_to_150(harmless):
    windows = [tumbling(size) for size in (20, 30, 40)]
    model = reads_of(windows)
    assert naive(windows) == 360
    assert model.total(min_cost_forest(windows, model, harmless), harmless) == 246
    forest = factor.with_factor_windows(windows, model, harmless, root=UNIT)
    assert model.total(forest, harmless) == 150
    assert forest[tumbling(20)] == forest[tumbling(30)] == tumbling(10)
    assert forest[tumbling(40)] == tumbling(20)
    assert set(forest) - set(windows) == {tumbling(10)}


def test_example_8_candidates_and_the_best():
    below = [tumbling(20), tumbling(30)]
    found = factor.tumbling_candidates(UNIT, below)
    assert found == [tumbling(2), tumbling(5), tumbling(10)]
    assert all(factor.helps(one, UNIT, below, 120) for one in found)
    model = WindowReads(eta=1, period=120)
    assert factor.best_partitioning(UNIT, below, model, is_stream=True) == tumbling(10)


def test_mutually_prime_windows_gain_nothing():
    windows = [tumbling(size) for size in (15, 17, 19)]
    model = reads_of(windows)
    forest = factor.with_factor_windows(windows, model, never, root=UNIT)
    assert forest == dict.fromkeys(windows)


@given(st.integers(1, 4), st.integers(2, 6), st.data())
def test_algorithm_4_agrees_with_equation_2(target, ratio, data):
    """Theorem 8, with the target read as a window."""
    factor_size = target * ratio
    shapes = st.tuples(st.integers(1, 4), st.integers(1, 4))
    below = [
        Window(size=factor_size * slide * overlap, slide=factor_size * slide)
        for slide, overlap in data.draw(st.lists(shapes, min_size=1, max_size=3, unique=True))
    ]
    assume(tumbling(factor_size) not in below)
    period = common_period([*below, tumbling(factor_size)]) * data.draw(st.integers(1, 4))

    def cost(window, parent):
        return Fraction(recurrence(window, period)) * parent.multiplier(window)

    source, middle = tumbling(target), tumbling(factor_size)
    gain = sum(cost(w, source) - cost(w, middle) for w in below) - cost(middle, source)
    assert factor.helps(middle, source, below, period) == (gain >= 0)


@given(
    my.windows(most=8).filter(lambda window: not window.grows),
    st.integers(0, 8),
    st.integers(1, 4),
    st.integers(0, 4),
)
def test_fewest_intervals_fill_the_window_and_no_fewer_do(parent, more, stride, shift):
    size = parent.size + more * parent.slide
    slide = min(stride, size // parent.slide) * parent.slide
    window = Window(size=size, slide=slide, offset=parent.offset + shift * parent.slide)
    assert parent.covers(window)
    starts = parent.fewest_starts(window)
    assert len(starts) == parent.fewest_count(window) <= parent.multiplier(window)
    filled = {t for start in starts for t in range(start, start + parent.size)}
    assert filled == set(range(window.size))
    assert all(start % parent.slide == 0 for start in starts)
    # The farthest that any interval reaches from a filled prefix is one step more.
    step = parent.size // parent.slide * parent.slide
    assert parent.size + (len(starts) - 2) * step < window.size or len(starts) == 1


def test_overlap_is_used_only_where_it_is_harmless():
    windows = [
        Window(size=8 * SECOND, slide=2 * SECOND),
        Window(size=10 * SECOND, slide=2 * SECOND),
    ]
    for aggregate, parent in ((ag.min_("x"), windows[0]), (ag.sum_("x"), None)):
        plan = optimize(my.workload(windows, aggregate), "coverage")
        assert plan.trees[0].node(windows[1]).parent == parent


def test_a_parent_carries_what_its_readers_need():
    short, long = tumbling(10 * SECOND), tumbling(20 * SECOND)
    queries = my.query("a", short, ag.min_("x")), my.query("b", long, ag.sum_("y"))
    tree = optimize(Workload(queries=queries), "coverage").trees[0]
    assert tree.node(long).parent == short
    assert set(tree.node(short).aggregates) == {ag.min_("x"), ag.sum_("y")}


def test_sizes_that_are_not_multiples_of_slides():
    # 10 by 4 and 14 by 4 both end two after a begin: 6 by 4 serves them where overlap is harmless.
    windows = [Window(size=10, slide=4), Window(size=14, slide=4)]
    assert common_period(windows) is None
    model = WindowReads(eta=100, period=None)
    for harmless in (always, never):
        forest = factor.with_factor_windows(windows, model, harmless, root=UNIT)
        assert model.total(forest, harmless) < model.total(dict.fromkeys(windows), harmless)
    assert forest[windows[0]] == tumbling(2)


@given(my.workloads())
def test_plans_are_valid_and_factor_windows_only_help(workload):
    for strategy in ("coverage", "factor"):
        assert optimize(workload, strategy).strategy == strategy
    for queries in workload.queries_by_grouping.values():
        nodes = coverage.nodes_of(queries)
        windows = [node.window for node in nodes]
        harmless = coverage.harmless_nodes(nodes)
        model = window_reads(windows, workload)
        plain = model.total(min_cost_forest(windows, model, harmless), harmless)
        forest = factor.with_factor_windows(windows, model, harmless)
        assert model.total(forest, harmless) <= plain * (1 + 1e-9)
        assert set(windows) <= set(forest)


@pytest.mark.parametrize("generate", [random_gen, sequential_gen])
@pytest.mark.parametrize("hopping", [True, False])
def test_generated_sets_become_cheaper(generate, hopping):
    random = Random(7)
    for _ in range(10):
        windows = generate(random, count=5, tumbling=not hopping)
        assert len(set(windows)) == 5
        model = WindowReads(eta=1e-6, period=common_period(windows))
        forest = factor.with_factor_windows(windows, model, never)
        assert model.total(forest, never) <= model.total(dict.fromkeys(windows), never)


def test_divisors():
    assert factor.divisors(1) == (1,)
    assert factor.divisors(36) == (1, 2, 3, 4, 6, 9, 12, 18, 36)
