"""Registers in compiled code against the same in plain Python."""

from bisect import bisect_left
from itertools import chain
from math import floor, inf, log

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.aggregates.aggregate import Component, function_call
from muntin.runtime.columns.arrow_arrays import arrow_of, rows_of
from muntin.runtime.columns.distinct import Groups
from muntin.runtime.storage import register_union as union
from muntin.runtime.storage.registers import bias_tables, estimates
from muntin.runtime.storage.table import component_storage

WORD = 1 << 64
# Few bits of address, so that rows fill up; hashes with many zeros have high ranks.
COMPONENT = Component(kind="registers", argument="x", parameters=("0.25",))
BITS = 5
STORAGE = component_storage(COMPONENT, value_type="binary", name="c", ansi=False)
hashes = st.one_of(
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.tuples(st.integers(0, 31), st.integers(0, 59)).map(
        lambda pair: ((pair[0] << 59 | 1 << pair[1]) + WORD // 2) % WORD - WORD // 2
    ),
)
events = st.lists(st.tuples(st.integers(0, 11), hashes, st.booleans()), min_size=1, max_size=60)


def naive(values):
    """The rank of each register, by the definition of Spark's update."""
    ranks = [0] * (1 << BITS)
    for value in values:
        word = value % WORD
        left = (word << BITS) % WORD | 1 << (BITS - 1)
        register = word >> (64 - BITS)
        ranks[register] = max(ranks[register], 64 - left.bit_length() + 1)
    return ranks


def read(column):
    """The ranks of each row."""
    found = []
    for row in STORAGE.write(column)["c"].to_pylist():
        if len(row) == 1 << BITS:
            found.append(list(row))
            continue
        ranks = [0] * (1 << BITS)
        for place in range(0, len(row), 3):
            code = int.from_bytes(row[place : place + 3], "little")
            ranks[code >> 6] = code & 63
        found.append(ranks)
    return found


def grouped(lifted, numbers, count):
    """The registers of each group of rows."""
    return STORAGE.combine(lifted, Groups(rows=None, numbers=numbers, firsts=np.arange(count)))


def united(column, lows, highs, *, anew):
    """The registers of each window of rows."""
    technique = "recalc" if anew else "two_stacks_lite"
    return STORAGE.folding(column, np.zeros(len(column), np.int64)).over(lows, highs, technique)


def reread(rows):
    """The registers of an Arrow column."""
    return STORAGE.read(pa.RecordBatch.from_arrays([rows], ["c"]))


def distinct_counts(column):
    """The estimates of rows of registers."""
    (answers,) = STORAGE.lower(function_call("approx_count_distinct")("x", 0.25), [column])
    return answers


def slices_of(made):
    """The partial of each of twelve slices, and the hashes that are in it."""
    numbers = np.array([number for number, _, _ in made], np.int32)
    hashed = pa.array([value if is_there else None for _, value, is_there in made], pa.int64())
    lifted = STORAGE.lift(pa.RecordBatch.from_arrays([hashed], ["h"]), ["h"])
    held = [[v for n, v, ok in made if n == number and ok] for number in range(12)]
    return grouped(lifted, numbers, 12), held


@given(events)
@settings(deadline=None)
def test_slices_have_the_registers_of_their_events(made):
    column, held = slices_of(made)
    assert read(column) == [naive(values) for values in held]
    again = reread(STORAGE.write(column)["c"])
    assert read(again) == read(column)
    numbers = np.arange(12, dtype=np.int32) % 3
    by_three = grouped(column, numbers, 3)
    assert read(by_three) == [naive(chain(*held[number::3])) for number in range(3)]


@given(
    events, st.integers(1, 12), st.integers(1, 5), st.booleans(), st.sampled_from([1, 40, 1 << 26])
)
@settings(deadline=None)
def test_windows_unite_their_slices(made, size, slide, anew, room):
    column, held = slices_of(made)
    lows = np.arange(0, 13 - size, slide)
    before, union._MOST_BYTES = union._MOST_BYTES, room
    try:
        windows = united(column, lows, lows + size, anew=anew)
    finally:
        union._MOST_BYTES = before
    assert read(windows) == [naive(chain(*held[low : low + size])) for low in lows]
    both = column.concatenate(windows)
    assert read(both) == read(column) + read(windows)
    assert read(both.where(np.array([3, 1]))) == [read(column)[3], read(column)[1]]


@given(events)
@settings(deadline=None)
def test_few_values_are_counted_by_the_registers_that_are_zero(made):
    column, held = slices_of(made)
    for found, values in zip(distinct_counts(column).to_pylist(), held, strict=True):
        zeros = naive(values).count(0)
        if zeros > 16:
            assert found == floor(32 * log(32 / zeros) + 0.5)


@pytest.mark.parametrize("bits", [4, 9, 14])
def test_estimates_are_near_what_they_estimate(bits):
    random = np.random.default_rng(5)
    for count in (0, 1, 10, 1000, 30_000, 300_000):
        made = random.integers(-(1 << 63), (1 << 63) - 1, count)
        groups = np.zeros(count, np.int32)
        rows = arrow_of(*union.union_of_events(union.codes_of(made, bits), None, groups, 1, bits))
        (found,) = estimates(rows_of(rows), np.array([0]), bits)
        assert abs(found - count) <= max(5 * 1.04 / 2 ** (bits / 2) * count, 1)


def naive_estimate(ranks):
    """Spark's estimate, step by step, for 32 registers."""
    inverse = 0.0
    for rank in ranks:
        inverse += 1.0 / (1 << rank)
    raw = 0.697 * 32 * 32 / inverse
    zeros = ranks.count(0)
    by_zeros = 32 * log(32 / zeros) if zeros else inf
    if by_zeros <= 20 or (zeros and raw <= 2.5 * 32):
        return floor(by_zeros + 0.5)
    if raw < 5.0 * 32:
        known, biases = (table.tolist() for table in bias_tables(BITS))
        place = bisect_left(known, raw)
        first = max(place - 5, 0)
        last = min(first + 6, len(known))
        while last < len(known) and abs(raw - known[last]) < abs(raw - known[first]):
            first, last = first + 1, last + 1
        raw -= sum(biases[first:last]) / (last - first)
    return floor(raw + 0.5)


low_ranks = st.lists(st.integers(0, 6), min_size=32, max_size=32)
high_ranks = st.lists(st.sampled_from([0, 1, 2, 46, 47, 48, 58, 60]), min_size=32, max_size=32)


@given(st.lists(st.one_of(low_ranks, high_ranks), min_size=1, max_size=8))
@settings(deadline=None)
def test_estimates_are_sparks(rows):
    data = np.array(rows, np.uint8).reshape(-1)
    dense = arrow_of(np.arange(len(rows) + 1) * 32, data)
    column = reread(dense)
    wanted = [naive_estimate(row) for row in rows]
    assert distinct_counts(column).to_pylist() == wanted
    # Written as they are kept, those with few registers another way.
    kept = grouped(column, np.arange(len(rows), dtype=np.int32), len(rows))
    twice = united(
        kept.concatenate(kept), np.arange(len(rows)), np.arange(len(rows)) + 1, anew=True
    )
    assert distinct_counts(twice).to_pylist() == wanted
