from math import factorial, floor, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.errors import PlanError
from muntin.model.time import SECOND
from muntin.model.windows import Edges, Slicing, Window
from muntin.optimizer.operations import (
    ADDITIVE,
    OPERATIONS,
    load_of,
    operations_of,
    steady_operations,
)
from muntin.optimizer.operations import operations_per_slice as omega
from muntin.techniques.table import TECHNIQUES
from tests.support import window_sets as my

# Slices of one second: sizes in seconds are numbers of partials.
SLICES = Slicing(edges=(Edges(period=SECOND),), rate=1.0)


def window(size, slide):
    return Window(size=size * SECOND, slide=slide * SECOND)


WINDOWS = [window(8, 2), window(20, 5), window(20, 4), window(100, 1)]


def test_equation_3_panes_is_the_sum_of_overlaps():
    assert omega("panes", WINDOWS, SLICES) == omega("recalc", WINDOWS, SLICES) == 4 + 4 + 5 + 100


def test_equation_4_flat_fat():
    expected = sum(floor(log2(p - 1)) + (p - 1) / 2 ** floor(log2(p)) for p in (8, 20, 20, 100))
    assert omega("flat_fat", WINDOWS, SLICES) == pytest.approx(expected)
    assert omega("b_int", WINDOWS, SLICES) == omega("flat_fat", WINDOWS, SLICES)
    assert omega("flat_fat", [window(1, 1)], SLICES) == 0


def test_equation_5_flat_fit_and_the_rest_of_table_2():
    assert omega("flat_fit", WINDOWS, SLICES) == 12
    assert omega("two_stacks", WINDOWS, SLICES) == 12
    assert omega("daba", WINDOWS, SLICES) == 20


def test_equation_6_running_aggregates_are_shared_by_equal_numbers_of_partials():
    assert omega("subtract", WINDOWS, SLICES) == 2 * 3


def test_equation_7_slick_deque():
    walk = sum(1 / factorial(i) for i in range(1, 101))
    assert omega("slick_deque", WINDOWS, SLICES) == pytest.approx(2 - 2 / 100 + 4 + walk)
    assert omega("slick_deque", [window(2, 1)], SLICES) == pytest.approx(2 - 1 + 1 + 1.5)


def test_equal_windows_count_once():
    for technique in OPERATIONS:
        assert omega(technique, WINDOWS * 2, SLICES) == omega(technique, WINDOWS, SLICES)


@given(
    st.lists(my.windows(unit=SECOND), min_size=2, max_size=6, unique=True), st.floats(0.01, 10.0)
)
def test_sharing_a_tree_never_adds_operations(windows, rate):
    one, rest = load_of(windows[:1]), load_of(windows[1:])
    for technique in OPERATIONS:
        count = operations_of(technique)
        together = count(one + rest, rate)
        assert together <= count(one, rate) + count(rest, rate) + 1e-9
        if technique in ADDITIVE:
            assert together == pytest.approx(count(one, rate) + count(rest, rate))


def test_the_lite_forms_of_table_2():
    assert omega("two_stacks_lite", WINDOWS, SLICES) == 12
    assert omega("daba_lite", WINDOWS, SLICES) == 16
    assert set(OPERATIONS) == set(TECHNIQUES)


def test_a_queue_takes_as_many_combines_however_long_the_window():
    assert [steady_operations(name) for name in ("count", "sum", "avg", "max")] == [2, 3, 3, 3]


def test_unknown_technique_is_refused():
    with pytest.raises(PlanError, match="did you mean 'two_stacks'"):
        omega("twostacks", WINDOWS, SLICES)
