"""Arrow columns of bytes as arrays for compiled code."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.runtime.columns.partials import Int64s

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class ByteRows:
    """Rows of bytes: row i is `data[starts[i] : ends[i]]`."""

    starts: Int64s
    ends: Int64s
    data: Bytes

    def __len__(self) -> int:
        return len(self.starts)


def rows_of(column: pa.Array) -> ByteRows:
    """Returns the bytes of an Arrow column of large binaries; a null is empty."""
    _, offsets, data = column.buffers()
    places = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    # Writable copies: read-only memory is another type to a kernel.
    starts, ends = places[:-1].copy(), places[1:].copy()
    if column.null_count:
        ends = np.where(column.is_valid().to_numpy(zero_copy_only=False), ends, starts)
    # A column of nothing may have no buffer.
    raw = np.frombuffer(data, np.uint8).copy() if data is not None else np.empty(0, np.uint8)
    return ByteRows(starts=starts, ends=ends, data=raw)


def arrow_of(offsets: Int64s, data: Bytes) -> pa.Array:
    """Returns rows that follow each other as an Arrow column."""
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)
