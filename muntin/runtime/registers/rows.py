"""Rows of registers: what a slice keeps for `approx_count_distinct`, as a run of bytes.

A value's hash says which register it is in, and its rank there; a register keeps the highest rank.
A row has either a byte for each register, its rank, or three bytes for each register that is not
zero: `index << 6 | rank`, lowest byte first. Whichever is shorter, which the length tells: the
number of registers is a power of two, so it is no multiple of three.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.runtime.columns.partials import Int64s
from muntin.techniques.compiled.compile import compiled, inlined

Bytes = NDArray[np.uint8]
# The bits of a rank, and the bytes of a register that is written with its index.
RANK_BITS = 6
ENTRY = 3


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Rows of bytes: row i is `data[starts[i] : ends[i]]`."""

    starts: Int64s
    ends: Int64s
    data: Bytes

    def __len__(self) -> int:
        return len(self.starts)


def rows_of(column: pa.Array) -> Rows:
    """Returns the bytes of an Arrow column of large binaries; a null is empty."""
    _, offsets, data = column.buffers()
    places = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    # Writable copies: read-only memory is another type to a kernel.
    starts, ends = places[:-1].copy(), places[1:].copy()
    if column.null_count:
        ends = np.where(column.is_valid().to_numpy(zero_copy_only=False), ends, starts)
    # A column of nothing may have no buffer.
    raw = np.frombuffer(data, np.uint8).copy() if data is not None else np.empty(0, np.uint8)
    return Rows(starts=starts, ends=ends, data=raw)


def arrow_of(offsets: Int64s, data: Bytes) -> pa.Array:
    """Returns rows that follow each other as an Arrow column."""
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)


def codes_of(hashes: Int64s, bits: int) -> Int64s:
    """Returns `index << 6 | rank` of each hash, with so many bits of address."""
    codes = np.empty(len(hashes), np.int64)
    _codes(hashes.view(np.uint64), np.uint64(bits), codes)
    return codes


def _zeros_ahead(word: Any) -> Any:
    """Returns the leading zeros of 64 bits that are not all zero."""
    zeros = 0
    for shift in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(64 - shift) == 0:
            zeros += shift
            word = word << np.uint64(shift)
    return zeros


def _fill_codes(hashes: Any, bits: Any, codes: Any) -> None:
    padding = np.uint64(1) << (bits - np.uint64(1))
    for row in range(len(hashes)):
        index = np.int64(hashes[row] >> (np.uint64(64) - bits))
        rank = _zeros((hashes[row] << bits) | padding) + 1
        codes[row] = index << RANK_BITS | rank


_zeros = inlined(_zeros_ahead)
_codes: Any = compiled(_fill_codes)
