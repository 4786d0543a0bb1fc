"""KLL sketches of windows, of values with how often each occurs, or of sketches, in the form of
Apache DataSketches.

A sketch has levels. An item of level h stands for 2^h values. Spark's sketches halve full levels at
random, so each halving adds an error. Here all values of a window are known and in order: an item
is the middle one of the consecutive values that it stands for. So a rank is off by at most half of
the number of values that the heaviest item stands for.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import DTypeLike

from muntin.aggregates.parameters import KLL_ACCURACY
from muntin.runtime.columns.arrow_arrays import byte_runs, join_rows, trimmed_rows
from muntin.runtime.columns.partials import Bools, Int64s
from muntin.runtime.columns.value_codes import floats
from muntin.runtime.columns.value_sets import SetColumn, WindowSets, offsets_of
from muntin.runtime.sketches.kll_images import (
    FAMILY,
    IS_EMPTY,
    IS_SINGLE,
    IS_SORTED,
    LEAST,
    LEVEL_BYTES,
    LONG,
    PLAIN,
    PREAMBLE,
    SHORT,
    SHORT_BYTES,
    SINGLE,
    WeightedItems,
    read_images,
)
from muntin.techniques.kernels.compile import compile_kernel
from muntin.techniques.sweeps import ranked_counts

# Windows have fewer values than this.
_MANY = 1 << 62


class _Levels(NamedTuple):
    """How many items the levels of a sketch may have, by the number of levels less one."""

    capacities: Int64s
    # The items of all levels together, and how many values they stand for.
    items: Int64s
    values: Int64s


def kll_sketches(sets: WindowSets, k: int, kind: DTypeLike) -> pa.Array:
    """Returns the sketch of each window's values, with items of a numpy type.

    NaN are left out, as by Spark. The least value, the greatest and the number of values are exact.
    """
    totals = _totals(sets, np.dtype(kind))
    shapes = _shapes(totals, k)
    ranked = sets.folding.ranked_entries
    starts, positions = shapes.starts, shapes.positions
    ranks = ranked_counts.ranks_at(ranked, sets.lows, sets.highs, starts, positions)
    codes = sets.folding.column.codes[ranked.entries[ranks]]
    items = (codes if np.dtype(kind).kind == "i" else floats(codes)).astype(kind)
    return _write(totals, shapes, items, k)


def united_sketches(column: SetColumn, k: int | None, kind: DTypeLike) -> pa.Array:
    """Returns the union of each row's sketches, with items of a numpy type.

    Without `k`, a union has the least k of its sketches. A row with bytes that are no sketch is
    empty, and Spark raises its error for it.
    """
    runs = read_images(column.coding.values, kind)
    rows = np.repeat(np.arange(len(column)), np.diff(column.offsets))
    ks = np.full(len(column), _MANY)
    np.minimum.at(ks, rows, runs.ks[column.codes])
    is_wrong = ks == 0
    ks = (
        np.where((ks == _MANY) | is_wrong, KLL_ACCURACY, ks)
        if k is None
        else np.full(len(column), k)
    )
    merged = _merge(column, runs, rows)
    totals = np.diff(merged.before)
    made, chosen = [], []
    for accuracy in np.unique(ks).tolist():
        mine = np.flatnonzero(ks == accuracy)
        shapes = _shapes(totals[mine], accuracy)
        of_place = np.repeat(mine, np.diff(shapes.starts))
        places = np.searchsorted(
            merged.reached, merged.before[of_place] + shapes.positions, "right"
        )
        items = merged.items[places]
        several = np.flatnonzero(totals[mine] > 1)
        first = shapes.starts[several]
        items[first] = merged.least[mine[several]]
        items[first + 1] = merged.greatest[mine[several]]
        made.append(_write(totals[mine], shapes, items, accuracy))
        chosen.append(mine)
    sketches = pa.concat_arrays(made) if made else pa.array([], pa.large_binary())
    order = np.argsort(np.concatenate([*chosen, np.empty(0, np.int64)]))
    nothing = pa.scalar(b"", pa.large_binary())
    return pc.if_else(pa.array(is_wrong), nothing, sketches.take(pa.array(order)))


class _RowItems(NamedTuple):
    """The items of the sketches of each row, in order. `reached` is the number of values that the
    items up to each one stand for; `before` is the number before each row's items."""

    items: np.ndarray
    reached: Int64s
    before: Int64s
    # The least and the greatest value of each row; zero if it has none.
    least: np.ndarray
    greatest: np.ndarray


def _merge(column: SetColumn, runs: WeightedItems, rows: Int64s) -> _RowItems:
    """Returns the items of all sketches of each row; entries are of `rows`."""
    assert column.counts is not None
    lengths = np.diff(runs.offsets)[column.codes]
    starts = offsets_of(lengths)
    places = np.arange(starts[-1]) + np.repeat(runs.offsets[column.codes] - starts[:-1], lengths)
    weights = runs.weights[places] * np.repeat(column.counts, lengths)
    of_row = np.repeat(rows, lengths)
    order = np.lexsort((runs.items[places], of_row))
    reached = np.cumsum(weights[order])
    least, greatest = (np.zeros(len(column), runs.items.dtype) for _ in range(2))
    has_items = lengths > 0
    numbers, rows = column.codes[has_items], rows[has_items]
    if len(rows):
        begins = np.flatnonzero(np.diff(rows, prepend=-1))
        least[rows[begins]] = np.minimum.reduceat(runs.least[numbers], begins)
        greatest[rows[begins]] = np.maximum.reduceat(runs.greatest[numbers], begins)
    return _RowItems(
        items=runs.items[places][order],
        reached=reached,
        before=offsets_of(weights[order])[starts[column.offsets]],
        least=least,
        greatest=greatest,
    )


class _Shapes(NamedTuple):
    """`heights[i]` is the number of levels of sketch i less one, and `sizes[i]` has the number of
    items of each level. Its items are the values at `positions[starts[i] : starts[i + 1]]` of all
    its values in order."""

    heights: Int64s
    sizes: Int64s
    starts: Int64s
    positions: Int64s


def _shapes(totals: Int64s, k: int) -> _Shapes:
    levels = _levels(k)
    heights = np.searchsorted(levels.values, totals).astype(np.int64)
    sizes = np.zeros((len(totals), heights.max(initial=0) + 1), np.int64)
    _fill(totals, heights, levels.capacities, sizes)
    # A sketch of several values has the least and the greatest one before its items.
    starts = offsets_of(np.where(totals > 1, sizes.sum(axis=1) + 2, totals))
    positions = np.empty(starts[-1], np.int64)
    _place(totals, heights, sizes, starts, positions)
    return _Shapes(heights, sizes, starts, positions)


def _totals(sets: WindowSets, kind: np.dtype[Any]) -> Int64s:
    """Returns how many values other than NaN each window has. NaN are the last in order."""
    column, ranked = sets.folding.column, sets.folding.ranked_entries
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
        rows.append([max(LEAST, _capacity(k, height - level)) for level in range(height + 1)])
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
    """Chooses how many items each level has: as many as fit, from the highest level down."""
    for window in range(len(totals)):
        left = totals[window]
        height = heights[window]
        for step in range(height + 1):
            level = height - step
            sizes[window, level] = min(capacities[height, level], left >> level)
            left -= sizes[window, level] << level


_fill: Any = compile_kernel(_fill_levels)


def _place_items(totals: Any, heights: Any, sizes: Any, starts: Any, positions: Any) -> None:
    """Chooses the positions of items among the values in order, and writes them level by level.

    Half of each level is at either end, the lightest items outermost, so the tails are most exact.
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


_place: Any = compile_kernel(_place_items)


def _write(totals: Int64s, shapes: _Shapes, items: np.ndarray, k: int) -> pa.Array:
    """Returns sketches: a preamble, where levels begin, then values."""
    heights, sizes, starts = shapes.heights, shapes.sizes, shapes.starts
    is_long = totals > 1
    preambles = np.zeros(len(totals), PREAMBLE)
    preambles["words"] = np.where(is_long, LONG, SHORT)
    preambles["version"] = np.where(totals == 1, SINGLE, PLAIN)
    preambles["family"], preambles["k"], preambles["m"] = FAMILY, k, LEAST
    flags = np.where(totals == 1, IS_SINGLE, IS_SORTED)
    preambles["flags"] = np.where(totals == 0, IS_EMPTY, flags)
    preambles["n"], preambles["min_k"], preambles["levels"] = totals, k, heights + 1
    # Free places come first, so that the last level ends where the capacity does.
    free = _levels(k).items[heights] - sizes.sum(axis=1)
    before = free[:, None] + np.cumsum(sizes, axis=1) - sizes
    return join_rows(
        trimmed_rows(preambles, np.where(is_long, PREAMBLE.itemsize, SHORT_BYTES)),
        trimmed_rows(before.astype("<i4"), np.where(is_long, LEVEL_BYTES * (heights + 1), 0)),
        byte_runs(starts, items),
    )
