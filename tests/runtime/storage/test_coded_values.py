"""Partials of other types: their codes combine to what their values combine to."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.aggregates.aggregate import Component
from muntin.runtime.storage.table import component_storage
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


def storage(kind, value_type="string"):
    """The storage of a part of x, or of x and y, in a column c."""
    others = ("y",) if kind == "max_by" else ()
    component = Component(kind=kind, argument="x", others=others)
    return component_storage(component, value_type=value_type, name="c", ansi=False)


SUMS, MIN, MAX = storage("sum", "decimal(27,0)"), storage("min"), storage("max")


def read(column, storage):
    return storage.read(pa.RecordBatch.from_arrays([column], ["c"]))


def write(column, storage=MIN):
    return storage.write(column)["c"]


def folded(column, storage, technique="recalc"):
    """The partial of all rows."""
    folding = storage.folding(column, np.zeros(len(column), np.int64))
    partial = folding.over(np.array([0]), np.array([len(column)]), technique)
    return write(partial, storage).to_pylist()[0]


def in_order(value):
    """What Spark compares values by."""
    return value.encode() if isinstance(value, str) else value


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize(("storage", "extreme"), [(MIN, min), (MAX, max)], ids=["min", "max"])
def test_extremes(kind, storage, extreme):
    some = st.lists(st.one_of(st.none(), KINDS[kind]), min_size=1, max_size=6)

    @settings(max_examples=examples(16))
    @given(some, some)
    def check(first, second):
        codes = [read(pa.array(rows, kind), storage) for rows in (first, second)]
        assert [row for each in codes for row in write(each, storage).to_pylist()] == first + second
        there = [value for value in first + second if value is not None]
        expected = extreme(there, key=in_order) if there else None
        assert folded(codes[0].concatenate(codes[1]), storage) == expected

    check()


@given(st.lists(st.one_of(st.none(), DECIMALS), min_size=1, max_size=8), st.integers(0, 8))
def test_sums_of_decimals_are_exact(rows, cut):
    column = pa.array(rows, pa.decimal128(27, 0))
    parts = [column.slice(0, cut), column.slice(cut)] if 0 < cut < len(rows) else [column]
    codes = [read(part, SUMS) for part in parts]
    whole = codes[0].concatenate(codes[1]) if len(codes) == 2 else codes[0]
    there = [value for value in rows if value is not None]
    for technique in ("recalc", "subtract", "two_stacks"):
        assert folded(whole, SUMS, technique) == (sum(there) if there else None)


def test_a_sum_has_the_scale_of_its_values():
    codes = read(pa.array([Decimal("-0.05"), Decimal("0.03")], pa.decimal128(5, 2)), SUMS)
    assert folded(codes, SUMS) == Decimal("-0.02")


def test_columns_that_were_not_kept_hold_no_values():
    for storage in (MIN, SUMS):
        nothing = read(pa.nulls(2), storage)
        assert write(nothing, storage).to_pylist() == [None, None]
        some = read(pa.array([Decimal(3)], pa.decimal128(5, 0)), storage)
        assert folded(nothing.concatenate(some), storage) == 3
        assert folded(some.concatenate(nothing), storage) == 3


def test_the_zone_of_a_session_is_not_kept():
    at = datetime(2024, 1, 1, tzinfo=UTC)
    zones = [pa.array([at], pa.timestamp("us", zone)) for zone in ("UTC", "Europe/Berlin")]
    kinds = {write(read(column, MAX)).type for column in zones}
    assert kinds == {pa.timestamp("us", "UTC")}
    day = pa.array([date(1, 1, 1)], pa.date32())
    assert write(read(day, MAX)).to_pylist() == [date(1, 1, 1)]
    assert write(read(pa.array([timedelta(-1)]), MIN)).to_pylist() == [timedelta(-1)]


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
    chosen = storage("max_by", "bigint")
    column = read(pa.array(rows, kind), chosen)
    lows = np.arange(len(rows))
    highs = np.minimum(lows + size, len(rows))
    windows = chosen.folding(column, lows).over(lows, highs, technique)
    found = write(windows, chosen).to_pylist()
    # A window without values has no code.
    assert write(windows.concatenate(column), chosen).to_pylist() == found + rows
    for low, high, row in zip(lows, highs, found, strict=True):
        there = [one for one in rows[low:high] if one is not None]
        most = max((one["y"] for one in there), default=None)
        assert row in [one for one in there if one["y"] == most] or (row is None and not there)
    half = len(rows) // 2
    turned = column.rows(half).concatenate(column.where(np.arange(half)))
    assert write(turned, chosen).to_pylist() == rows[half:] + rows[:half]
