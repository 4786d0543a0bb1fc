"""Laws of every monoid: associativity, and an inverse or a selection where one is claimed."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from muntin.aggregates import monoids as mo

integers = st.integers(-(2**40), 2**40)
floats = st.one_of(
    st.sampled_from([math.nan, math.inf, -math.inf, 0.0]), st.floats(-1e6, 1e6, width=32)
)
counts = st.integers(0, 5).map(float)
means = st.integers(-20, 20).map(float)
sums = st.integers(0, 9).map(float)
PARTIALS = {
    "add": integers,
    "add_limbs": st.tuples(st.integers(0, 2**48 - 1), st.integers(0, 2**48 - 1), integers),
    "add_float": st.integers(-1000, 1000).map(float),
    "min": floats,
    "max": floats,
    "bit_and": integers,
    "bit_or": integers,
    "bit_xor": integers,
    "moments": st.tuples(counts, means, sums),
    "four_moments": st.tuples(counts, means, sums, means, sums),
    "tally": st.dictionaries(st.integers(0, 5), st.integers(1, 3)).map(Counter),
    "registers": st.binary(min_size=4, max_size=4),
    "pair_moments": st.tuples(counts, means, means, sums, sums, means),
    "set": st.frozensets(st.integers(0, 9)),
    "bag": st.lists(st.integers(0, 9)).map(Counter),
}
MONOIDS = [one for one in vars(mo).values() if isinstance(one, mo.Monoid) and one != mo.ADD_WIDE]


def close(a, b) -> bool:
    if isinstance(a, Counter | frozenset):
        return a == b
    if isinstance(a, tuple):
        return all(close(x, y) for x, y in zip(a, b, strict=True))
    return (a != a and b != b) or a == b or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.parametrize("monoid", MONOIDS, ids=lambda monoid: monoid.name)
@given(data=st.data())
def test_laws(monoid, data):
    a, b, c = (data.draw(PARTIALS[monoid.name]) for _ in range(3))
    combine = monoid.combine
    assert close(combine(combine(a, b), c), combine(a, combine(b, c)))
    if monoid.inverse is not None:
        assert monoid.inverse(combine(a, b), a) == b
    if monoid.selective:
        assert any(close(combine(a, b), one) for one in (a, b))
    if monoid.idempotent:
        assert close(combine(a, a), a)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=8))
def test_wide_sums_know_whether_they_overflowed(values):
    def wrapped(value):
        with np.errstate(over="ignore"):
            return np.int64(value)

    with np.errstate(over="ignore"):
        total = (wrapped(values[0]), np.int64(0))
        for value in values[1:]:
            total = mo.add_wide(total, (wrapped(value), np.int64(0)))
        exact = sum(values)
        assert int(total[0]) + (int(total[1]) << 64) == exact
        rest = mo.subtract_wide(total, (wrapped(values[0]), np.int64(0)))
        assert int(rest[0]) + (int(rest[1]) << 64) == exact - values[0]


def test_nan_is_above_everything():
    assert mo.smaller(math.nan, 1.0) == mo.smaller(1.0, math.nan) == 1.0
    assert math.isnan(mo.larger(math.nan, math.inf))
    assert math.isnan(mo.larger(math.inf, math.nan))


LEFT, RIGHT = np.array([1.0, 4.0, 4.5]), np.array([-2.0, 7.0])


@pytest.mark.parametrize(
    ("monoid", "powers"), [(mo.MOMENTS, (2,)), (mo.FOUR_MOMENTS, (2, 3, 4))], ids=["two", "four"]
)
def test_moments_merge_to_those_of_all(monoid, powers):
    def moments(values):
        away = values - values.mean()
        return (float(len(values)), values.mean(), *((away**power).sum() for power in powers))

    merged = monoid.combine(moments(LEFT), moments(RIGHT))
    assert merged == pytest.approx(moments(np.concatenate([LEFT, RIGHT])))


def test_moments_of_pairs_merge_to_those_of_all():
    def moments(x, y):
        dx, dy = x - x.mean(), y - y.mean()
        squares = (dx @ dx, dy @ dy, dx @ dy)
        return (float(len(x)), x.mean(), y.mean(), *squares)

    merged = mo.PAIR_MOMENTS.combine(moments(LEFT, LEFT**2), moments(RIGHT, RIGHT**2))
    x = np.concatenate([LEFT, RIGHT])
    assert merged == pytest.approx(moments(x, x**2))


@pytest.mark.parametrize("monoid", MONOIDS, ids=lambda monoid: monoid.name)
@given(data=st.data())
def test_the_identity_changes_nothing(monoid, data):
    partial = data.draw(PARTIALS[monoid.name])
    if monoid.sweep is not None:
        nothing = type(partial)()
        assert monoid.combine(nothing, partial) == monoid.combine(partial, nothing) == partial
        return
    number = partial[0] if isinstance(partial, tuple) else partial
    # Of no values there is one partial alone.
    assume(not isinstance(partial, tuple) or number > 0)
    identity = monoid.identity[isinstance(number, float)]
    nothing = (identity,) * monoid.width if monoid.width > 1 else identity
    if monoid == mo.REGISTERS:
        nothing = bytes(len(partial))
    assert close(monoid.combine(nothing, partial), partial)
    assert close(monoid.combine(partial, nothing), partial)
