"""Every technique against recalculation, over ranges that grow, shrink, leap and stand still."""

import functools

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from muntin.aggregates import monoids as mo
from muntin.techniques.kernels import drivers
from muntin.techniques.kernels.compile import bind_python
from muntin.techniques.table import TECHNIQUES, Fold, fold, technique_for
from tests.support.examples import examples
from tests.support.monoids import COMPILED, LAST, PLAIN

# A compilation takes seconds. The kernels that are chosen by default are compiled for every
# monoid, the others for two that differ in all that the compiler sees; Python tries them all.
DEFAULTS = ("recalc", "subtract", "two_stacks_lite", "slick_deque")
TELLING = ("max", "moments")


@st.composite
def advancing(draw, longest):
    """(lows, highs) of non-empty ranges within `longest`, neither end ever moving back."""
    low = high = 0
    lows, highs = [], []
    # 0        low       high
    #          [---------)         the range before
    #             [------)         shrunk
    #             [-----------)    grown
    #                         [-)  a gap in between
    for _ in range(draw(st.integers(0, 25))):
        low = draw(st.integers(low, min(longest - 1, max(low, high) + 3)))
        high = draw(st.integers(max(high, low + 1), min(longest, max(high, low + 1) + 9)))
        lows.append(low)
        highs.append(high)
    return np.array(lows, np.int64), np.array(highs, np.int64)


@st.composite
def columns(draw, case, least=1):
    return draw(st.lists(case.partials, min_size=least, max_size=40))


def recalculated(case, partials, lows, highs):
    """The naive answer, from plain Python and nothing of ours."""
    return [
        functools.reduce(case.monoid.combine, partials[low:high])
        for low, high in zip(lows, highs, strict=True)
    ]


def python_fold(technique, monoid):
    algorithm = technique.algorithm_for(monoid)
    own = getattr(algorithm, "fold", None)
    if own is not None:
        return bind_python(own, monoid.combine, monoid.inverse)
    return bind_python(drivers.fold, monoid.combine, monoid.inverse, algorithm=algorithm)


def compiled_for(case):
    """The techniques whose kernels are compiled for a monoid."""
    telling = case.monoid.name in TELLING
    return [it for it in allowed(case) if telling or it.name in DEFAULTS]


def allowed(case):
    return [it for it in TECHNIQUES.values() if it.allows(case.monoid)]


# Drawing takes far longer than answering: all techniques answer for what is drawn once.
@pytest.mark.parametrize("case", COMPILED, ids=str)
@settings(max_examples=examples(38), deadline=None)
@given(data=st.data())
def test_a_compiled_technique_equals_recalculation(case, data):
    partials = data.draw(columns(case))
    lows, highs = data.draw(advancing(len(partials)))
    with np.errstate(all="ignore"):
        expected = case.column(recalculated(case, _own(case, partials), lows, highs))
    for technique in compiled_for(case):
        note(technique.name)
        found = fold(case.monoid, case.column(partials), lows, highs, technique=technique.name)
        case.assert_same(found, expected)


@pytest.mark.parametrize("case", PLAIN + COMPILED, ids=str)
@settings(max_examples=examples(38), deadline=None)
@given(data=st.data())
def test_the_same_source_runs_as_plain_python(case, data):
    partials = data.draw(columns(case))
    lows, highs = data.draw(advancing(len(partials)))
    expected = recalculated(case, partials, lows, highs)
    for technique in allowed(case):
        note(technique.name)
        answers = [None] * len(lows)
        python_fold(technique, case.monoid)(partials, lows, highs, answers)
        if case.exact:
            assert list(map(repr, answers)) == list(map(repr, expected))
        else:
            case.assert_same(case.column(answers), case.column(expected))


@pytest.mark.parametrize(
    "technique", [it for it in TECHNIQUES.values() if it.allows(mo.MOMENTS)], ids=lambda it: it.name
)
def test_python_and_machine_code_round_alike(technique):
    means = np.random.default_rng(5).normal(size=300) * 10.0 ** np.linspace(-5, 5, 300)
    partials = (np.ones(300), means, np.abs(means))
    highs = np.arange(1, 301)
    lows = np.maximum(highs - 37, 0)
    answers = [None] * 300
    kernel = python_fold(technique, mo.MOMENTS)
    kernel(list(zip(*map(np.ndarray.tolist, partials), strict=True)), lows, highs, answers)
    found = fold(mo.MOMENTS, partials, lows, highs, technique=technique.name)
    np.testing.assert_array_equal(np.transpose(found), answers)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 100, 127, 128, 129])
@pytest.mark.parametrize("technique", TECHNIQUES)
def test_sizes_that_are_powers_of_two_and_those_that_are_not(technique, size):
    monoid = mo.MAX if TECHNIQUES[technique].allows(mo.MAX) else mo.ADD
    values = np.random.default_rng(size).integers(0, 50, 700).astype(float)
    highs = np.arange(1, 701)
    lows = np.maximum(highs - size, 0)
    expected = fold(monoid, values, lows, highs, technique="recalc")
    found = fold(monoid, values, lows, highs, technique=technique)
    np.testing.assert_array_equal(found, expected)


@settings(max_examples=examples(38), deadline=None)
@given(data=st.data())
def test_many_windows_from_one_deque(data):
    case = next(it for it in COMPILED if it.monoid is mo.MAX)
    partials = data.draw(columns(case))
    values = case.column(partials)
    ranges = data.draw(st.lists(advancing(len(partials)), max_size=4))
    technique = data.draw(st.sampled_from(("slick_deque", "two_stacks_lite", "recalc")))
    shared = Fold(mo.MAX, values)
    for lows, highs in ranges:
        answers = shared(lows, highs, technique)
        np.testing.assert_array_equal(answers, recalculated(case, partials, lows, highs))


def test_one_deque_where_it_is_named():
    for technique, deque in (("two_stacks_lite", False), ("slick_deque", True)):
        shared = Fold(mo.MAX, np.arange(100.0) % 7)
        assert shared(np.array([3]), np.array([12]), technique).tolist() == [6.0]
        # What was built once is there to be used again.
        assert ("_losses" in vars(shared)) == deque


def test_the_invertible_form_needs_no_deque():
    shared = Fold(mo.ADD, np.arange(10))
    assert shared(np.array([0, 3]), np.array([4, 9]), "slick_deque").tolist() == [6, 33]
    assert "_losses" not in vars(shared)


def test_the_newest_of_equals_is_kept_where_the_monoid_says_so():
    kernel = python_fold(technique_for(LAST, "slick_deque"), LAST)
    answers = [None] * 3
    kernel([3, 1, 2], [0, 0, 1], [1, 2, 3], answers)
    assert answers == [3, 1, 2]


def _own(case, partials):
    """Partials as scalars of their dtypes, so that the naive answer wraps as machine code does."""
    if len(case.dtypes) == 1:
        return [case.dtypes[0](it) for it in partials]
    return [
        tuple(kind(it) for kind, it in zip(case.dtypes, partial, strict=True))
        for partial in partials
    ]
