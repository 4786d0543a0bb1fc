"""Encodes columns of keys: a dense number for every distinct value, whatever its type.

Equal means what it means to Spark's GROUP BY: null is null, NaN is NaN, -0.0 is 0.0, and lists and
structs are equal when all that is in them is.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.runtime.columns.distinct import Distinct, distinct_bytes, distinct_integers
from muntin.runtime.columns.hashing import hash_bytes, hash_integers, hash_runs
from muntin.runtime.columns.partials import Bools, Int64s

_INT64 = np.iinfo(np.int64).max


def number_values(column: pa.Array) -> Distinct:
    """Numbers the distinct values of a column; null is one of them."""
    kind = column.type
    valid = _valid(column)
    if pa.types.is_null(kind):
        return distinct_integers(np.zeros(len(column), np.int64), size=1)
    if pa.types.is_struct(kind):
        fields = [number_values(field) for field in column.flatten()]
        numbers, _ = mixed_radix(fields, len(column))
        return distinct_integers(numbers, valid)
    if _is_list(kind):
        offsets, elements = _runs(column)
        codes = number_values(elements).numbers
        return distinct_bytes(_frozen(codes.view(np.uint8)), offsets * codes.itemsize, valid)
    if _is_bytes(kind):
        return distinct_bytes(*_bytes(column), valid)
    return distinct_integers(_integers(column), valid)


def mixed_radix(codes: Sequence[Distinct], rows: int) -> tuple[Int64s, int]:
    """Returns one number for each row of several columns, equal where all are, and their bound."""
    if len(codes) == 1:
        return codes[0].numbers.astype(np.int64), codes[0].count
    numbers, size = np.zeros(rows, np.int64), 1
    for code in codes:
        if size > _INT64 // max(code.count, 1):
            dense = distinct_integers(numbers, size=size)
            numbers, size = dense.numbers.astype(np.int64), dense.count
        numbers *= code.count
        numbers += code.numbers
        size *= code.count
    return numbers, size


def hash_values(column: pa.Array) -> Int64s:
    """Returns a hash of each value: equal values have equal ones, in every process and batch."""
    kind = column.type
    if pa.types.is_null(kind):
        return np.zeros(len(column), np.int64)
    if pa.types.is_struct(kind):
        values = np.ones(len(column), np.int64)
        for field in column.flatten():
            values = hash_integers(hash_values(field), values)
    elif _is_list(kind):
        offsets, elements = _runs(column)
        values = hash_runs(hash_values(elements), offsets)
    elif _is_bytes(kind):
        values = hash_bytes(*_bytes(column))
    else:
        values = hash_integers(_integers(column), np.zeros(len(column), np.int64))
    valid = _valid(column)
    return values if valid is None else np.where(valid, values, 0)


def normalize_floats(column: pa.Array) -> pa.Array:
    """Returns keys as Spark's GROUP BY returns them: 0.0 for -0.0, and one NaN."""
    kind = column.type
    if not _has_floats(kind):
        return column
    valid = _valid(column)
    missing = None if valid is None else pa.array(~valid)
    if pa.types.is_floating(kind):
        values = column.fill_null(0).to_numpy(zero_copy_only=False)
        values = np.where(np.isnan(values), values.dtype.type(np.nan), values + 0)
        return pa.array(values, kind, mask=None if valid is None else ~valid)
    if pa.types.is_struct(kind):
        fields = [normalize_floats(column.field(index)) for index in range(kind.num_fields)]
        return pa.StructArray.from_arrays(fields, fields=list(kind), mask=missing)
    offsets, elements = _runs(column)
    made = pa.LargeListArray if pa.types.is_large_list(kind) else pa.ListArray
    width = pa.int64() if pa.types.is_large_list(kind) else pa.int32()
    return made.from_arrays(
        pa.array(offsets, width), normalize_floats(elements), type=kind, mask=missing
    )


def _valid(column: pa.Array) -> Bools | None:
    """Which rows are not null; None if all are."""
    if not column.null_count:
        return None
    valid: Bools = column.is_valid().to_numpy(zero_copy_only=False)
    return valid


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    """Whether values are compared byte by byte."""
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
        or pa.types.is_decimal(kind)
    )


def _has_floats(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind) or _is_list(kind):
        return any(_has_floats(kind.field(index).type) for index in range(kind.num_fields))
    return bool(pa.types.is_floating(kind))


def _runs(column: pa.Array) -> tuple[Int64s, pa.Array]:
    """The elements of a column of lists, and where each list begins; a null list has none."""
    lengths = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]), column.flatten()


def _bytes(column: pa.Array) -> tuple[Any, Int64s]:
    """The bytes of a column's values, and where each begins; a null has any bytes or none."""
    kind, rows = column.type, len(column)
    _, *places, data = column.buffers()
    values = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    if not places:
        width = kind.bit_width // 8
        return _frozen(values), np.arange(column.offset, column.offset + rows + 1) * width
    if places[0] is None or not rows:
        return _frozen(values), np.zeros(rows + 1, np.int64)
    is_large = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    offsets = np.frombuffer(places[0], np.int64 if is_large else np.int32)
    return _frozen(values), offsets[column.offset : column.offset + rows + 1].astype(np.int64)


def _integers(column: pa.Array) -> Int64s:
    """A column of numbers, booleans or instants as integers, equal where its values are."""
    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif pa.types.is_floating(kind):
        column = normalize_floats(column)
    width = column.type.bit_width
    bits = column.view(f"int{width}")
    if bits.null_count:
        bits = bits.fill_null(0)
    # A writable copy: read-only memory is another type to a kernel.
    integers: Int64s = np.array(bits.to_numpy(zero_copy_only=False), np.int64)
    return integers


def _frozen(values: Any) -> Any:
    """Makes bytes read-only, as Arrow's memory mostly is: to a kernel that is another type."""
    values.flags.writeable = False
    return values
