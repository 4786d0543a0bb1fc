import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.errors import PlanError
from muntin.model.time import SECOND
from muntin.model.windows import Edges, Window
from muntin.optimizer import edges
from muntin.optimizer.edges import SLICINGS, partials_per_window
from tests.support import window_sets as my

# Weave Share, example 2: seconds.
A = Window(size=12, slide=9)
B = Window(size=10, slide=6)


def naive(given):
    period = edges.composite_slide(given)
    return {t for one in given for t in range(one.phase, period, one.period)}


def test_weave_share_example_2():
    # 0  3 4 6  9 10 12   16 18
    both = edges.edges_of([A, B])
    assert edges.composite_slide(both) == 18
    assert sorted(t or 18 for t in naive(both)) == [3, 4, 6, 9, 10, 12, 16, 18]
    rates = [edges.edge_rate(edges.edges_of(ws)) / SECOND for ws in ([A], [B], [A, B])]
    assert [int(rate * 100) / 100 for rate in rates] == [0.22, 0.33, 0.44]


def test_weave_share_example_4():
    x, y = Window(size=7, slide=5), Window(size=3, slide=3)
    both = edges.edges_of([x, y])
    assert edges.composite_slide(both) == 15
    assert edges.count_by_bit_set(both) == edges.count_by_formula(both) == 9


@given(st.lists(my.edges(), min_size=1, max_size=5))
def test_formula_and_bit_set_count_what_is_there(given):
    expected = len(naive(given))
    kept = edges.distinct(given)
    repeats = edges.composite_slide(given) // edges.composite_slide(kept)
    assert edges.count_by_bit_set(given) * repeats == expected
    assert edges.count_by_formula(given) * repeats == expected
    rate = SECOND * expected / edges.composite_slide(given)
    assert edges.edge_rate(given) == pytest.approx(rate)


@given(my.edges(), my.edges())
def test_meet_is_the_intersection(one, other):
    period = edges.composite_slide([one, other])
    shared = edges.meet(one, other)
    expected = naive([one]) and {
        t for t in range(period) if t % one.period == one.phase and t % other.period == other.phase
    }
    found = set() if shared is None else set(range(shared.phase, period, shared.period))
    assert found == expected


@given(st.lists(my.edges(), min_size=1, max_size=6))
def test_distinct_keeps_every_edge_and_nothing_twice(given):
    kept = edges.distinct(given)
    assert all(any(k.includes(g) for k in kept) for g in given)
    assert not any(k.includes(o) for k in kept for o in kept if k != o)


def test_edges_that_never_meet_count_for_themselves():
    apart = [Edges(period=4, phase=0), Edges(period=6, phase=1)]
    assert edges.meet(*apart) is None
    assert edges.count_by_formula(apart) == edges.count_by_bit_set(apart) == 3 + 2


def test_counting_out_of_reach_is_estimated_between_its_bounds():
    primes = [10007, 10009, 10037, 10039, 10061, 10067, 10069, 10079, 10091, 10093, 10099, 10103]
    many = [Edges(period=prime) for prime in primes]
    assert edges.count_by_formula(many, most_terms=64) is None
    rate = edges.edge_rate(many) / SECOND
    assert max(1 / p for p in primes) < rate < sum(1 / p for p in primes)


@given(st.lists(my.edges(most=400), min_size=1, max_size=4))
def test_the_estimate_is_exact_for_two_and_within_the_same_bounds_for_more(given):
    apart = edges.distinct(given)
    exact = edges.count_by_formula(given) / edges.composite_slide(apart)
    estimate = edges.estimated_rate(given)
    if len(apart) <= 2:
        assert estimate == pytest.approx(exact)
    # Of all edges, no fewer are distinct than those of one progression, and no more than all.
    rates = [1 / each.period for each in apart]
    for rate in (exact, estimate):
        assert max(rates) * (1 - 1e-9) <= rate <= sum(rates) * (1 + 1e-9)


@given(st.lists(my.windows(), min_size=1, max_size=4))
def test_slicings_cut_where_they_should(windows):
    assert all(edges.panes(windows).cuts(w) for w in windows)
    assert all(edges.pairs(windows).cuts(w) for w in windows)
    assert all(edges.slicing(windows, my.workload(windows)).cuts(w) for w in windows)
    begins = edges.begins(windows).edges
    for window in windows:
        begin = Edges(period=window.slide, phase=window.offset)
        assert any(one.includes(begin) for one in begins)
    rates = [SLICINGS[name](windows).rate for name in ("cutty", "pairs", "panes")]
    assert rates[0] <= rates[1] * (1 + 1e-9)
    assert rates[1] <= rates[2] * (1 + 1e-9)


@given(my.windows())
def test_partials_per_window_by_table_1(window):
    for name in ("panes", "pairs"):
        cuts = SLICINGS[name]([window]).edges
        inside = {
            t
            for t in range(window.offset, window.offset + window.size)
            if any((t - one.phase) % one.period == 0 for one in cuts)
        }
        assert partials_per_window(name, window) == len(inside)
    begun = range(window.offset, window.offset + window.size, window.slide)
    assert partials_per_window("cutty", window) == len(begun)


def test_unknown_slicing_is_refused():
    with pytest.raises(PlanError, match="did you mean 'pairs'"):
        partials_per_window("pair", A)
