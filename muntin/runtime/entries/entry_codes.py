"""Values of entries as integers: equal where values are, in the order of the values where asked.

Integers stand for themselves, and floats for their bits in an order that is that of the numbers. An
instant, a date or a short decimal is the integer that Arrow has for it. Other values are numbers in
a list of the distinct ones, and ranks if they are to be ordered.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.model.aggregates.monoids import MIN
from muntin.runtime.columns.key_codes import canonical, encoded
from muntin.runtime.columns.partials import Coding, Int64s, PartialColumn
from muntin.runtime.columns.typed_partials import read_typed, write_typed
from muntin.runtime.entries.entry_column import EntryColumn

# All bits but the sign: flipped in negative floats, so that greater ones have greater bits.
_MAGNITUDE = np.int64((1 << 63) - 1)


def encode(values: pa.Array, *, in_order: bool) -> tuple[Int64s, Coding]:
    """Returns the codes of values without nulls; `in_order`, greater values have greater codes."""
    kind = values.type
    if pa.types.is_integer(kind):
        return np.array(values.cast(pa.int64()).to_numpy(), np.int64), Coding(kind=pa.int64())
    if pa.types.is_floating(kind):
        bits = np.array(values.cast(pa.float64()).to_numpy(), np.float64).view(np.int64)
        return _flipped(bits), Coding(kind=pa.float64())
    if in_order or pa.types.is_temporal(kind) or pa.types.is_null(kind):
        read = read_typed(values, MIN)
        return read.scalars[0], read.coding or Coding(kind=kind)
    numbers = encoded(values)
    coding = Coding(kind=kind, values=canonical(values.take(pa.array(numbers.firsts))))
    return numbers.numbers.astype(np.int64), coding


def decode(codes: Int64s, coding: Coding) -> pa.Array:
    """Returns the values that codes stand for."""
    if coding.values is not None:
        return coding.values.take(pa.array(codes))
    if pa.types.is_integer(coding.kind):
        return pa.array(codes, pa.int64())
    if pa.types.is_floating(coding.kind):
        return pa.array(floats(codes), pa.float64())
    if pa.types.is_null(coding.kind):
        return pa.nulls(len(codes))
    return write_typed(PartialColumn(scalars=(codes,), coding=coding))


def in_order(column: EntryColumn) -> Int64s:
    """Returns integers that are in the order of a column's values."""
    values = column.coding.values
    if values is None or column.counts is not None:
        return column.codes
    ranks = np.empty(len(values), np.int64)
    ranks[pc.sort_indices(values).to_numpy()] = np.arange(len(values))
    return ranks[column.codes]


def floats(codes: Int64s) -> np.ndarray:
    """Returns the floats that codes stand for."""
    return _flipped(codes).view(np.float64)


def _flipped(bits: Int64s) -> Int64s:
    """Its own inverse: the sign stays."""
    return np.where(bits < 0, bits ^ _MAGNITUDE, bits)
