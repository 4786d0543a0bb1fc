"""Operations counted one by one, against the papers' figures."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from muntin.aggregates import monoids as mo
from muntin.model.time import SECOND
from muntin.model.windows import Edges, Slicing, Window
from muntin.optimizer.operations import operations_per_slice
from muntin.techniques.table import TECHNIQUES
from tests.support.counted_operations import operations_of_fold, operations_of_slides
from tests.support.examples import examples

SLIDES = 2048


def counted(technique, sizes, *, monoid=None, compiled=False, slides=SLIDES):
    """Operations per slide in the steady state, on random data."""
    monoid = monoid or (mo.ADD if technique == "subtract" else mo.MAX)
    warm = 2 * max(sizes)
    values = np.random.default_rng(1).random(warm + slides)
    return (
        operations_of_slides(
            monoid,
            values if compiled else values.tolist(),
            sizes,
            technique=technique,
            warm=warm,
            compiled=compiled,
        ).total
        / slides
    )


def formula(technique, sizes):
    """Equations 3 to 7 for windows of so many slices of a second, sliding by one."""
    windows = [Window(size=size * SECOND, slide=SECOND) for size in sizes]
    slicing = Slicing(edges=(Edges(period=SECOND),), rate=1.0)
    return operations_per_slice(technique, windows, slicing)


# Table 2, amortised. The lite form of DABA saves the combine of the two middle parts.
@pytest.mark.parametrize(
    ("technique", "amortised"),
    [("subtract", 2), ("flat_fit", 3), ("two_stacks", 3), ("two_stacks_lite", 3), ("daba", 5),
     ("daba_lite", 4), ("slick_deque", 2)],
)  # fmt: skip
def test_one_window_takes_what_table_2_says(technique, amortised):
    assert counted(technique, [256]) == pytest.approx(amortised, rel=0.03)


@pytest.mark.parametrize(
    ("technique", "worst"), [("daba", 8), ("daba_lite", 6), ("subtract", 2), ("flat_fat", 3 * 6)]
)
def test_no_slide_takes_more_than_the_worst_case(technique, worst):
    monoid = mo.ADD if technique == "subtract" else mo.MAX
    values = np.random.default_rng(2).random(300).tolist()
    totals = [
        operations_of_slides(
            monoid, values[:end], [50], technique=technique, warm=end - 1, compiled=False
        ).total
        for end in range(100, 300)
    ]
    assert max(totals) <= worst


sizes_of_workload = st.lists(st.integers(2, 120), min_size=1, max_size=6, unique=True)


@settings(max_examples=examples(12), deadline=None)
@given(sizes=sizes_of_workload)
def test_equation_3_for_panes_is_exact(sizes):
    # The paper counts the partials that are read; n of them take n - 1 combines.
    assert counted("panes", sizes, slides=200) == formula("panes", sizes) - len(sizes)


def intervals(first, end):
    """How many dyadic intervals make [first, end), at least."""
    count = 0
    while first < end:
        width = 1
        while first % (2 * width) == 0 and first + 2 * width <= end:
            width *= 2
        first += width
        count += 1
    return count


def dyadic_combines(size, slides=256):
    """Combines of an answer from dyadic intervals, averaged over all alignments."""
    return sum(intervals(high - size, high) - 1 for high in range(size, size + slides)) / slides


@settings(max_examples=examples(12), deadline=None)
@example(sizes=[12, 76])
@given(sizes=sizes_of_workload)
def test_b_int_and_flat_fat_combine_dyadic_intervals(sizes):
    # The slides are a multiple of the longest interval, so that every alignment is as frequent.
    slides, depth = 256, int(np.ceil(np.log2(max(sizes))))
    answers = sum(map(dyadic_combines, sizes))
    # Two nodes of a level at most, up to the widest that fit into the window.
    most = sum(2 * int(np.log2(size)) + 1 for size in sizes)
    # Of 2^depth partials that B-Int inserts, each but one completes an interval of some level.
    inserts = 1 - 1 / 2**depth
    found = counted("b_int", sizes, slides=slides)
    assert inserts + answers <= found <= inserts + most
    # FlatFAT computes the path to the root anew.
    assert depth <= counted("flat_fat", sizes, slides=slides) <= depth + most


def test_equation_4_is_less_than_two_above_the_combines_of_an_answer():
    # Both are sums over windows, so that this holds for each of all windows of such a size.
    above = [formula("b_int", [size]) - dyadic_combines(size) for size in range(2, 121)]
    assert 0 <= min(above) <= max(above) < 2


@pytest.mark.parametrize("size", [1, 2, 3, 4, 17, 100])
def test_equation_5_is_exact_for_flat_fit_of_one_window_but_for_its_reset(size):
    # Every size + 1 slides are alike: one of them is the reset of the window.
    cycle = size + 1
    found = counted("flat_fit", [size], slides=4 * cycle)
    assert found * cycle == pytest.approx(formula("flat_fit", [size]) * (size - 1))


def test_flat_fit_of_all_sizes_takes_a_combine_each():
    # After each slide every partial reaches to the end, and then one partial is missing.
    assert counted("flat_fit", range(1, 41), slides=100) == 39


@settings(max_examples=examples(12), deadline=None)
@example(sizes=[71, 115])
@given(sizes=sizes_of_workload)
def test_flat_fit_of_many_sizes_takes_what_path_compression_does(sizes):
    # An answer follows pointers, and has all of them point to the end. In as many slides as the
    # longest window has partials, that is m = Q P compressions of paths among n = 2 P partials,
    # which change at most (m + n) log n pointers, to the base 1 + ceil(m / n) (Seidel and Sharir,
    # Top-Down Analysis of Path Compression, 2005). At least one has to change for each answer.
    count, longest = len(sizes), max(sizes)
    most = (count + 2) * np.log(2 * longest) / np.log(1 + np.ceil(count / 2))
    assert count <= counted("flat_fit", sizes, slides=8 * longest) <= most


@settings(max_examples=examples(12), deadline=None)
@given(sizes=sizes_of_workload)
def test_equation_6_for_slick_deque_with_an_inverse_is_exact(sizes):
    found = counted("slick_deque", sizes, monoid=mo.ADD, slides=200)
    assert found == formula("subtract", sizes)


@settings(max_examples=examples(12), deadline=None)
@given(sizes=sizes_of_workload)
def test_equation_7_for_slick_deque(sizes):
    # Of its terms only 2 - 2/P are combines; Q and the walk along the deque are comparisons of
    # positions, which remembered heads save. Both the heads that expire and those that lose are
    # one slide in P of random data, so their number has a deviation of sqrt(N / P) at most; and
    # the deque may be longer or shorter at the end than it was, by P.
    longest = max(sizes)
    found = counted("slick_deque", sizes)
    near = (4 * 2 * np.sqrt(SLIDES / longest) + longest) / SLIDES
    assert found == pytest.approx(2 - 2 / longest, abs=near)
    assert found <= 2 + longest / SLIDES


@pytest.mark.parametrize("technique", ["subtract", "two_stacks_lite", "flat_fit", "slick_deque"])
def test_machine_code_counts_as_python_does(technique):
    sizes = [5, 33] if TECHNIQUES[technique].has_many_sizes else [33]
    assert counted(technique, sizes, slides=300) == counted(
        technique, sizes, slides=300, compiled=True
    )


def test_a_fold_is_counted_too():
    highs = np.arange(1, 101)
    lows = np.maximum(highs - 10, 0)
    values = np.arange(100.0)
    found = operations_of_fold(mo.MAX, values, lows, highs, technique="recalc")
    # The first ten ranges begin together: each goes on from the one before.
    assert (found.combines, found.inverses) == (9 + 90 * 9, 0)
    found = operations_of_fold(mo.ADD, values, lows, highs, technique="subtract")
    assert (found.combines, found.inverses) == (99, 90)
