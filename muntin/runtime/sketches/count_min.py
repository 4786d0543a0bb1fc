"""Count-min sketches of windows, from values and how often each occurs, byte by byte as Spark's.

A sketch has a table of counts. Every value counts in a place of each row of the table, which its
hashes choose. So the table follows from the values and their counts, in whatever order they came.
"""

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.aggregates.parameters import CountMin
from muntin.runtime.columns.arrow_arrays import fixed_rows, rows_of
from muntin.runtime.columns.partials import Int64s
from muntin.runtime.columns.value_sets import SetColumn
from muntin.techniques.kernels.compile import compile_kernel, inline

_VERSION = 1
# The numbers of java.util.Random: its states have 48 bits, of which the highest 31 are given out.
_MULTIPLIER, _INCREMENT = 0x5DEECE66D, 0xB
_STATE = (1 << 48) - 1
_GREATEST = (1 << 31) - 1
# Those of Murmur3 for 32 bits.
_C1, _C2, _C3 = np.uint32(0xCC9E2D51), np.uint32(0x1B873593), np.uint32(0xE6546B64)
_F1, _F2 = np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)


def count_min_sketches(column: SetColumn, shape: CountMin) -> pa.Array:
    """Returns the sketch of each row's values."""
    assert column.counts is not None
    factors = _factors(shape.seed, shape.depth)
    values = column.coding.values
    if values is None:
        places = _places_of_integers(column.codes, factors, shape.width)
    else:
        of_values = np.empty((len(values), shape.depth), np.int64)
        _hash(rows_of(values), shape.width, of_values)
        places = of_values[column.codes]
    tables = np.zeros((len(column), shape.depth * shape.width), np.int64)
    totals = np.zeros(len(column), np.int64)
    _count(column.offsets, places, column.counts, shape.width, tables, totals)
    return _write(tables, totals, factors, shape)


def _places_of_integers(values: Int64s, factors: Int64s, width: int) -> Int64s:
    products = values[:, None] * factors[None, :]
    places: Int64s = ((products + (products >> 32)) & _GREATEST) % width
    return places


@cache
def _factors(seed: int, depth: int) -> Int64s:
    """Returns what integers are multiplied with in each row: the first numbers of a generator."""
    state = (seed ^ _MULTIPLIER) & _STATE
    factors: list[int] = []
    while len(factors) < depth:
        state = (state * _MULTIPLIER + _INCREMENT) & _STATE
        if state >> 17 < _GREATEST:
            factors.append(state >> 17)
    return np.array(factors, np.int64)


def _write(tables: Int64s, totals: Int64s, factors: Int64s, shape: CountMin) -> pa.Array:
    fields = np.dtype(
        [
            *(("version", ">i4"), ("total", ">i8"), ("depth", ">i4"), ("width", ">i4")),
            ("factors", ">i8", (shape.depth,)),
            ("table", ">i8", (shape.depth * shape.width,)),
        ]
    )
    sketches = np.empty(len(totals), fields)
    sketches["version"], sketches["depth"], sketches["width"] = _VERSION, shape.depth, shape.width
    sketches["total"], sketches["factors"], sketches["table"] = totals, factors, tables
    return fixed_rows(sketches)


def _count_values(
    offsets: Any, places: Any, counts: Any, width: Any, tables: Any, totals: Any
) -> None:
    for row in range(len(totals)):
        for entry in range(offsets[row], offsets[row + 1]):
            totals[row] += counts[entry]
            for index in range(places.shape[1]):
                tables[row, index * width + places[entry, index]] += counts[entry]


# Compiled code multiplies and shifts words as 64 bits, so each result is cut to 32.
def _rotate(word: Any, bits: Any) -> Any:
    return np.uint32((word << np.uint32(bits)) | (word >> np.uint32(32 - bits)))


_turn = inline(_rotate)


def _mix_word(state: Any, word: Any) -> Any:
    word = np.uint32(_turn(np.uint32(word * _C1), 15) * _C2)
    return np.uint32(_turn(np.uint32(state ^ word), 13) * np.uint32(5) + _C3)


_mix = inline(_mix_word)


def _murmur(data: Any, start: Any, end: Any, seed: Any) -> Any:
    """Hashes bytes as Spark's sketches do: the last ones, less than a word, are a word each."""
    state = seed
    length = end - start
    whole = start + length - length % 4
    for place in range(start, whole, 4):
        word = np.uint32(0)
        for byte in range(4):
            word = np.uint32(word | np.uint32(data[place + byte]) << np.uint32(8 * byte))
        state = _mix(state, word)
    for place in range(whole, end):
        # A byte has a sign.
        state = _mix(state, np.uint32(np.int64(np.int8(data[place])) & 0xFFFFFFFF))
    state = np.uint32(state ^ np.uint32(length))
    state = np.uint32((state ^ (state >> np.uint32(16))) * _F1)
    state = np.uint32((state ^ (state >> np.uint32(13))) * _F2)
    return np.uint32(state ^ (state >> np.uint32(16)))


_hash_run = inline(_murmur)


def _hash_values(values: Any, width: Any, places: Any) -> None:
    for row in range(len(values.starts)):
        start, end = values.starts[row], values.ends[row]
        first = _hash_run(values.data, start, end, np.uint32(0))
        second = _hash_run(values.data, start, end, first)
        for index in range(places.shape[1]):
            word = np.int64(np.int32(np.uint32(first + np.uint32(index) * second)))
            places[row, index] = abs(word) % width


_count: Any = compile_kernel(_count_values)
_hash: Any = compile_kernel(_hash_values)
