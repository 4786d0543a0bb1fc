"""Numbers distinct values in the order in which they first appear: integers, or runs of bytes.

Tables are open addressing, and grow with the values that are found: most columns of keys have few,
whose table stays in the cache.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muntin.runtime.columns.partials import Bools, Int64s
from muntin.techniques.compiled.compile import compiled, inlined

Int32s = NDArray[np.int32]

# A table that is indexed by the value itself may have this many places whatever the rows, and more
# if there are as many rows: it must be cleared, but then costs less than half as much as hashing.
_FEW = 1 << 16
# The places of an empty table.
_PLACES = 1 << 10


@dataclass(frozen=True, kw_only=True)
class Distinct:
    """The number of each row's value, and the first row of each value, by number."""

    numbers: Int32s
    firsts: Int64s

    @property
    def count(self) -> int:
        """How many values there are."""
        return len(self.firsts)


def distinct_integers(
    values: Int64s, valid: Bools | None = None, *, size: int | None = None
) -> Distinct:
    """Number integers; rows that are not valid are one value. With `size`, all are in [0, size)."""
    numbers = np.empty(len(values), np.int32)
    if size is None:
        low, high = _range(values)
        size = high - low + 1
    else:
        low = 0
    if size <= max(_FEW, len(values)):
        firsts = _by_index(values, valid, low, np.zeros(size, np.int32), numbers)
    else:
        firsts = _by_value(values, valid, _PLACES, numbers)
    return Distinct(numbers=numbers, firsts=firsts)


def distinct_bytes(data: Any, offsets: Int64s, valid: Bools | None = None) -> Distinct:
    """Number the runs `data[offsets[i] : offsets[i + 1]]`; rows not valid are one value."""
    numbers = np.empty(len(offsets) - 1, np.int32)
    firsts = _by_bytes(data, offsets, valid, _PLACES, numbers)
    return Distinct(numbers=numbers, firsts=firsts)


def hash_bytes(data: Any, offsets: Int64s) -> Int64s:
    """Returns a hash of each run `data[offsets[i] : offsets[i + 1]]`, the same in all processes."""
    hashes = np.empty(len(offsets) - 1, np.int64)
    _hash_bytes(data, offsets, hashes)
    return hashes


def hash_integers(values: Int64s, seeds: Int64s) -> Int64s:
    """Returns a hash of each integer and a seed, which may be the hash of another one."""
    hashes = np.empty(len(values), np.int64)
    _hash_integers(values, seeds, hashes)
    return hashes


def hash_runs(values: Int64s, offsets: Int64s) -> Int64s:
    """Returns a hash of each run of hashes, `values[offsets[i] : offsets[i + 1]]`."""
    hashes = np.empty(len(offsets) - 1, np.int64)
    _hash_runs(values, offsets, hashes)
    return hashes


def _range(values: Int64s) -> tuple[int, int]:
    return (int(values.min()), int(values.max())) if len(values) else (0, 0)


def _by_index(values: Any, valid: Any, low: int, table: Any, numbers: Any) -> Any:
    """Fill `numbers` from a table with a place for every value that there may be."""
    firsts = np.empty(64, np.int64)
    count = 0
    null = -1
    for row in range(len(values)):
        if valid is not None and not valid[row]:
            if null < 0:
                null = count
                firsts = _with_first(firsts, count, row)
                count += 1
            numbers[row] = null
            continue
        place = values[row] - low
        # Zero is an empty place.
        number = table[np.uint64(place)]
        if number == 0:
            firsts = _with_first(firsts, count, row)
            count += 1
            number = count
            table[np.uint64(place)] = number
        numbers[row] = number - 1
    return firsts[:count].copy()


def _by_value(values: Any, valid: Any, places: int, numbers: Any) -> Any:
    """Fill `numbers` from a table that is hashed by value."""
    table = np.zeros(places, np.int32)
    firsts = np.empty(64, np.int64)
    count = 0
    null = -1
    for row in range(len(values)):
        if valid is not None and not valid[row]:
            if null < 0:
                null = count
                firsts = _with_first(firsts, count, row)
                count += 1
            numbers[row] = null
            continue
        value = values[row]
        mask = len(table) - 1
        place = mixed(value) & mask
        number = table[np.uint64(place)]
        while number != 0 and values[firsts[number - 1]] != value:
            place = (place + 1) & mask
            number = table[np.uint64(place)]
        if number == 0:
            firsts = _with_first(firsts, count, row)
            count += 1
            number = count
            table[np.uint64(place)] = number
            if 2 * count > len(table):
                table = np.zeros(4 * len(table), np.int32)
                for known in range(count):
                    if known != null:
                        _insert(table, mixed(values[firsts[known]]), known + 1)
        numbers[row] = number - 1
    return firsts[:count].copy()


def _by_bytes(data: Any, offsets: Any, valid: Any, places: int, numbers: Any) -> Any:
    """Fill `numbers` from a table that is hashed by bytes."""
    table = np.zeros(places, np.int32)
    firsts = np.empty(64, np.int64)
    hashes = np.empty(64, np.int64)
    count = 0
    null = -1
    for row in range(len(offsets) - 1):
        if valid is not None and not valid[row]:
            if null < 0:
                null = count
                firsts = _with_first(firsts, count, row)
                hashes = _with_first(hashes, count, 0)
                count += 1
            numbers[row] = null
            continue
        begin, length = offsets[row], offsets[row + 1] - offsets[row]
        code = hashed(data, begin, length)
        mask = len(table) - 1
        place = code & mask
        number = table[np.uint64(place)]
        while number != 0:
            if hashes[number - 1] == code:
                first = firsts[number - 1]
                if offsets[first + 1] - offsets[first] == length and _same(
                    data, begin, offsets[first], length
                ):
                    break
            place = (place + 1) & mask
            number = table[np.uint64(place)]
        if number == 0:
            firsts = _with_first(firsts, count, row)
            hashes = _with_first(hashes, count, code)
            count += 1
            number = count
            table[np.uint64(place)] = number
            if 2 * count > len(table):
                table = np.zeros(4 * len(table), np.int32)
                for known in range(count):
                    if known != null:
                        _insert(table, hashes[known], known + 1)
        numbers[row] = number - 1
    return firsts[:count].copy()


def _mixed(value: int) -> int:
    """Every bit of the hash depends on every bit of the value (the finalizer of MurmurHash 3)."""
    bits = np.uint64(value)
    bits = (bits ^ (bits >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    bits = (bits ^ (bits >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return np.int64(bits ^ (bits >> np.uint64(33)))  # type: ignore[return-value]


mixed = inlined(_mixed)


def _word(data: Any, at: int) -> Any:
    """Eight bytes as one integer; the compiler makes one load of it."""
    first = np.uint64(at)
    word = np.uint64(data[first])
    word |= np.uint64(data[first + np.uint64(1)]) << np.uint64(8)
    word |= np.uint64(data[first + np.uint64(2)]) << np.uint64(16)
    word |= np.uint64(data[first + np.uint64(3)]) << np.uint64(24)
    word |= np.uint64(data[first + np.uint64(4)]) << np.uint64(32)
    word |= np.uint64(data[first + np.uint64(5)]) << np.uint64(40)
    word |= np.uint64(data[first + np.uint64(6)]) << np.uint64(48)
    word |= np.uint64(data[first + np.uint64(7)]) << np.uint64(56)
    return word


_word = inlined(_word)


def _tail(data: Any, begin: int, length: int) -> Any:
    """Fewer than eight bytes as one integer."""
    word = np.uint64(0)
    for at in range(begin, begin + length):
        word = (word << np.uint64(8)) | np.uint64(data[np.uint64(at)])
    return word


_tail = inlined(_tail)


def _hashed(data: Any, begin: int, length: int) -> int:
    """A hash of `length` bytes, eight at a time; the last eight may overlap those before."""
    bits = np.uint64(length) * np.uint64(0x9E3779B97F4A7C15)
    if length >= 8:
        for at in range(begin, begin + length - 7, 8):
            bits = (bits ^ _word(data, at)) * np.uint64(0xFF51AFD7ED558CCD)
            bits ^= bits >> np.uint64(32)
        bits ^= _word(data, begin + length - 8)
    else:
        bits ^= _tail(data, begin, length)
    return mixed(np.int64(bits))  # type: ignore[no-any-return]


hashed = inlined(_hashed)


def _same_bytes(data: Any, one: int, other: int, length: int) -> bool:
    if length >= 8:
        for at in range(0, length - 7, 8):
            if _word(data, one + at) != _word(data, other + at):
                return False
        return _word(data, one + length - 8) == _word(data, other + length - 8)  # type: ignore[no-any-return]
    return _tail(data, one, length) == _tail(data, other, length)  # type: ignore[no-any-return]


_same = inlined(_same_bytes)


def _with_first(firsts: Any, count: int, row: int) -> Any:
    """Put a row behind the first `count`, in a longer array if there is no room."""
    if count == len(firsts):
        longer = np.empty(2 * count, np.int64)
        longer[:count] = firsts
        firsts = longer
    firsts[count] = row
    return firsts


_with_first = compiled(_with_first)


def _insert(table: Any, code: int, number: int) -> None:
    """Put a number that is not in the table at the first empty place for its hash."""
    mask = len(table) - 1
    place = code & mask
    while table[place] != 0:
        place = (place + 1) & mask
    table[place] = number


_insert = inlined(_insert)


def _hash_each(data: Any, offsets: Any, hashes: Any) -> None:
    for row in range(len(hashes)):
        hashes[row] = hashed(data, offsets[row], offsets[row + 1] - offsets[row])


def _hash_pairs(values: Any, seeds: Any, hashes: Any) -> None:
    for row in range(len(hashes)):
        hashes[row] = mixed(31 * seeds[row] + mixed(values[row]))


def _hash_lists(values: Any, offsets: Any, hashes: Any) -> None:
    for row in range(len(hashes)):
        code = mixed(offsets[row + 1] - offsets[row])
        for at in range(offsets[row], offsets[row + 1]):
            code = mixed(31 * code + values[at])
        hashes[row] = code


_by_index, _by_value, _by_bytes = compiled(_by_index), compiled(_by_value), compiled(_by_bytes)
_hash_bytes, _hash_integers = compiled(_hash_each), compiled(_hash_pairs)
_hash_runs = compiled(_hash_lists)
