"""Partials of other types: their codes combine to what their values combine to."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.model.aggregates.monoids import ADD_LIMBS, MAX, MIN
from muntin.runtime.columns.fold_ranges import Folding
from muntin.runtime.columns.join_partials import joined
from muntin.runtime.columns.typed_partials import read_typed, write_typed
from tests.support.examples import examples

DECIMALS = st.decimals(min_value=-(10**27) + 1, max_value=10**27 - 1, places=0)
KINDS = {
    pa.string(): st.text(),
    pa.binary(): st.binary(max_size=3),
    pa.decimal128(27, 0): DECIMALS,
    pa.decimal128(18, 0): st.decimals(min_value=-(10**18) + 1, max_value=10**18 - 1, places=0),
    pa.date32(): st.dates(),
    pa.timestamp("us", "UTC"): st.datetimes(timezones=st.just(UTC)),
    pa.timestamp("us"): st.datetimes(),
    pa.duration("us"): st.timedeltas(timedelta(days=-(10**7)), timedelta(days=10**7)),
}


def folded(column, monoid, technique="recalc"):
    """The partial of all rows."""
    ends = np.array([0]), np.array([len(column.scalars[0])])
    return write_typed(Folding(column, monoid).over(*ends, technique)).to_pylist()[0]


def in_order(value):
    """What Spark compares values by."""
    return value.encode() if isinstance(value, str) else value


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize(("monoid", "extreme"), [(MIN, min), (MAX, max)], ids=["min", "max"])
def test_extremes(kind, monoid, extreme):
    some = st.lists(st.one_of(st.none(), KINDS[kind]), min_size=1, max_size=6)

    @settings(max_examples=examples(16))
    @given(some, some)
    def check(first, second):
        codes = [read_typed(pa.array(rows, kind), monoid) for rows in (first, second)]
        assert [row for each in codes for row in write_typed(each).to_pylist()] == first + second
        there = [value for value in first + second if value is not None]
        expected = extreme(there, key=in_order) if there else None
        assert folded(joined(*codes), monoid) == expected

    check()


@given(st.lists(st.one_of(st.none(), DECIMALS), min_size=1, max_size=8), st.integers(0, 8))
def test_sums_of_decimals_are_exact(rows, cut):
    column = pa.array(rows, pa.decimal128(27, 0))
    parts = [column.slice(0, cut), column.slice(cut)] if 0 < cut < len(rows) else [column]
    codes = [read_typed(part, ADD_LIMBS) for part in parts]
    whole = joined(*codes) if len(codes) == 2 else codes[0]
    there = [value for value in rows if value is not None]
    for technique in ("recalc", "subtract", "two_stacks"):
        assert folded(whole, ADD_LIMBS, technique) == (sum(there) if there else None)


def test_a_sum_has_the_scale_of_its_values():
    codes = read_typed(
        pa.array([Decimal("-0.05"), Decimal("0.03")], pa.decimal128(5, 2)), ADD_LIMBS
    )
    assert folded(codes, ADD_LIMBS) == Decimal("-0.02")


def test_columns_that_were_not_kept_hold_no_values():
    for monoid in (MIN, ADD_LIMBS):
        nothing = read_typed(pa.nulls(2), monoid)
        assert write_typed(nothing).to_pylist() == [None, None]
        some = read_typed(pa.array([Decimal(3)], pa.decimal128(5, 0)), monoid)
        assert folded(joined(nothing, some), monoid) == 3
        assert folded(joined(some, nothing), monoid) == 3


def test_the_zone_of_a_session_is_not_kept():
    at = datetime(2024, 1, 1, tzinfo=UTC)
    zones = [pa.array([at], pa.timestamp("us", zone)) for zone in ("UTC", "Europe/Berlin")]
    kinds = {write_typed(read_typed(column, MAX)).type for column in zones}
    assert kinds == {pa.timestamp("us", "UTC")}
    day = pa.array([date(1, 1, 1)], pa.date32())
    assert write_typed(read_typed(day, MAX)).to_pylist() == [date(1, 1, 1)]
    assert write_typed(read_typed(pa.array([timedelta(-1)]), MIN)).to_pylist() == [timedelta(-1)]


pairs = st.lists(
    st.none()
    | st.fixed_dictionaries({"y": st.integers(0, 2), "x": st.none() | st.integers(0, 99)}),
    min_size=1,
    max_size=20,
)


@given(pairs, st.integers(1, 6), st.sampled_from(["recalc", "two_stacks_lite", "slick_deque"]))
@settings(deadline=None)
def test_a_value_is_chosen_among_those_of_its_window(rows, size, technique):
    kind = pa.struct([("y", pa.int64()), ("x", pa.int64())])
    column = read_typed(pa.array(rows, kind), MAX)
    lows = np.arange(len(rows))
    highs = np.minimum(lows + size, len(rows))
    found = write_typed(Folding(column, MAX).over(lows, highs, technique)).to_pylist()
    for low, high, row in zip(lows, highs, found, strict=True):
        there = [one for one in rows[low:high] if one is not None]
        most = max((one["y"] for one in there), default=None)
        assert row in [one for one in there if one["y"] == most] or (row is None and not there)
    half = len(rows) // 2
    turned = joined(column.rows(half), column.where(np.arange(half)))
    assert write_typed(turned).to_pylist() == rows[half:] + rows[:half]
