"""KLL sketches of windows, from values and how often each occurs, in the form of DataSketches.

A sketch has levels. An item of level h stands for 2^h values. Those of Spark halve full levels at
random, so each halving adds an error. Here all values of a window are known and in order: items
stand for values that follow each other, in the middle of them. So a rank is off by at most half of
what the heaviest item stands for.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike

from muntin.runtime.columns.partials import Bools, Int64s
from muntin.runtime.entries.entry_codes import floats
from muntin.runtime.entries.entry_column import ends
from muntin.runtime.entries.entry_ranges import EntryRanges
from muntin.runtime.registers.rows import Bytes, arrow_of
from muntin.techniques.compiled.compile import compiled
from muntin.techniques.sweeps import ranked_counts

_FAMILY = 15
# The least capacity of a level.
_LEAST = 8
# What the bytes of a preamble say: its length in words of four bytes, and the form of the sketch.
_SHORT, _LONG = 2, 5
_PLAIN, _SINGLE = 1, 2
_IS_EMPTY, _IS_SORTED, _IS_SINGLE = 1, 2, 4
_PREAMBLE = np.dtype(
    [
        *(("words", "u1"), ("version", "u1"), ("family", "u1"), ("flags", "u1")),
        *(("k", "<u2"), ("m", "u1"), ("unused", "u1"), ("n", "<i8")),
        *(("min_k", "<u2"), ("levels", "u1"), ("free", "u1")),
    ]
)
_PREAMBLE_BYTES, _SHORT_BYTES, _LEVEL_BYTES = _PREAMBLE.itemsize, 4 * _SHORT, 4
# Windows have fewer values than this.
_MANY = 1 << 62


class _Levels(NamedTuple):
    """How many items the levels of a sketch may have, by the number of levels less one."""

    capacities: Int64s
    # The items of all levels together, and how many values they stand for.
    items: Int64s
    values: Int64s


def kll_sketches(sets: EntryRanges, k: int, kind: DTypeLike) -> pa.Array:
    """Returns the sketch of each window's values, with items of a type of numpy.

    NaN are left out, as by Spark. The least and the greatest value are exact, and so is their
    number.
    """
    levels = _levels(k)
    totals = _totals(sets, np.dtype(kind))
    heights = np.searchsorted(levels.values, totals).astype(np.int64)
    sizes = np.zeros((len(sets), heights.max(initial=0) + 1), np.int64)
    _fill(totals, heights, levels.capacities, sizes)
    retained = sizes.sum(axis=1)
    # A sketch of several values has the least and the greatest one before its items.
    starts = ends(np.where(totals > 1, retained + 2, totals))
    positions = np.empty(starts[-1], np.int64)
    _place(totals, heights, sizes, starts, positions)
    ranked = sets.folding.ranked
    ranks = ranked_counts.ranks_at(ranked, sets.lows, sets.highs, starts, positions)
    codes = sets.folding.column.codes[ranked.entries[ranks]]
    items = (codes if np.dtype(kind).kind == "i" else floats(codes)).astype(kind)
    return _written(totals, heights, sizes, starts, items, k)


def _totals(sets: EntryRanges, kind: np.dtype[Any]) -> Int64s:
    """Returns how many values each window has that are not NaN. NaN are the last in order."""
    column, ranked = sets.folding.column, sets.folding.ranked
    if kind.kind == "f":
        missing: Bools = np.isnan(floats(column.codes))
        ranked = ranked._replace(counts=np.where(missing, 0, ranked.counts))
    totals: Int64s = ranked_counts.totals_of(ranked, sets.lows, sets.highs)
    return totals


@cache
def _levels(k: int) -> _Levels:
    """Returns the capacities of levels: each has two thirds of the one above, the highest k."""
    rows: list[list[int]] = []
    while not rows or _weight(rows[-1]) < _MANY:
        height = len(rows)
        rows.append([max(_LEAST, _capacity(k, height - level)) for level in range(height + 1)])
    capacities = np.zeros((len(rows), len(rows)), np.int64)
    for index, row in enumerate(rows):
        capacities[index, : len(row)] = row
    values = [min(_weight(row), _MANY) for row in rows]
    return _Levels(capacities, capacities.sum(axis=1), np.array(values, np.int64))


def _capacity(k: int, depth: int) -> int:
    """Returns `k * (2 / 3) ** depth`, rounded as DataSketches rounds it: deep ones in two steps."""
    if depth > 30:
        half = depth // 2
        return _capacity(_capacity(k, half), depth - half)
    return ((k << depth + 1) // int(3**depth) + 1) >> 1


def _weight(sizes: list[int]) -> int:
    return sum(size << level for level, size in enumerate(sizes))


def _fill_levels(totals: Any, heights: Any, capacities: Any, sizes: Any) -> None:
    """Choose how many items each level has: as many as fit, from the highest level down."""
    for window in range(len(totals)):
        left = totals[window]
        height = heights[window]
        for step in range(height + 1):
            level = height - step
            sizes[window, level] = min(capacities[height, level], left >> level)
            left -= sizes[window, level] << level


_fill: Any = compiled(_fill_levels)


def _place_items(totals: Any, heights: Any, sizes: Any, starts: Any, positions: Any) -> None:
    """Choose where items stand among the values in order, and write them level by level.

    Half of each level is at either end, the lightest items outermost: the tails are the most exact.
    """
    for window in range(len(totals)):
        total = totals[window]
        if total == 0:
            continue
        if total == 1:
            positions[starts[window]] = 0
            continue
        place = starts[window]
        positions[place] = 0
        positions[place + 1] = total - 1
        place += 2
        below, above = 0, total
        for level in range(heights[window] + 1):
            size = sizes[window, level]
            upper = size // 2
            above -= upper << level
            # An item stands for the values around it.
            middle = ((1 << level) - 1) // 2
            for index in range(size - upper):
                positions[place] = below + (index << level) + middle
                place += 1
            for index in range(upper):
                positions[place] = above + (index << level) + middle
                place += 1
            below += (size - upper) << level


_place: Any = compiled(_place_items)


def _written(
    totals: Int64s, heights: Int64s, sizes: Int64s, starts: Int64s, items: np.ndarray, k: int
) -> pa.Array:
    """Returns sketches: a preamble, where levels begin, then values."""
    is_long = totals > 1
    preambles = np.zeros(len(totals), _PREAMBLE)
    preambles["words"] = np.where(is_long, _LONG, _SHORT)
    preambles["version"] = np.where(totals == 1, _SINGLE, _PLAIN)
    preambles["family"], preambles["k"], preambles["m"] = _FAMILY, k, _LEAST
    flags = np.where(totals == 1, _IS_SINGLE, _IS_SORTED)
    preambles["flags"] = np.where(totals == 0, _IS_EMPTY, flags)
    preambles["n"], preambles["min_k"], preambles["levels"] = totals, k, heights + 1
    # Free places come first, so that the last level ends where the capacity does.
    free = _levels(k).items[heights] - sizes.sum(axis=1)
    before = free[:, None] + np.cumsum(sizes, axis=1) - sizes
    heads = np.where(is_long, _PREAMBLE_BYTES + _LEVEL_BYTES * (heights + 1), _SHORT_BYTES)
    offsets = ends(heads + items.itemsize * np.diff(starts))
    data = np.zeros(offsets[-1], np.uint8)
    rows = preambles.view(np.uint8).reshape(len(totals), _PREAMBLE_BYTES)
    edges = before.astype("<i4").view(np.uint8).reshape(len(totals), _LEVEL_BYTES * sizes.shape[1])
    _write(rows, edges, heads, items.view(np.uint8), starts * items.itemsize, offsets, data)
    return arrow_of(offsets, data)


def _write_rows(
    preambles: Bytes,
    edges: Bytes,
    heads: Int64s,
    items: Bytes,
    starts: Int64s,
    offsets: Int64s,
    data: Bytes,
) -> None:
    for row in range(len(heads)):
        place = offsets[row]
        for byte in range(heads[row]):
            if byte < preambles.shape[1]:
                data[place] = preambles[row, byte]
            else:
                data[place] = edges[row, byte - preambles.shape[1]]
            place += 1
        for byte in range(starts[row], starts[row + 1]):
            data[place] = items[byte]
            place += 1


_write: Any = compiled(_write_rows)
