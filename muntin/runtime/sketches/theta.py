"""Theta sketches of windows, byte by byte as Spark's: of values, and of sketches.

A sketch keeps the least hashes of a set of values, in order, and theta: every hash of the set below
theta is kept. So its bytes follow from the set, in whatever order its values came.

An image begins with eight bytes. Behind them stand theta, if it is not the whole range, the number
of hashes, and the differences of neighbouring hashes, packed bit by bit. No hash and a single one
have shorter images. Images that are read may also have whole hashes in place of differences.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from muntin.runtime.columns.arrow_arrays import arrow_of, number_at, put_number, rows_of
from muntin.runtime.columns.partials import Bools, Int64s
from muntin.runtime.columns.value_sets import SetColumn, offsets_of, sums_of
from muntin.runtime.sketches.murmur import hash_entries
from muntin.techniques.kernels.compile import compile_kernel, inline

# The theta of a sketch that has all hashes.
WHOLE = np.int64((1 << 63) - 1)

# The first eight bytes: their number, a version, a family, two of packed hashes, flags, and the
# hash of the seed.
_PLAIN, _PACKED = 3, 4
_FAMILY = 3
_SEED_LOW, _SEED_HIGH = 0xCC, 0x93
_READ_ONLY, _EMPTY, _COMPACT, _ORDERED, _SINGLE = 2, 4, 8, 16, 32
_FLAGS = _READ_ONLY | _COMPACT | _ORDERED
# The float 1.0, a probability that is not used.
_CERTAIN = np.int64(0x3F800000)
_NO_LIMIT = np.iinfo(np.int64).max // 2


class HashRuns(NamedTuple):
    """Runs of different hashes below a theta: run i is `hashes[offsets[i] : offsets[i + 1]]`."""

    hashes: Int64s
    offsets: Int64s
    thetas: Int64s
    is_sketch: Bools


class SketchHashes(NamedTuple):
    """Sketches: i has `counts[i]` ascending hashes from `starts[i]` on, and a theta."""

    hashes: Int64s
    starts: Int64s
    counts: Int64s
    thetas: Int64s


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
    """Returns the union of each row's sketches, with up to `2 ** bits` hashes. A row with bytes
    that are no sketch is empty, and Spark raises its error for it."""
    runs = read_images(column.coding.values)
    # Sketches share hashes: of twice as many, enough differ as a rule.
    return _combine(column.offsets, column.codes, runs, 1 << bits, (2 << bits) + 1)


def common_sketches(column: SetColumn) -> pa.Array:
    """Returns the intersection of each row's sketches. A row with bytes that are no sketch is
    empty, and Spark raises its error for it."""
    return _combine(column.offsets, column.codes, read_images(column.coding.values), _NO_LIMIT)


def _combine(
    offsets: Int64s, numbers: Int64s, runs: HashRuns, most: int, enough: int | None = None
) -> pa.Array:
    """Returns sketches of up to `most` hashes; row i combines the runs numbered
    `numbers[offsets[i] : offsets[i + 1]]`.

    With `enough`, sketches are unions, and only so many of the least hashes are sorted at first;
    without, they are intersections.
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


_measure_row, _gather, _keep = inline(_measure_runs), inline(_gather_hashes), inline(_keep_least)


def _fill_sketches(
    offsets: Any, numbers: Any, runs: Any, most: Any, enough: Any, sketches: Any
) -> None:
    """Unites the runs of each row, or intersects them if `enough` is negative."""
    gathered = np.empty(0, np.int64)
    for row in range(len(sketches.counts)):
        own = numbers[offsets[row] : offsets[row + 1]]
        theta, total, is_empty = _measure_row(own, runs)
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


_fill: Any = compile_kernel(_fill_sketches)


def read_images(images: pa.Array | None) -> HashRuns:
    """Returns the hashes of sketches; bytes that are no sketch have none."""
    rows = rows_of(images)
    counts = np.zeros(len(rows.starts), np.int64)
    thetas = np.full(len(rows.starts), WHOLE)
    _measure(rows, counts, thetas)
    offsets = offsets_of(np.maximum(counts, 0))
    hashes = np.empty(offsets[-1], np.int64)
    _read(rows, offsets, hashes)
    return HashRuns(hashes, offsets, thetas, is_sketch=counts >= 0)


def write_images(sketches: SketchHashes, chosen: Bools) -> pa.Array:
    """Returns the image of each chosen sketch; others are empty."""
    widths, sizes = np.zeros((2, len(chosen)), np.int64)
    _size(sketches, widths, sizes)
    sizes[~chosen] = 0
    offsets = offsets_of(sizes)
    data = np.zeros(offsets[-1], np.uint8)
    _write(sketches, widths, offsets, data)
    return arrow_of(offsets, data)


def _measure_images(rows: Any, counts: Any, thetas: Any) -> None:
    """Finds the theta of each image, and how many hashes it has, -1 if it is not one."""
    data = rows.data
    for row in range(len(rows.starts)):
        start, size = rows.starts[row], rows.ends[row] - rows.starts[row]
        counts[row] = -1
        if size < 8 or data[start + 2] != _FAMILY:
            continue
        words, version, flags = data[start] & 63, data[start + 1], data[start + 5]
        if version == _PLAIN and flags & _COMPACT and flags & _READ_ONLY:
            if flags & _EMPTY or (words == 1 and size == 8):
                counts[row] = 0
                continue
            head = 8 * np.int64(words)
            if words < 1 or words > 3 or size < head:
                continue
            count = np.int64(1) if words == 1 else number_at(data, start + 8, 4)
            theta = number_at(data, start + 16, 8) if words == 3 else WHOLE
            needed = head + 8 * count
        elif version == _PACKED:
            head = 8 * np.int64(words)
            figures = np.int64(data[start + 4])
            if words < 1 or words > 2 or figures > 4 or size < head + figures:
                continue
            theta = number_at(data, start + 8, 8) if words == 2 else WHOLE
            count = number_at(data, start + head, figures)
            needed = head + figures + (count * np.int64(data[start + 3]) + 7) // 8
        else:
            continue
        is_ours = data[start + 6] == _SEED_LOW and data[start + 7] == _SEED_HIGH
        if is_ours and count >= 0 and size >= needed:
            counts[row], thetas[row] = count, theta


def _read_hashes(rows: Any, offsets: Any, hashes: Any) -> None:
    data = rows.data
    for row in range(len(rows.starts)):
        start = rows.starts[row]
        first, last = offsets[row], offsets[row + 1]
        if first == last:
            continue
        place = start + 8 * np.int64(data[start] & 63)
        if data[start + 1] == _PLAIN:
            for hash_ in range(first, last):
                hashes[hash_] = number_at(data, place + 8 * (hash_ - first), 8)
            continue
        width = np.int64(data[start + 3])
        place += np.int64(data[start + 4])
        bit = np.int64(0)
        total = np.int64(0)
        for hash_ in range(first, last):
            word = np.int64(0)
            left = width
            while left > 0:
                taken = min(8 - (bit & 7), left)
                byte = np.int64(data[place + (bit >> 3)])
                rest = 8 - (bit & 7) - taken
                word = (word << taken) | ((byte >> rest) & ((1 << taken) - 1))
                left -= taken
                bit += taken
            total += word
            hashes[hash_] = total


def _size_images(sketches: Any, widths: Any, sizes: Any) -> None:
    """Finds the bits of a difference of hashes, zero if they are not packed, and whole sizes."""
    hashes, starts, counts, thetas = sketches
    for row in range(len(counts)):
        count = counts[row]
        is_whole = thetas[row] == WHOLE
        if count == 0:
            sizes[row] = 8 if is_whole else 24
        elif count == 1 and is_whole:
            sizes[row] = 16
        else:
            differing = np.int64(0)
            before = np.int64(0)
            for place in range(starts[row], starts[row] + count):
                differing |= hashes[place] - before
                before = hashes[place]
            while differing >> widths[row]:
                widths[row] += 1
            figures = 1
            while count >> np.int64(8 * figures):
                figures += 1
            head = 8 if is_whole else 16
            sizes[row] = head + figures + (count * widths[row] + 7) // 8


def _write_hashes(sketches: Any, widths: Any, offsets: Any, data: Any) -> None:
    hashes, starts, counts, thetas = sketches
    for row in range(len(counts)):
        at, count, width = offsets[row], counts[row], widths[row]
        if offsets[row + 1] == at:
            continue
        is_whole = thetas[row] == WHOLE
        data[at + 2] = _FAMILY
        if count == 0 and is_whole:
            data[at], data[at + 1], data[at + 5] = 1, _PLAIN, _FLAGS | _EMPTY
            continue
        data[at + 6], data[at + 7] = _SEED_LOW, _SEED_HIGH
        if width == 0:
            data[at + 1] = _PLAIN
            if count == 1:
                data[at], data[at + 5] = 1, _FLAGS | _SINGLE
                put_number(data, at + 8, 8, hashes[starts[row]])
            else:
                data[at], data[at + 5] = 3, _FLAGS
                put_number(data, at + 12, 4, _CERTAIN)
                put_number(data, at + 16, 8, thetas[row])
            continue
        data[at + 1], data[at + 3], data[at + 5] = _PACKED, width, _FLAGS
        data[at] = 1 if is_whole else 2
        place = at + 8
        if not is_whole:
            put_number(data, place, 8, thetas[row])
            place += 8
        figures = offsets[row + 1] - place - (count * width + 7) // 8
        data[at + 4] = figures
        put_number(data, place, figures, count)
        place += figures
        bit = np.int64(0)
        before = np.int64(0)
        for entry in range(starts[row], starts[row] + count):
            word = hashes[entry] - before
            before = hashes[entry]
            left = width
            while left > 0:
                taken = min(8 - (bit & 7), left)
                rest = 8 - (bit & 7) - taken
                part = (word >> (left - taken)) & ((np.int64(1) << taken) - 1)
                data[place + (bit >> 3)] |= np.uint8(part << rest)
                left -= taken
                bit += taken


_measure: Any = compile_kernel(_measure_images)
_read: Any = compile_kernel(_read_hashes)
_size: Any = compile_kernel(_size_images)
_write: Any = compile_kernel(_write_hashes)
