"""Bitmaps of windows, from the positions or the bitmaps that their sets of values hold."""

from typing import Any

import numpy as np
import pyarrow as pa

from muntin.runtime.columns.arrow_arrays import fixed_rows, rows_of
from muntin.runtime.columns.value_sets import SetColumn
from muntin.techniques.kernels.compile import compile_kernel

# The bytes of a bitmap of Spark's.
_SIZE = 4096


def bitmaps_of_positions(column: SetColumn) -> pa.Array:
    """Returns the bitmap of each row's positions. A row with a position outside of a bitmap is that
    position as text, and Spark raises its error for it."""
    bitmaps = np.zeros((len(column), _SIZE), np.uint8)
    wrong = np.full(len(column), -1, np.int64)
    _set(column.codes, column.offsets, bitmaps, wrong)
    if (wrong < 0).all():
        return fixed_rows(bitmaps)
    return pa.array(
        [
            bitmap.tobytes() if entry < 0 else str(column.codes[entry]).encode()
            for bitmap, entry in zip(bitmaps, wrong, strict=True)
        ],
        pa.large_binary(),
    )


def combined_bitmaps(column: SetColumn, *, is_union: bool) -> pa.Array:
    """Returns the bits that some of each row's bitmaps have, or that all of them have."""
    bitmaps = np.full((len(column), _SIZE), 0 if is_union else 255, np.uint8)
    if len(column.codes):
        _combine(column.codes, column.offsets, rows_of(column.coding.values), bitmaps, is_union)
    return fixed_rows(bitmaps)


def _set_bits(positions: Any, offsets: Any, bitmaps: Any, wrong: Any) -> None:
    bits = 8 * bitmaps.shape[1]
    for row in range(len(bitmaps)):
        for entry in range(offsets[row], offsets[row + 1]):
            position = positions[entry]
            if position < 0 or position >= bits:
                wrong[row] = entry
            else:
                bitmaps[row, position >> 3] |= np.uint8(1 << (position & 7))


def _combine_bits(codes: Any, offsets: Any, values: Any, bitmaps: Any, is_union: Any) -> None:
    """Combines bitmaps byte by byte; one that is too short has no bits behind its end."""
    size = bitmaps.shape[1]
    for row in range(len(bitmaps)):
        for entry in range(offsets[row], offsets[row + 1]):
            start, end = values.starts[codes[entry]], values.ends[codes[entry]]
            length = min(end - start, size)
            if is_union:
                for place in range(length):
                    bitmaps[row, place] |= values.data[start + place]
            else:
                for place in range(length):
                    bitmaps[row, place] &= values.data[start + place]
                for place in range(length, size):
                    bitmaps[row, place] = 0


_set: Any = compile_kernel(_set_bits)
_combine: Any = compile_kernel(_combine_bits)
