"""Reads KLL sketches that Apache DataSketches wrote: their items, and what each stands for."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike

from muntin.runtime.columns.arrow_arrays import number_at, rows_of
from muntin.runtime.columns.partials import Int64s
from muntin.runtime.columns.value_sets import offsets_of
from muntin.techniques.kernels.compile import compile_kernel, inline

FAMILY = 15
# The least capacity of a level.
LEAST = 8
# What the bytes of a preamble say: its length in words of four bytes, and the form of the sketch.
SHORT, LONG = 2, 5
PLAIN, SINGLE = 1, 2
IS_EMPTY, IS_SORTED, IS_SINGLE = 1, 2, 4
PREAMBLE = np.dtype(
    [
        *(("words", "u1"), ("version", "u1"), ("family", "u1"), ("flags", "u1")),
        *(("k", "<u2"), ("m", "u1"), ("unused", "u1"), ("n", "<i8")),
        *(("min_k", "<u2"), ("levels", "u1"), ("free", "u1")),
    ]
)
LEVEL_BYTES = 4
SHORT_BYTES = 4 * SHORT
_LONG_BYTES = PREAMBLE.itemsize
_MOST_LEVELS = 61


class WeightedItems(NamedTuple):
    """Runs of items: run i is `items[offsets[i] : offsets[i + 1]]`, of a sketch with accuracy
    `ks[i]`, 0 if it is not a sketch. An item's weight is how many values it stands for."""

    items: np.ndarray
    weights: Int64s
    offsets: Int64s
    ks: Int64s
    # The least and the greatest value of each run that has items.
    least: np.ndarray
    greatest: np.ndarray


def read_images(images: pa.Array | None, kind: DTypeLike) -> WeightedItems:
    """Returns the items of sketches, of a numpy type; bytes that are no sketch have none."""
    rows = rows_of(images)
    size = np.dtype(kind).itemsize
    ks, counts = np.zeros((2, len(rows.starts)), np.int64)
    _measure(rows, size, ks, counts)
    offsets = offsets_of(counts)
    places, weights = np.empty((2, offsets[-1]), np.int64)
    bounds = np.zeros((2, len(rows.starts)), np.int64)
    _read(rows, size, offsets, places, weights, bounds)
    return WeightedItems(
        items=_values(rows.data, places, kind),
        weights=weights,
        offsets=offsets,
        ks=ks,
        least=_values(rows.data, np.where(counts > 0, bounds[0], -1), kind),
        greatest=_values(rows.data, np.where(counts > 0, bounds[1], -1), kind),
    )


def _values(data: np.ndarray, places: Int64s, kind: DTypeLike) -> np.ndarray:
    """Returns the values at some bytes; zero where there are none."""
    size = np.dtype(kind).itemsize
    padded = np.concatenate([np.zeros(size, np.uint8), data])
    places = np.where(places < 0, 0, places + size)
    chosen = padded[places[:, None] + np.arange(size)]
    return np.ascontiguousarray(chosen).view(kind).reshape(len(places))


def _total_weight(data: Any, edges: Any, levels: Any, items: Any) -> Any:
    """Returns how many values the items of all levels stand for; -1 if levels overlap."""
    total = before = np.int64(0)
    first = number_at(data, edges, LEVEL_BYTES)
    for level in range(levels):
        end = items
        if level + 1 < levels:
            end = number_at(data, edges + LEVEL_BYTES * (level + 1), LEVEL_BYTES) - first
        if not before <= end <= items:
            return np.int64(-1)
        total += (end - before) << level
        before = end
    return total


_total = inline(_total_weight)


def _measure_images(rows: Any, size: Any, ks: Any, counts: Any) -> None:
    """Finds the accuracy and the number of items of each sketch; both are zero if it is none."""
    data = rows.data
    for row in range(len(rows.starts)):
        start, length = rows.starts[row], rows.ends[row] - rows.starts[row]
        if length < SHORT_BYTES or data[start + 2] != FAMILY or data[start + 6] != LEAST:
            continue
        words, version, flags = data[start], data[start + 1], data[start + 3]
        k = number_at(data, start + 4, 2)
        if words == SHORT and version == PLAIN and flags & IS_EMPTY:
            ks[row] = k
        elif words == SHORT and version == SINGLE and length == SHORT_BYTES + size:
            ks[row], counts[row] = k, 1
        elif words == LONG and version == PLAIN and length > _LONG_BYTES:
            levels = np.int64(data[start + 18])
            head = _LONG_BYTES + LEVEL_BYTES * levels
            items = (length - head) // size - 2
            if not 0 < levels <= _MOST_LEVELS or items < 1 or head + size * (items + 2) != length:
                continue
            if _total(data, start + _LONG_BYTES, levels, items) == number_at(data, start + 8, 8):
                ks[row], counts[row] = k, items


_measure: Any = compile_kernel(_measure_images)


def _read_images(
    rows: Any, size: Any, offsets: Any, places: Any, weights: Any, bounds: Any
) -> None:
    """Finds the place of each item in the bytes, and its weight."""
    data = rows.data
    for row in range(len(rows.starts)):
        start, place = rows.starts[row], offsets[row]
        count = offsets[row + 1] - place
        if count == 0:
            continue
        if data[start] == SHORT:
            places[place], weights[place] = start + SHORT_BYTES, 1
            bounds[0, row] = bounds[1, row] = start + SHORT_BYTES
            continue
        levels = np.int64(data[start + 18])
        values = start + _LONG_BYTES + LEVEL_BYTES * levels
        bounds[0, row], bounds[1, row] = values, values + size
        first = number_at(data, start + _LONG_BYTES, LEVEL_BYTES)
        level = 0
        for index in range(count):
            while level + 1 < levels:
                edge = start + _LONG_BYTES + LEVEL_BYTES * (level + 1)
                if index < number_at(data, edge, LEVEL_BYTES) - first:
                    break
                level += 1
            places[place + index] = values + size * (index + 2)
            weights[place + index] = np.int64(1) << level


_read: Any = compile_kernel(_read_images)
