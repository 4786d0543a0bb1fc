"""Numbers distinct values in the order in which they first appear: integers, or runs of bytes.

Tables are open addressing, and grow with the values that are found: most columns of keys have few,
whose table stays in the cache. A kernel returns when its table is half full, and goes on with a
larger one: if it replaced its own arrays, it would count references to them at every row.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muntin.runtime.columns.hashing import (
    hashed,
    place_of,
    same_bytes,
    table_of_hashes,
    table_of_values,
)
from muntin.runtime.columns.partials import Bools, Int64s
from muntin.techniques.compiled.compile import compiled

Int32s = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class Distinct:
    """The number of each row's value, and the first row of each value, by number."""

    numbers: Int32s
    firsts: Int64s

    @property
    def count(self) -> int:
        """How many values there are."""
        return len(self.firsts)


def has_room(size: int, rows: int) -> bool:
    """Whether a table should have a place for each of `size` values, and not be hashed.

    Looking up a place costs less than half as much as hashing, but the table must fit the cache, or
    not be much longer than a hashed one.
    """
    return size <= max(1 << 16, 4 * rows)


def distinct_integers(
    values: Int64s | Int32s, valid: Bools | None = None, *, size: int | None = None
) -> Distinct:
    """Number integers; rows that are not valid are one value. With `size`, all are in [0, size)."""
    rows, low = len(values), 0
    if size is None:
        low, high = (int(values.min()), int(values.max())) if rows else (0, 0)
        size = high - low + 1
    numbers, firsts = np.empty(rows, np.int32), np.empty(rows, np.int64)
    row = count = 0
    if has_room(size, rows):
        count = _by_index(values, valid, low, np.zeros(size, np.int32), numbers, firsts)
    else:
        known = np.empty(rows, np.int64)
        while row < rows:
            table = table_of_values(known, count)
            row, count = _by_value(values, valid, table, known, numbers, firsts, row, count)
    return _with_null(numbers, firsts[:count], valid)


def distinct_bytes(data: Any, offsets: Int64s, valid: Bools | None = None) -> Distinct:
    """Number the runs `data[offsets[i] : offsets[i + 1]]`; rows not valid are one value."""
    rows = len(offsets) - 1
    numbers, firsts, hashes = np.empty(rows, np.int32), *np.empty((2, rows), np.int64)
    row = count = 0
    while row < rows:
        table = table_of_hashes(hashes, count)
        row, count = _by_bytes(data, offsets, valid, table, hashes, numbers, firsts, row, count)
    return _with_null(numbers, firsts[:count], valid)


def _with_null(numbers: Int32s, firsts: Int64s, valid: Bools | None) -> Distinct:
    """Give rows that are not valid the last number."""
    if valid is None:
        return Distinct(numbers=numbers, firsts=firsts.copy())
    numbers[~valid] = len(firsts)
    return Distinct(numbers=numbers, firsts=np.append(firsts, np.argmin(valid)))


def _number_by_index(
    values: Any, valid: Any, low: int, table: Any, numbers: Any, firsts: Any
) -> int:
    """Fill `numbers` and `firsts` from a table with a place for every value that there may be."""
    count = 0
    for row in range(len(values)):
        if valid is not None and not valid[row]:
            continue
        place = np.uint64(values[row] - low)
        # Zero is an empty place.
        number = table[place]
        if number == 0:
            firsts[count] = row
            count += 1
            number = count
            table[place] = number
        numbers[row] = number - 1
    return count


def _number_by_value(
    values: Any,
    valid: Any,
    table: Any,
    known: Any,
    numbers: Any,
    firsts: Any,
    row: int,
    count: int,
) -> tuple[int, int]:
    """Fill `numbers` and `firsts` from a hashed table, until it is half full.

    Returns the next row, and how many values there are.
    """
    full = len(table) // 2
    while row < len(values) and count < full:
        if valid is None or valid[row]:
            value = values[row]
            place = place_of(table, known, value)
            number = table[place]
            if number == 0:
                firsts[count] = row
                known[count] = value
                count += 1
                number = count
                table[place] = number
            numbers[row] = number - 1
        row += 1
    return row, count


def _number_by_bytes(
    data: Any,
    offsets: Any,
    valid: Any,
    table: Any,
    hashes: Any,
    numbers: Any,
    firsts: Any,
    row: int,
    count: int,
) -> tuple[int, int]:
    """As `_number_by_value`, for runs of bytes."""
    full = len(table) // 2
    mask = np.uint64(len(table) - 1)
    while row < len(numbers) and count < full:
        if valid is not None and not valid[row]:
            row += 1
            continue
        begin = offsets[row]
        length = offsets[row + 1] - begin
        code = hashed(data, begin, length)
        place = np.uint64(code) & mask
        while True:
            number = table[place]
            if number == 0:
                firsts[count] = row
                hashes[count] = code
                count += 1
                number = count
                table[place] = number
                break
            if hashes[np.uint64(number - 1)] == code:
                other = firsts[np.uint64(number - 1)]
                first = offsets[other]
                if offsets[other + 1] - first == length and same_bytes(data, begin, first, length):
                    break
            place = (place + np.uint64(1)) & mask
        numbers[row] = number - 1
        row += 1
    return row, count


_by_index = compiled(_number_by_index)
_by_value = compiled(_number_by_value)
_by_bytes = compiled(_number_by_bytes)
