"""Hashes of integers and of runs of bytes, and places in a table, for compiled code.

A hash depends on the value alone, so it is the same in every process.
"""

from typing import Any

import numpy as np

from muntin.runtime.columns.partials import Int64s
from muntin.techniques.kernels.compile import compile_kernel, inline


def hash_bytes(data: Any, offsets: Int64s) -> Int64s:
    """Returns a hash of each run of bytes, `data[offsets[i] : offsets[i + 1]]`."""
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


# Added to values, so that the hash of zero differs from that of null, which is zero.
_SALT = 0x9E3779B9
# The places of an empty table, and how much longer the next one is.
_PLACES, _GROWTH = 1 << 12, 8


def table_of_values(known: Int64s, count: int) -> Any:
    """Returns a table of `count` distinct integers, with room for as many more at least."""
    table = _table(count)
    # Loading a kernel takes a while, and most columns of keys need no second table.
    if count:
        _fill_values(table, known, count)
    return table


def table_of_hashes(hashes: Int64s, count: int) -> Any:
    """Returns a table of `count` values that have these hashes, with room for as many more."""
    table = _table(count)
    # Loading a kernel takes a while, and most columns of keys need no second table.
    if count:
        _fill_hashes(table, hashes, count)
    return table


def _table(count: int) -> Any:
    places = _PLACES
    while places < 4 * count:
        places *= _GROWTH
    return np.zeros(places, np.int32)


def _mix_bits(value: Any) -> Any:
    """Every bit of the hash depends on every bit of the value (the finalizer of MurmurHash 3)."""
    bits = np.uint64(value)
    bits = (bits ^ (bits >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    bits = (bits ^ (bits >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return np.int64(bits ^ (bits >> np.uint64(33)))


mix_bits = inline(_mix_bits)


def _word(data: Any, at: Any) -> Any:
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


_word = inline(_word)


def _tail(data: Any, begin: Any, length: Any) -> Any:
    """Fewer than eight bytes as one integer."""
    word = np.uint64(0)
    for at in range(begin, begin + length):
        word = (word << np.uint64(8)) | np.uint64(data[np.uint64(at)])
    return word


_tail = inline(_tail)


def _hash_run(data: Any, begin: Any, length: Any) -> Any:
    """A hash of `length` bytes, eight at a time; the last eight may overlap those before."""
    # Not zero if there are no bytes: that is the hash of null.
    bits = np.uint64(length + 1) * np.uint64(0x9E3779B97F4A7C15)
    if length >= 8:
        for at in range(begin, begin + length - 8, 8):
            bits = (bits ^ _word(data, at)) * np.uint64(0xFF51AFD7ED558CCD)
            bits ^= bits >> np.uint64(32)
        bits ^= _word(data, begin + length - 8)
    else:
        bits ^= _tail(data, begin, length)
    return mix_bits(bits)


hash_run = inline(_hash_run)


def _same_bytes(data: Any, one: Any, other: Any, length: Any) -> Any:
    """Whether two runs of one length are equal."""
    if length < 8:
        return _tail(data, one, length) == _tail(data, other, length)
    for at in range(0, length - 8, 8):
        if _word(data, one + at) != _word(data, other + at):
            return False
    return _word(data, one + length - 8) == _word(data, other + length - 8)


same_bytes = inline(_same_bytes)


def _place(table: Any, known: Any, value: Any) -> Any:
    """Returns the place of a value's number in a table, or the empty place where it belongs.

    `known[number - 1]` is the value of each number; an empty place is zero.
    """
    mask = np.uint64(len(table) - 1)
    place = np.uint64(mix_bits(value)) & mask
    while table[place] != 0 and known[np.uint64(table[place] - 1)] != value:
        place = (place + np.uint64(1)) & mask
    return place


place_of = inline(_place)


def _fill_by_value(table: Any, known: Any, count: Any) -> None:
    for index in range(count):
        table[place_of(table, known, known[index])] = index + 1


def _fill_by_hash(table: Any, hashes: Any, count: Any) -> None:
    mask = np.uint64(len(table) - 1)
    for index in range(count):
        place = np.uint64(hashes[index]) & mask
        while table[place] != 0:
            place = (place + np.uint64(1)) & mask
        table[place] = index + 1


_fill_values, _fill_hashes = compile_kernel(_fill_by_value), compile_kernel(_fill_by_hash)


def _hash_each(data: Any, offsets: Any, hashes: Any) -> None:
    for row in range(len(hashes)):
        hashes[row] = hash_run(data, offsets[row], offsets[row + 1] - offsets[row])


def _hash_pairs(values: Any, seeds: Any, hashes: Any) -> None:
    for row in range(len(hashes)):
        hashes[row] = mix_bits(31 * seeds[row] + mix_bits(values[row]) + _SALT)


def _hash_lists(values: Any, offsets: Any, hashes: Any) -> None:
    for row in range(len(hashes)):
        code = mix_bits(offsets[row + 1] - offsets[row] + _SALT)
        for at in range(offsets[row], offsets[row + 1]):
            code = mix_bits(31 * code + values[at])
        hashes[row] = code


_hash_bytes, _hash_integers = compile_kernel(_hash_each), compile_kernel(_hash_pairs)
_hash_runs = compile_kernel(_hash_lists)
