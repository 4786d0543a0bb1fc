"""Arrow columns of numbers or bytes as arrays for compiled code, and bytes back."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.runtime.columns.partials import Float64s, Int64s
from muntin.techniques.kernels.compile import compile_kernel, inline

Bytes = NDArray[np.uint8]


def integers_of(column: pa.Array) -> Int64s:
    """Returns a column of numbers or booleans as integers; a null is zero."""
    return _numbers(column, pa.int64(), np.int64)


def floats_of(column: pa.Array) -> Float64s:
    """Returns a column of numbers or booleans as floats; a null is zero."""
    return _numbers(column, pa.float64(), np.float64)


def _numbers(column: pa.Array, kind: pa.DataType, dtype: type) -> np.ndarray:
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int64())
    if column.null_count:
        column = column.fill_null(0)
    # A writable copy: read-only memory is another type to a kernel.
    return np.array(column.cast(kind).to_numpy(zero_copy_only=False), dtype)


class ByteRows(NamedTuple):
    """Rows of bytes, which kernels take as one argument: row i is `data[starts[i] : ends[i]]`."""

    starts: Int64s
    ends: Int64s
    data: Bytes


def rows_of(column: pa.Array | None) -> ByteRows:
    """Returns the bytes of a column of strings or binaries; a null is empty, None has no rows."""
    if column is None:
        nothing = np.empty(0, np.int64)
        return ByteRows(nothing, nothing, np.empty(0, np.uint8))
    column = column.cast(pa.large_binary())
    _, offsets, data = column.buffers()
    places = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    # Writable copies: read-only memory is another type to a kernel.
    starts, ends = places[:-1].copy(), places[1:].copy()
    if column.null_count:
        ends = np.where(column.is_valid().to_numpy(zero_copy_only=False), ends, starts)
    # A column of nothing may have no buffer.
    raw = np.frombuffer(data, np.uint8).copy() if data is not None else np.empty(0, np.uint8)
    return ByteRows(starts, ends, raw)


def arrow_of(offsets: Int64s, data: NDArray[Any]) -> pa.Array:
    """Returns rows that follow each other as an Arrow column; offsets are in bytes."""
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)


def fixed_rows(values: NDArray[Any]) -> pa.Array:
    """Returns the bytes of each element, or of each row of a matrix, as an Arrow column."""
    size = values.nbytes // max(len(values), 1)
    return arrow_of(np.arange(len(values) + 1) * size, values)


def byte_runs(offsets: Int64s, data: NDArray[Any]) -> ByteRows:
    """Returns the bytes of `data[offsets[i] : offsets[i + 1]]` as row i."""
    size = data.itemsize
    return ByteRows(offsets[:-1] * size, offsets[1:] * size, data.view(np.uint8))


def trimmed_rows(values: NDArray[Any], lengths: Int64s) -> ByteRows:
    """Returns the first bytes of each element or row of a matrix, `lengths[i]` of row i."""
    starts = np.arange(len(values)) * (values.nbytes // max(len(values), 1))
    return ByteRows(starts, starts + lengths, np.ascontiguousarray(values).view(np.uint8).ravel())


def join_rows(*columns: ByteRows) -> pa.Array:
    """Returns the bytes of row i of all columns, one behind the other, as row i of an Arrow
    column."""
    offsets = np.zeros(len(columns[0].starts) + 1, np.int64)
    np.cumsum(sum(column.ends - column.starts for column in columns), out=offsets[1:])
    data = np.empty(offsets[-1], np.uint8)
    _join(columns, offsets, data)
    return arrow_of(offsets, data)


def _copy_bytes(columns: Any, offsets: Any, data: Any) -> None:
    for row in range(len(offsets) - 1):
        place = offsets[row]
        for column in columns:
            start, size = column.starts[row], column.ends[row] - column.starts[row]
            for byte in range(size):
                data[place + byte] = column.data[start + byte]
            place += size


_join: Any = compile_kernel(_copy_bytes)


def _number_at(data: Any, start: Any, size: Any) -> Any:
    """Returns an integer of some bytes, the lowest first."""
    word = np.int64(0)
    for byte in range(size):
        word |= np.int64(data[start + byte]) << np.int64(8 * byte)
    return word


def _put_number(data: Any, start: Any, size: Any, word: Any) -> None:
    """Writes an integer as some bytes, the lowest first."""
    for byte in range(size):
        data[start + byte] = np.uint8((np.int64(word) >> np.int64(8 * byte)) & 255)


number_at, put_number = inline(_number_at), inline(_put_number)
