"""Numbers distinct values in the order in which they first appear: integers, or runs of bytes.

Hash tables use open addressing, and grow with the number of distinct values: most columns of keys
have few, and their table stays in the cache. A kernel returns when its table is half full, and is
called again with a larger one: a kernel that replaced its own arrays would count references to them
at every row.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from muntin.runtime.columns.hashing import (
    hash_run,
    place_of,
    same_bytes,
    table_of_hashes,
    table_of_values,
)
from muntin.runtime.columns.partials import Bools, Int64s
from muntin.techniques.kernels.compile import compile_kernel, inline

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


@dataclass(frozen=True, kw_only=True)
class Groups(Distinct):
    """The number of each row's group, and the first row of each group, by number."""

    # The rows that are grouped, ascending; None if all are.
    rows: Int64s | None


def has_room(size: int, rows: int) -> bool:
    """Whether a table with a place for each of `size` values is faster than a hash table.

    Reading a place costs less than half as much as hashing, if the table fits the cache or is not
    much longer than a hash table.
    """
    return size <= max(1 << 16, 4 * rows)


def distinct_integers(
    values: Int64s | Int32s, valid: Bools | None = None, *, size: int | None = None
) -> Distinct:
    """Numbers integers; rows that are not valid count as one value. With `size`, all integers are
    in [0, size)."""
    rows, low = len(values), 0
    if size is None:
        low, high = (int(values.min()), int(values.max())) if rows else (0, 0)
        size = high - low + 1
    found = _number(values, None, low, size, valid=valid)
    return _with_null(found.numbers, found.firsts, valid)


def distinct_pairs(
    minors: Int64s | Int32s, majors: Int32s, sizes: tuple[int, int], rows: Int64s | None
) -> Distinct:
    """Numbers the pairs of integers of some rows, or of all.

    Minors are in [0, sizes[0]), majors in [0, sizes[1]), and the product of sizes fits 64 bits.
    """
    return _number(minors, majors, 0, sizes[0] * sizes[1], width=sizes[0], rows=rows)


def _number(
    values: Any,
    majors: Any,
    low: int,
    size: int,
    *,
    width: int = 0,
    rows: Int64s | None = None,
    valid: Bools | None = None,
) -> Distinct:
    """Numbers `values`, or `majors * width + values`, all in [low, low + size)."""
    length = len(values) if rows is None else len(rows)
    numbers, firsts = np.empty(length, np.int32), np.empty(length, np.int64)
    if has_room(size, length):
        table = np.zeros(size, np.int32)
        count = _by_index(values, majors, width, rows, valid, low, table, (numbers, firsts))
    else:
        found = _Found(np.empty(length, np.int64), numbers, firsts)
        reached = 0, 0
        while reached[0] < length:
            table = table_of_values(found.known, reached[1])
            reached = _by_value(values, majors, width, rows, valid, table, found, reached)
        count = reached[1]
    return Distinct(numbers=numbers, firsts=firsts[:count].copy())


def distinct_bytes(data: Any, offsets: Int64s, valid: Bools | None = None) -> Distinct:
    """Numbers the runs `data[offsets[i] : offsets[i + 1]]`; rows that are not valid count as one
    value."""
    rows = len(offsets) - 1
    found = _Found(np.empty(rows, np.int64), np.empty(rows, np.int32), np.empty(rows, np.int64))
    reached = 0, 0
    while reached[0] < rows:
        table = table_of_hashes(found.known, reached[1])
        reached = _by_bytes(data, offsets, valid, table, found, reached)
    return _with_null(found.numbers, found.firsts[: reached[1]].copy(), valid)


def _with_null(numbers: Int32s, firsts: Int64s, valid: Bools | None) -> Distinct:
    """Gives rows that are not valid the last number."""
    if valid is None:
        return Distinct(numbers=numbers, firsts=firsts)
    numbers[~valid] = len(firsts)
    return Distinct(numbers=numbers, firsts=np.append(firsts, np.argmin(valid)))


def _value(values: Any, majors: Any, width: Any, row: Any) -> Any:
    """Returns the integer of a row. The test is free: None is a type of its own to the compiler."""
    if majors is None:
        return values[row]
    return majors[row] * width + values[row]


_value = inline(_value)


class _Found(NamedTuple):
    """The arrays that are filled with a hash table: the value, or its hash, of each number, and the
    two arrays of `Distinct`."""

    known: Int64s
    numbers: Int32s
    firsts: Int64s


def _number_by_index(
    values: Any,
    majors: Any,
    width: int,
    rows: Any,
    valid: Any,
    low: int,
    table: Any,
    found: Any,
) -> int:
    """Fills numbers and first rows, with a table that has a place for every possible value."""
    numbers, firsts = found
    count = 0
    for index in range(len(numbers)):
        row = index if rows is None else rows[index]
        if valid is not None and not valid[row]:
            continue
        place = np.uint64(_value(values, majors, width, row) - low)
        # Zero is an empty place.
        number = table[place]
        if number == 0:
            firsts[count] = row
            count += 1
            number = count
            table[place] = number
        numbers[index] = number - 1
    return count


def _number_by_value(
    values: Any,
    majors: Any,
    width: int,
    rows: Any,
    valid: Any,
    table: Any,
    found: Any,
    reached: tuple[int, int],
) -> tuple[int, int]:
    """Fills the arrays of `found`, until the hash table is half full.

    `reached` is the index to start from and the number of values so far; returns both after the
    last index.
    """
    known, numbers, firsts = found
    index, count = reached
    full = len(table) // 2
    while index < len(numbers) and count < full:
        row = index if rows is None else rows[index]
        if valid is None or valid[row]:
            value = _value(values, majors, width, row)
            place = place_of(table, known, value)
            number = table[place]
            if number == 0:
                firsts[count] = row
                known[count] = value
                count += 1
                number = count
                table[place] = number
            numbers[index] = number - 1
        index += 1
    return index, count


def _number_by_bytes(
    data: Any, offsets: Any, valid: Any, table: Any, found: Any, reached: tuple[int, int]
) -> tuple[int, int]:
    """As `_number_by_value`, for runs of bytes."""
    hashes, numbers, firsts = found
    row, count = reached
    full = len(table) // 2
    mask = np.uint64(len(table) - 1)
    while row < len(numbers) and count < full:
        if valid is not None and not valid[row]:
            row += 1
            continue
        begin = offsets[row]
        length = offsets[row + 1] - begin
        code = hash_run(data, begin, length)
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


_by_index = compile_kernel(_number_by_index)
_by_value = compile_kernel(_number_by_value)
_by_bytes = compile_kernel(_number_by_bytes)


def count_rows(groups: Groups) -> Int64s:
    """Returns how many rows each group has."""
    counts = np.zeros(groups.count, np.int64)
    _count(groups.numbers, counts)
    return counts


def _count_groups(groups: Any, counts: Any) -> None:
    for index in range(len(groups)):
        counts[groups[index]] += 1


_count = compile_kernel(_count_groups)
