"""Theta sketches of windows, byte by byte as Spark's: of values, and of sketches.

A sketch keeps the least hashes of a set of values, in order, and theta: every hash of the set below
theta is kept. So its bytes follow from the set, in whatever order its values came.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from muntin.runtime.columns.partials import Int64s
from muntin.runtime.sketches.murmur import hash_entries
from muntin.runtime.sketches.theta_images import (
    WHOLE,
    HashRuns,
    SketchHashes,
    read_images,
    write_images,
)
from muntin.runtime.value_sets.set_column import SetColumn, offsets_of, sums_of
from muntin.techniques.compiled.compile import compiled, inlined

_NO_LIMIT = np.iinfo(np.int64).max // 2


def sketches_of_values(column: SetColumn, bits: int) -> pa.Array:
    """Returns the sketch of each row's values, with up to `2 ** bits` hashes."""
    numbers, words = hash_entries(column)
    hashes = (words[:, 0] >> np.uint64(1)).astype(np.int64)
    runs = HashRuns(
        hashes=hashes,
        offsets=np.arange(len(hashes) + 1),
        thetas=np.full(len(hashes), WHOLE),
        is_sketch=np.ones(len(hashes), np.bool_),
    )
    # Of so many hashes, enough differ to fill a sketch.
    return _combine(column.offsets, numbers, runs, 1 << bits, (1 << bits) + 1)


def united_sketches(column: SetColumn, bits: int) -> pa.Array:
    """Returns the union of each row's sketches, with up to `2 ** bits` hashes; where one of them is
    no sketch, nothing, from which Spark makes its error."""
    runs = read_images(column.coding.values)
    # Sketches share hashes: of twice as many, enough differ as a rule.
    return _combine(column.offsets, column.codes, runs, 1 << bits, (2 << bits) + 1)


def common_sketches(column: SetColumn) -> pa.Array:
    """Returns the intersection of each row's sketches; where one of them is no sketch, nothing,
    from which Spark makes its error."""
    return _combine(column.offsets, column.codes, read_images(column.coding.values), _NO_LIMIT)


def _combine(
    offsets: Int64s, numbers: Int64s, runs: HashRuns, most: int, enough: int | None = None
) -> pa.Array:
    """Returns sketches of up to `most` hashes; row i is of `runs[numbers[offsets[i] : ...]]`.

    They are unions if so many hashes are `enough` to look at first, else intersections.
    """
    totals = sums_of(np.diff(runs.offsets)[numbers], offsets)
    if enough is None:
        # A hash of an intersection is in all of the sketches.
        totals //= np.maximum(np.diff(offsets), 1)
    starts = offsets_of(np.minimum(totals, most))
    counts, thetas = np.zeros((2, len(totals)), np.int64)
    sketches = SketchHashes(np.empty(starts[-1], np.int64), starts, counts, thetas)
    _fill(offsets, numbers, runs, most, -1 if enough is None else enough, sketches)
    is_wrong = sums_of((~runs.is_sketch)[numbers].astype(np.int64), offsets) > 0
    return write_images(sketches, ~is_wrong)


def _measure_runs(numbers: Any, runs: Any) -> Any:
    """Returns the least theta of some runs, how many hashes they have, and whether one is of no
    values: it has no hashes, and its theta is the whole range."""
    theta, total, is_empty = WHOLE, 0, False
    for number in numbers:
        length = runs.offsets[number + 1] - runs.offsets[number]
        theta = min(theta, runs.thetas[number])
        total += length
        is_empty |= length == 0 and runs.thetas[number] == WHOLE
    return theta, total, is_empty


def _gather_hashes(numbers: Any, runs: Any, theta: Any, gathered: Any) -> Any:
    """Copies the hashes below theta; returns how many there are."""
    size = 0
    for number in numbers:
        for place in range(runs.offsets[number], runs.offsets[number + 1]):
            if 0 < runs.hashes[place] < theta:
                gathered[size] = runs.hashes[place]
                size += 1
    return size


def _keep_least(ordered: Any, needed: Any, most: Any, theta: Any, kept: Any) -> Any:
    """Keeps the least hashes that occur `needed` times, `most` at most; returns how many there are,
    and the first that is not kept, or theta."""
    count = occurrences = 0
    for place in range(len(ordered)):
        is_same = place > 0 and ordered[place] == ordered[place - 1]
        occurrences = occurrences + 1 if is_same else 1
        if occurrences == needed:
            if count == most:
                return count, ordered[place]
            kept[count] = ordered[place]
            count += 1
    return count, theta


_measure, _gather, _keep = inlined(_measure_runs), inlined(_gather_hashes), inlined(_keep_least)


def _fill_sketches(
    offsets: Any, numbers: Any, runs: Any, most: Any, enough: Any, sketches: Any
) -> None:
    """Unites the runs of each row, or intersects them if `enough` is negative."""
    gathered = np.empty(0, np.int64)
    for row in range(len(sketches.counts)):
        own = numbers[offsets[row] : offsets[row + 1]]
        theta, total, is_empty = _measure(own, runs)
        if is_empty and enough < 0:
            sketches.thetas[row] = WHOLE
            continue
        if total > len(gathered):
            gathered = np.empty(2 * total, np.int64)
        hashes = gathered[: _gather(own, runs, theta, gathered)]
        kept = sketches.hashes[sketches.starts[row] : sketches.starts[row + 1]]
        count, cut = 0, theta
        # Of many hashes only the least are put in order, if enough of these differ.
        if 0 <= enough < len(hashes):
            least = np.sort(np.partition(hashes, enough)[:enough])
            count, cut = _keep(least, 1, most, theta, kept)
        if cut == theta:
            count, cut = _keep(np.sort(hashes), 1 if enough >= 0 else len(own), most, theta, kept)
        sketches.counts[row], sketches.thetas[row] = count, cut


_fill: Any = compiled(_fill_sketches)
