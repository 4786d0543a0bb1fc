"""Theta sketches of windows, byte by byte as Spark's: of values, and of sketches.

A sketch keeps the least hashes of a set of values, in order, and theta: every hash of the set below
theta is kept. So its bytes follow from the set, in whatever order its values came.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.runtime.columns.partials import Int64s
from muntin.runtime.sketches.images import images_of
from muntin.runtime.sketches.murmur import hashed
from muntin.runtime.sketches.theta_images import WHOLE, HashRuns, read_images, write_images
from muntin.runtime.value_sets.set_column import SetColumn, offsets_of
from muntin.techniques.compiled.compile import compiled

_NO_LIMIT = np.iinfo(np.int64).max // 2


@dataclass(frozen=True, kw_only=True)
class _Members:
    """What the sets of windows consist of: entry `e` of a column is the run `numbers[e]`.

    `repeats` says how often hashes occur in several runs of a row: of so many times the hashes that
    are kept, enough differ as a rule.
    """

    numbers: Int64s
    runs: HashRuns
    repeats: int


def sketches_of_values(column: SetColumn, bits: int) -> pa.Array:
    """Returns the sketch of each row's values, with up to `2 ** bits` hashes."""
    numbers, words = hashed(column)
    hashes = (words[:, 0] >> np.uint64(1)).astype(np.int64)
    runs = HashRuns(
        hashes=hashes,
        offsets=np.arange(len(hashes) + 1),
        thetas=np.full(len(hashes), WHOLE),
        is_sketch=np.ones(len(hashes), np.bool_),
    )
    members = _Members(numbers=numbers, runs=runs, repeats=1)
    return _combined(column, members, 1 << bits, is_union=True)


def united_sketches(column: SetColumn, bits: int) -> pa.Array:
    """Returns the union of each row's sketches, with up to `2 ** bits` hashes; where one of them is
    no sketch, nothing, from which Spark makes its error."""
    return _combined(column, _members(column), 1 << bits, is_union=True)


def common_sketches(column: SetColumn) -> pa.Array:
    """Returns the intersection of each row's sketches; where one of them is no sketch, nothing,
    from which Spark makes its error."""
    return _combined(column, _members(column), _NO_LIMIT, is_union=False)


def _members(column: SetColumn) -> _Members:
    runs = read_images(images_of(column))
    return _Members(numbers=column.codes, runs=runs, repeats=2)


def _combined(column: SetColumn, members: _Members, most: int, *, is_union: bool) -> pa.Array:
    runs, offsets = members.runs, column.offsets
    lengths = np.diff(runs.offsets)[members.numbers]
    # A hash of an intersection is in all of the sketches.
    totals = _sums(lengths, offsets) // (1 if is_union else np.maximum(np.diff(offsets), 1))
    starts = offsets_of(np.minimum(totals, most))
    kept = np.empty(starts[-1], np.int64)
    counts = np.zeros(len(column), np.int64)
    thetas = np.empty(len(column), np.int64)
    _combine(
        members.numbers,
        offsets,
        runs.hashes,
        runs.offsets,
        runs.thetas,
        most,
        members.repeats,
        is_union,
        starts,
        kept,
        counts,
        thetas,
    )
    is_wrong = _sums((~runs.is_sketch)[members.numbers].astype(np.int64), offsets) > 0
    return write_images(kept, starts, counts, thetas, ~is_wrong)


def _sums(numbers: Int64s, offsets: Int64s) -> Int64s:
    totals = offsets_of(numbers)
    sums: Int64s = totals[offsets[1:]] - totals[offsets[:-1]]
    return sums


def _combine_runs(
    numbers: Any,
    offsets: Any,
    hashes: Any,
    places: Any,
    limits: Any,
    most: Any,
    repeats: Any,
    is_union: Any,
    starts: Any,
    kept: Any,
    counts: Any,
    thetas: Any,
) -> None:
    """Unites or intersects the runs of each row, and keeps the least hashes, `most` at most.

    A run of no hashes whose theta is the whole range stands for no values.
    """
    room = np.empty(0, np.int64)
    for row in range(len(counts)):
        theta = WHOLE
        total = 0
        is_empty = False
        for entry in range(offsets[row], offsets[row + 1]):
            number = numbers[entry]
            length = places[number + 1] - places[number]
            theta = min(theta, limits[number])
            total += length
            is_empty |= length == 0 and limits[number] == WHOLE
        if is_empty and not is_union:
            counts[row], thetas[row] = 0, WHOLE
            continue
        if total > len(room):
            room = np.empty(2 * total, np.int64)
        size = 0
        for entry in range(offsets[row], offsets[row + 1]):
            number = numbers[entry]
            for place in range(places[number], places[number + 1]):
                if 0 < hashes[place] < theta:
                    room[size] = hashes[place]
                    size += 1
        needed = 1 if is_union else offsets[row + 1] - offsets[row]
        # Of many hashes only the least are put in order, if enough of these differ.
        few = min(repeats * most + 1, size) if is_union else size
        while True:
            if few < size:
                least = np.sort(np.partition(room[:size], few)[:few])
            else:
                least = np.sort(room[:size])
            count = 0
            occurrences = 0
            cut = theta
            for place in range(few):
                is_same = place > 0 and least[place] == least[place - 1]
                occurrences = occurrences + 1 if is_same else 1
                if occurrences == needed:
                    if count == most:
                        cut = least[place]
                        break
                    kept[starts[row] + count] = least[place]
                    count += 1
            if cut < theta or few == size:
                break
            few = size
        counts[row], thetas[row] = count, cut


_combine: Any = compiled(_combine_runs)
