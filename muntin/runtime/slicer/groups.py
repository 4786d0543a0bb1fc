"""Groups rows by key and slice: a dense number for each group, in order of first appearance."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from muntin.runtime.columns.distinct import Int32s, distinct_integers, has_room
from muntin.runtime.columns.hashing import place_of, table_of_values
from muntin.runtime.columns.partials import Int64s
from muntin.runtime.slicer.slice_starts import SliceStarts
from muntin.techniques.compiled.compile import compiled

_INT64 = np.iinfo(np.int64).max


@dataclass(frozen=True, kw_only=True)
class Groups:
    """The groups of some rows of a chunk."""

    # The rows, ascending; None if all are grouped.
    rows: Int64s | None
    # The group of each of these rows.
    numbers: Int32s
    # The first row of each group.
    firsts: Int64s

    @property
    def count(self) -> int:
        """How many groups there are."""
        return len(self.firsts)


def group(keys: Any, size: int, slices: SliceStarts, rows: Int64s | None) -> Groups:
    """Group rows; `keys` has a number below `size` for each row of the chunk.

    Slices are the major part of a pair's number: events come roughly by time, so the pairs of
    neighbours are neighbours in memory.
    """
    if size > _INT64 // max(len(slices.starts), 1):
        dense = distinct_integers(keys, size=size)
        keys, size = dense.numbers, dense.count
    pairs = size * len(slices.starts)
    length = len(keys) if rows is None else len(rows)
    numbers, firsts = np.empty(length, np.int32), np.empty(length, np.int64)
    index = count = 0
    if has_room(pairs, length):
        table = np.zeros(pairs, np.int32)
        count = _by_index(keys, slices.numbers, size, rows, table, numbers, firsts)
    else:
        known = np.empty(length, np.int64)
        while index < length:
            table = table_of_values(known, count)
            index, count = _by_value(
                keys, slices.numbers, size, rows, table, known, numbers, firsts, index, count
            )
    return Groups(rows=rows, numbers=numbers, firsts=firsts[:count].copy())


def select_groups(groups: Groups, rows: Int64s) -> Groups:
    """Returns the groups of some rows, out of the groups of all rows."""
    chosen = distinct_integers(groups.numbers[rows], size=groups.count)
    return Groups(rows=rows, numbers=chosen.numbers, firsts=rows[chosen.firsts])


def _group_by_index(
    keys: Any, slices: Any, size: int, rows: Any, table: Any, numbers: Any, firsts: Any
) -> int:
    """Fill `numbers` and `firsts` from a table with a place for every pair."""
    count = 0
    for index in range(len(numbers)):
        row = index if rows is None else rows[index]
        place = np.uint64(slices[row] * size + keys[row])
        # Zero is an empty place.
        number = table[place]
        if number == 0:
            firsts[count] = row
            count += 1
            number = count
            table[place] = number
        numbers[index] = number - 1
    return count


def _group_by_value(
    keys: Any,
    slices: Any,
    size: int,
    rows: Any,
    table: Any,
    known: Any,
    numbers: Any,
    firsts: Any,
    index: int,
    count: int,
) -> tuple[int, int]:
    """Fill `numbers` and `firsts` from a hashed table, until it is half full; see `distinct`."""
    full = len(table) // 2
    while index < len(numbers) and count < full:
        row = index if rows is None else rows[index]
        pair = slices[row] * size + keys[row]
        place = place_of(table, known, pair)
        number = table[place]
        if number == 0:
            firsts[count] = row
            known[count] = pair
            count += 1
            number = count
            table[place] = number
        numbers[index] = number - 1
        index += 1
    return index, count


_by_index, _by_value = compiled(_group_by_index), compiled(_group_by_value)
