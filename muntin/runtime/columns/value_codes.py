"""Codes: integers that stand for the values of a column, so that compiled kernels can combine them.

- An integer stands for itself, and a float for its bits in an order that is that of the numbers.
- An instant, a date, an interval or a short decimal is the integer that Arrow has for it.
- Any other value is its number among the distinct values of the column. Where the order matters it
  is its rank, in Spark's order: the extreme of ranks is the rank of the extreme.

The codes of two columns are not comparable: `with_common_codes` makes them so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.runtime.columns.key_codes import normalize_floats, number_values
from muntin.runtime.columns.partials import Bools, Int64s

# The most digits of a decimal that always fit 64 bits.
_DIGITS_OF_A_WORD = 18
# All bits but the sign: flipped in negative floats, so that greater ones have greater bits.
_MAGNITUDE = np.int64((1 << 63) - 1)


@dataclass(frozen=True, kw_only=True)
class Coding:
    """How the codes of a column are turned back into values."""

    kind: pa.DataType
    # The value of each code, if codes are numbers of distinct values.
    values: pa.Array | None = None


def encode(column: pa.Array, *, in_order: bool) -> tuple[Int64s, Coding]:
    """Returns the code of each value; the code of a null is arbitrary. With `in_order`, codes have
    the order of the values.

    Columns of integers and floats must be without nulls.
    """
    kind = column.type
    if pa.types.is_integer(kind):
        return np.array(column.cast(pa.int64()).to_numpy(), np.int64), Coding(kind=pa.int64())
    if pa.types.is_floating(kind):
        bits = np.array(column.cast(pa.float64()).to_numpy(), np.float64).view(np.int64)
        return _flip_negatives(bits), Coding(kind=pa.float64())
    if pa.types.is_null(kind):
        return np.zeros(len(column), np.int64), Coding(kind=kind)
    if pa.types.is_temporal(kind):
        return _integers(column)
    if in_order:
        if _is_short_decimal(kind):
            return decimal_words(column)[0], Coding(kind=kind)
        ranks, values = _rank_values(column)
        return ranks, Coding(kind=kind, values=values)
    numbers = number_values(column)
    values = normalize_floats(column.take(pa.array(numbers.firsts)))
    return numbers.numbers.astype(np.int64), Coding(kind=kind, values=values)


def decode(codes: Int64s, coding: Coding, missing: Bools | None = None) -> pa.Array:
    """Returns the values that codes stand for, null where they are `missing`."""
    kind = coding.kind
    if pa.types.is_null(kind):
        return pa.nulls(len(codes))
    if coding.values is not None:
        if not len(coding.values):
            return pa.nulls(len(codes), kind)
        return coding.values.take(pa.array(codes, pa.int64(), mask=missing))
    if pa.types.is_floating(kind):
        return pa.array(floats(codes), pa.float64(), mask=missing)
    if _is_short_decimal(kind):
        return decimals(codes, codes >> 63, missing, kind)
    integers = pa.array(codes, pa.int64(), mask=missing)
    if pa.types.is_date32(kind):
        # Arrow casts dates to integers of 32 bits only.
        integers = integers.cast(pa.int32())
    return integers.cast(kind)


def floats(codes: Int64s) -> np.ndarray:
    """Returns the floats that codes stand for."""
    return _flip_negatives(codes).view(np.float64)


def with_common_codes(
    codings: Sequence[Coding], *, in_order: bool
) -> tuple[Coding, list[Int64s | None]]:
    """Returns one coding for two columns, and for either column the new code of each code, or None
    if its codes stay as they are."""
    older, newer = codings
    if pa.types.is_null(older.kind) or older.values is None or newer.values is None:
        return (newer if pa.types.is_null(older.kind) else older), [None, None]
    codes, coding = encode(pa.concat_arrays([older.values, newer.values]), in_order=in_order)
    return coding, [codes[: len(older.values)], codes[len(older.values) :]]


def decimal_words(column: pa.Array) -> tuple[Int64s, Int64s]:
    """Returns the low and the high word of each decimal; a null is zero."""
    _, data = column.buffers()
    words: Any = np.frombuffer(data, np.int64) if data is not None else np.empty(0, np.int64)
    words = words.reshape(-1, 2)[column.offset : column.offset + len(column)].T.copy()
    if column.null_count:
        # The bytes of a null may be anything.
        words[:, column.is_null().to_numpy(zero_copy_only=False)] = 0
    return words[0], words[1]


def decimals(low: Int64s, high: Int64s, missing: Bools | None, kind: pa.DataType) -> pa.Array:
    """Returns decimals of a type from their words."""
    words = np.stack([low, high], axis=1)
    valid = None if missing is None else pa.array(~missing).buffers()[1]
    return pa.Array.from_buffers(kind, len(low), [valid, pa.py_buffer(words)])


def in_utc(column: pa.Array) -> pa.Array:
    """Returns instants in UTC: the session's zone may be another one in the next run."""
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return column.cast(pa.timestamp(kind.unit, "UTC"))
    return column


def _integers(column: pa.Array) -> tuple[Int64s, Coding]:
    column = in_utc(column)
    coding = Coding(kind=column.type)
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    integers = column.cast(pa.int64()).fill_null(0)
    # A writable copy: read-only memory is another type to a kernel.
    return np.array(integers.to_numpy(zero_copy_only=False), np.int64), coding


def _rank_values(column: pa.Array) -> tuple[Int64s, pa.Array]:
    """Returns the rank of each value, and the values by rank; a null has any rank.

    Arrow compares strings byte by byte, as Spark does without a collation.
    """
    codes = number_values(column)
    values = column.take(pa.array(codes.firsts))
    order = pc.sort_indices(values).to_numpy()
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    # Arrow sorts null last.
    return ranks[codes.numbers], values.take(pa.array(order)).drop_null()


def _is_short_decimal(kind: pa.DataType) -> bool:
    """Whether the digits of a decimal fit one word."""
    return bool(pa.types.is_decimal(kind)) and kind.precision <= _DIGITS_OF_A_WORD


def _flip_negatives(bits: Int64s) -> Int64s:
    """Turns the bits of floats into codes, and codes into bits."""
    return np.where(bits < 0, bits ^ _MAGNITUDE, bits)
