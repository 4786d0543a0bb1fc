"""Arrow columns of numbers as arrays for compiled code."""

import numpy as np
import pyarrow as pa

from muntin.runtime.columns.partials import Float64s, Int64s


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
