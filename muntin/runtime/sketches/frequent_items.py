"""The most frequent values of windows, from exact counts: as lists, as `approx_top_k` answers them,
and as sketches, as `approx_top_k_accumulate` does.

Sketches have the form of DataSketches' `ItemsSketch`: values with their counts, less an offset,
which is the greatest error of a count. Here all counts are exact: the offset is the greatest count
of a value that does not fit the sketch, and zero if all fit.
"""

from functools import cache
from math import ceil, log

import numpy as np
import pyarrow as pa

from muntin.aggregates.parameters import items_tracked, top_k
from muntin.runtime.columns.arrow_arrays import (
    byte_runs,
    fixed_rows,
    join_rows,
    rows_of,
    trimmed_rows,
)
from muntin.runtime.columns.partials import Int64s
from muntin.runtime.columns.value_codes import decode, floats
from muntin.runtime.columns.value_sets import SetColumn, WindowSets, offsets_of
from muntin.techniques.sweeps import ranked_counts

# The fields of the items that `approx_top_k` answers.
ITEM, COUNT = "item", "count"
_VERSION, _FAMILY, _IS_EMPTY = 1, 10, 5
_SHORT_WORDS, _LONG_WORDS = 1, 4
_WORD = 8
# The bits of the smallest table of values; a table is filled to three quarters.
_LEAST_BITS = 3
_PREAMBLE = np.dtype(
    [
        *(("words", "u1"), ("version", "u1"), ("family", "u1"), ("most_bits", "u1")),
        *(("bits", "u1"), ("flags", "u1"), ("unused", "<u2"), ("items", "<i4"), ("free", "<i4")),
        *(("total", "<i8"), ("offset", "<i8")),
    ]
)
# How numbers are written, by the name of their type: behind a byte that says what follows, or
# alone.
_TAGGED = {
    "tinyint": (2, "<i1"),
    "smallint": (3, "<i2"),
    "int": (9, "<i4"),
    "date": (9, "<i4"),
    "float": (6, "<f4"),
}
_ALONE = {"bigint": "<i8", "timestamp": "<i8", "timestamp_ntz": "<i8", "double": "<f8"}
# Decimals with at most this many digits are written in four bytes, others in eight.
_DIGITS_OF_AN_INT = 9


def items_sketches(sets: WindowSets, parameters: tuple[str, ...], kind: str) -> pa.Array:
    """Returns the sketch of each window's values; `kind` is the name of their type in Spark."""
    most_bits = _bits_of(items_tracked(parameters))
    entries, column = sets.folding.ranked_entries, sets.folding.column
    room = _room(most_bits)
    # The first value that has no room is the most that any count is off by.
    starts = offsets_of(np.minimum(sets.sizes, room + 1))
    places, counts = ranked_counts.find_most_frequent(entries, sets.lows, sets.highs, starts)
    offsets = np.zeros(len(sets), np.int64)
    full = sets.sizes > room
    offsets[full] = counts[starts[1:][full] - 1]
    left = counts - np.repeat(offsets, np.diff(starts))
    is_left = left > 0
    owners = np.repeat(np.arange(len(sets)), np.diff(starts))
    sizes = np.bincount(owners[is_left], minlength=len(sets))
    is_empty = sizes == 0
    preambles = np.zeros(len(sets), _PREAMBLE)
    preambles["words"] = np.where(is_empty, _SHORT_WORDS, _LONG_WORDS)
    preambles["version"], preambles["family"], preambles["most_bits"] = _VERSION, _FAMILY, most_bits
    preambles["bits"] = np.searchsorted(_ROOMS, sizes) + _LEAST_BITS
    preambles["flags"] = np.where(is_empty, _IS_EMPTY, 0)
    preambles["items"], preambles["offset"] = sizes, offsets
    preambles["total"] = ranked_counts.totals_of(entries, sets.lows, sets.highs)
    items = rows_of(_items(column, entries.entries[places[is_left]], kind))
    # A sketch is a preamble, the counts of values, then the values.
    firsts = offsets_of(sizes)
    return join_rows(
        trimmed_rows(preambles, np.where(is_empty, _SHORT_WORDS, _LONG_WORDS) * _WORD),
        byte_runs(firsts, left[is_left].astype("<i8")),
        byte_runs(np.append(items.starts, len(items.data))[firsts], items.data),
    )


def with_null_counts(sketches: pa.Array, nulls: Int64s) -> pa.Array:
    """Returns each sketch with the number of nulls behind it, the highest byte first."""
    counts = byte_runs(np.arange(len(nulls) + 1), nulls.astype(">i8"))
    return join_rows(rows_of(sketches), counts)


def _room(bits: int) -> int:
    return (3 << bits) // 4


_ROOMS = np.array([_room(bits) for bits in range(_LEAST_BITS, 32)])


@cache
def _bits_of(tracked: int) -> int:
    """Returns the bits of the greatest table of a sketch that tracks so many values."""
    return max(_LEAST_BITS, ceil(log(ceil(tracked / 0.75)) / log(2)))


def _items(column: SetColumn, entries: Int64s, kind: str) -> pa.Array:
    """Returns the bytes of the values of some entries."""
    codes, values = column.codes[entries], column.coding.values
    if values is not None:
        texts = rows_of(values)
        lengths = (texts.ends - texts.starts).astype("<i4")
        lengths_first = join_rows(byte_runs(np.arange(len(values) + 1), lengths), texts)
        return lengths_first.take(pa.array(codes))
    tag, dtype = _TAGGED.get(kind, (None, _ALONE.get(kind, "<i8")))
    if kind.startswith("decimal"):
        digits = int(kind.removeprefix("decimal(").partition(",")[0])
        tag, dtype = (9, "<i4") if digits <= _DIGITS_OF_AN_INT else (None, "<i8")
    numbers = (floats(codes) if np.dtype(dtype).kind == "f" else codes).astype(dtype)
    if tag is None:
        return fixed_rows(numbers)
    tagged = np.empty(len(numbers), [("tag", "u1"), ("number", dtype)])
    tagged["tag"], tagged["number"] = tag, numbers
    return fixed_rows(tagged)


def top_items(sets: WindowSets, parameters: tuple[str, ...]) -> pa.Array:
    """Returns the most frequent values of each window as lists, each with its count.

    The most frequent comes first, and of several as frequent ones the least. `parameters` are those
    of the call.
    """
    entries, column = sets.folding.ranked_entries, sets.folding.column
    starts = offsets_of(np.minimum(sets.sizes, top_k(parameters)))
    places, counts = ranked_counts.find_most_frequent(entries, sets.lows, sets.highs, starts)
    items = decode(column.codes[entries.entries[places]], column.coding)
    return _lists(starts, items, counts)


def with_nulls(tops: pa.Array, nulls: Int64s, parameters: tuple[str, ...]) -> pa.Array:
    """Returns the most frequent of each window's values and null, which occurs `nulls[i]` times.
    Null comes after values that are as frequent."""
    k = top_k(parameters)
    sizes = tops.value_lengths().to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(nulls)
    flat = tops.flatten()
    counts = np.concatenate([flat.field(COUNT).to_numpy(), nulls[rows]])
    owners = np.concatenate([np.repeat(np.arange(len(tops)), sizes), rows])
    # The sort is stable, and nulls come after all values.
    order = np.lexsort((-counts, owners))
    all_sizes = sizes + (nulls > 0)
    ranks = np.arange(len(order)) - np.repeat(offsets_of(all_sizes)[:-1], all_sizes)
    chosen = order[ranks < k]
    values = len(flat)
    items = flat.field(ITEM).take(pa.array(chosen, mask=chosen >= values))
    return _lists(offsets_of(np.minimum(all_sizes, k)), items, counts[chosen])


def _lists(starts: Int64s, items: pa.Array, counts: Int64s) -> pa.Array:
    pairs = pa.StructArray.from_arrays([items, pa.array(counts)], [ITEM, COUNT])
    return pa.ListArray.from_arrays(pa.array(starts, pa.int32()), pairs)
