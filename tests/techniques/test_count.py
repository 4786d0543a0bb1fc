"""Operations counted one by one, against the papers' figures."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from muntin.model.aggregates import monoids as mo
from muntin.model.slicing import Edges, Slicing
from muntin.model.time import SECOND
from muntin.model.windows.window import Window
from muntin.optimizer.costs.operations import operations_per_slice
from muntin.techniques.compiled.count import operations_of_fold, operations_of_slides
from muntin.techniques.table import TECHNIQUES
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


@settings(max_examples=examples(12), deadline=None)
@example(sizes=[12, 76])
@given(sizes=sizes_of_workload)
def test_equation_4_for_b_int_and_flat_fat(sizes):
    # The equation gives the combines of an answer. B-Int adds one per slide, FlatFAT the path to
    # the root; averages over a period of the alignment are within 1 per window of the formula, and
    # 1 for all: it rounds logarithms down.
    per_answer = formula("b_int", sizes)
    depth = np.ceil(np.log2(max(sizes)))
    assert counted("b_int", sizes, slides=256) == pytest.approx(per_answer, abs=1 + len(sizes))
    found = counted("flat_fat", sizes, slides=256)
    # Past the ring's end the paths go on to the root, for the windows in which it lies.
    assert per_answer + depth - (1 + len(sizes)) <= found
    assert found <= per_answer + depth + len(sizes) * (2 + depth / 2)


@settings(max_examples=examples(12), deadline=None)
@given(sizes=sizes_of_workload)
def test_equation_5_for_flat_fit(sizes):
    # The paper saw 2Q to 4Q. Counted here: sizes that lie near each other leap along the same
    # pointers and take less, three far apart up to 4.3Q; a window of two holds only one combine.
    found = counted("flat_fit", sizes, slides=1000)
    assert found <= 4.5 * len(sizes)
    if min(sizes) >= 16:
        assert found == pytest.approx(formula("flat_fit", sizes), rel=1 / 2)


@settings(max_examples=examples(12), deadline=None)
@given(sizes=sizes_of_workload)
def test_equation_6_for_slick_deque_with_an_inverse_is_exact(sizes):
    found = counted("slick_deque", sizes, monoid=mo.ADD, slides=200)
    assert found == formula("subtract", sizes)


@settings(max_examples=examples(12), deadline=None)
@given(sizes=sizes_of_workload)
def test_equation_7_for_slick_deque(sizes):
    # Of its terms only 2 - 2/P are combines; Q and the walk along the deque are comparisons of
    # positions, which remembered heads save. Random data: within 5 %.
    longest = max(sizes)
    assert counted("slick_deque", sizes) == pytest.approx(2 - 2 / longest, rel=0.05)
    assert counted("slick_deque", sizes) <= formula("slick_deque", sizes)


@pytest.mark.parametrize("technique", ["subtract", "two_stacks_lite", "flat_fit", "slick_deque"])
def test_machine_code_counts_as_python_does(technique):
    sizes = [5, 33] if TECHNIQUES[technique].many else [33]
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
