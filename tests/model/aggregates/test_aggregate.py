"""Laws of every monoid: associativity, and an inverse or a selection where one is claimed."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.errors import ModelError
from muntin.model.aggregates import aggregate as ag

integers = st.integers(-(2**40), 2**40)
floats = st.one_of(
    st.sampled_from([math.nan, math.inf, -math.inf, 0.0]), st.floats(-1e6, 1e6, width=32)
)
PARTIALS = {
    "add": integers,
    "add_float": st.integers(-1000, 1000).map(float),
    "min": floats,
    "max": floats,
    "moments": st.tuples(
        st.integers(0, 5).map(float), st.integers(-20, 20).map(float), st.integers(0, 9).map(float)
    ),
}
MONOIDS = [ag.ADD, ag.ADD_FLOAT, ag.MIN, ag.MAX, ag.MOMENTS]


def close(a, b) -> bool:
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
            total = ag.add_wide(total, (wrapped(value), np.int64(0)))
        exact = sum(values)
        assert int(total[0]) + (int(total[1]) << 64) == exact
        rest = ag.subtract_wide(total, (wrapped(values[0]), np.int64(0)))
        assert int(rest[0]) + (int(rest[1]) << 64) == exact - values[0]


def test_nan_is_above_everything():
    assert ag.smaller(math.nan, 1.0) == ag.smaller(1.0, math.nan) == 1.0
    assert math.isnan(ag.larger(math.nan, math.inf))
    assert math.isnan(ag.larger(math.inf, math.nan))


def test_moments_merge_to_those_of_all():
    left, right = np.array([1.0, 4.0, 4.5]), np.array([-2.0, 7.0])

    def moments(values):
        return (float(len(values)), values.mean(), ((values - values.mean()) ** 2).sum())

    merged = ag.merge_moments(moments(left), moments(right))
    assert merged == pytest.approx(moments(np.concatenate([left, right])))


def test_an_aggregate_is_built_of_components():
    mean = ag.avg("temp")
    assert [component.kind for component in mean.components] == ["float_sum", "count"]
    assert str(mean) == "avg(temp)"
    assert ag.count().to_sql() == "count(*)"
    only = ag.Aggregate(function="sum", argument="x", where="x > 1")
    assert only.to_sql() == "sum(x) FILTER (WHERE x > 1)"
    assert ag.stddev("x", population=True).function == "stddev_pop"


def test_what_cannot_be_an_aggregate_is_refused():
    with pytest.raises(ModelError, match="did you mean 'max'"):
        ag.Aggregate(function="maxx", argument="x")
    with pytest.raises(ModelError, match="needs an argument"):
        ag.Aggregate(function="sum")


def test_every_spelling_leads_to_a_function():
    assert ag.SPELLINGS["stddev"] == "stddev_samp"
    assert ag.SPELLINGS["some"] == "bool_or"
    assert set(ag.SPELLINGS.values()) == set(ag.FUNCTIONS)
