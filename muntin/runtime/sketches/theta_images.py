"""Theta sketches as bytes, as Apache DataSketches reads and writes them: compact and in order.

An image begins with eight bytes. Behind them stand theta, if it is not the whole range, the number
of hashes, and the differences of neighbouring hashes, packed bit by bit. No hash and a single one
have shorter images. Images that are read may also have whole hashes in place of differences.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from muntin.runtime.columns.byte_rows import arrow_of, number_at, put_number, rows_of
from muntin.runtime.columns.partials import Bools, Int64s
from muntin.runtime.value_sets.set_column import offsets_of
from muntin.techniques.compiled.compile import compiled

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


def read_images(images: pa.Array | None) -> HashRuns:
    """Returns the hashes of sketches; what is no sketch has none."""
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
    """Finds how many hashes images have, -1 if one is no image, and their thetas."""
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


_measure: Any = compiled(_measure_images)
_read: Any = compiled(_read_hashes)
_size: Any = compiled(_size_images)
_write: Any = compiled(_write_hashes)
