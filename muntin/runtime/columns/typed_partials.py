"""Partials that are a column of another type than integers and floats: read as codes, written back.

The compiled kernels combine integers, so each partial is read as one or more of them:

- an instant, a date, an interval or a short decimal is the integer that Arrow has for it;
- a string, a run of bytes or a long decimal is its rank among the distinct values of the column, in
  Spark's order: the extreme of ranks is the rank of the extreme;
- a value that another one chooses is a struct of both; its code is its place among all rows in the
  order of the other one;
- a sum of decimals is an integer in limbs of 48 bits, which add up exactly.

The codes of one column say nothing about another one, so codes that meet are made anew.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.model.aggregates.monoids import ADD_LIMBS, Monoid
from muntin.runtime.columns.key_codes import encoded
from muntin.runtime.columns.partials import Bools, Coding, Int64s, PartialColumn

# The precision of sums of decimals.
_DIGITS = 38
# The most digits that always fit 64 bits.
_DIGITS_OF_A_WORD = 18
# The bits of a limb.
_LIMB = (1 << 48) - 1


def read_typed(column: pa.Array, monoid: Monoid) -> PartialColumn:
    """Returns the partials of a column, coded for a monoid."""
    present = None
    if column.null_count:
        present = column.is_valid().to_numpy(zero_copy_only=False)
    kind = column.type
    if monoid == ADD_LIMBS:
        return _as_limbs(column, present)
    if pa.types.is_struct(kind):
        return _placed(_without_zones(column), present)
    if _is_short_decimal(kind):
        low, _ = _as_words(column, present)
        return PartialColumn(scalars=(low,), present=present, coding=Coding(kind=kind))
    if pa.types.is_null(kind) or pa.types.is_temporal(kind):
        return _as_integers(column, present)
    ranks, values = _ranked(column)
    return PartialColumn(scalars=(ranks,), present=present, coding=Coding(kind=kind, values=values))


def write_typed(column: PartialColumn) -> pa.Array:
    """Returns coded partials as a column of their own type."""
    coding = column.coding
    rows = len(column.scalars[0])
    missing = None if column.present is None else ~column.present
    if coding is None:
        return pa.nulls(rows)
    if len(column.scalars) > 1:
        return _from_limbs(column, coding.kind)
    (codes,) = column.scalars
    if _is_short_decimal(coding.kind):
        return _from_words(codes, codes >> 63, column, coding.kind)
    if coding.values is None:
        integers = pa.array(codes, pa.int64(), mask=missing)
        return (
            integers.cast(pa.int32()).cast(coding.kind)
            if _is_short(coding.kind)
            else (integers.cast(coding.kind))
        )
    if not len(coding.values):
        return pa.nulls(rows, coding.kind)
    return coding.values.take(pa.array(codes, pa.int64(), mask=missing))


def joined_typed(older: PartialColumn, newer: PartialColumn) -> tuple[PartialColumn, PartialColumn]:
    """Returns the partials of two columns with codes that mean the same in both."""
    codings = [column.coding for column in (older, newer) if column.coding is not None]
    if len(codings) == 2 and pa.types.is_struct(codings[0].kind):
        both = pa.concat_arrays([write_typed(older), write_typed(newer)])
        placed = _placed(both, both.is_valid().to_numpy(zero_copy_only=False))
        first = len(older.scalars[0])
        return placed.where(np.arange(first)), placed.rows(first)
    if older.coding is None or newer.coding is None or older.coding.values is None:
        coding = older.coding or newer.coding
        return replace(older, coding=coding), replace(newer, coding=coding)
    assert newer.coding.values is not None
    ranks, values = _ranked(pa.concat_arrays([older.coding.values, newer.coding.values]))
    coding = replace(older.coding, values=values)
    first = len(older.coding.values)
    return _recoded(older, ranks[:first], coding), _recoded(newer, ranks[first:], coding)


def recode(codes: Int64s, ranks: Int64s) -> None:
    """Replace codes by their ranks among more values; other integers stand for no value."""
    is_code = (codes >= 0) & (codes < len(ranks))
    codes[is_code] = ranks[codes[is_code]]


def _recoded(column: PartialColumn, ranks: Int64s, coding: Coding) -> PartialColumn:
    (codes,) = column.scalars
    if column.present is not None:
        # A missing partial has any code.
        codes = np.where(column.present, codes, 0)
    recoded = ranks[codes] if len(ranks) else np.zeros(len(codes), np.int64)
    return PartialColumn(scalars=(recoded,), present=column.present, coding=coding)


def _ranked(column: pa.Array) -> tuple[Int64s, pa.Array]:
    """Returns the rank of each value, and the values by rank; a null has any rank.

    Arrow compares strings byte by byte, as Spark does without a collation.
    """
    codes = encoded(column)
    values = column.take(pa.array(codes.firsts))
    order = pc.sort_indices(values).to_numpy()
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    # Arrow sorts null last.
    return places[codes.numbers], values.take(pa.array(order)).drop_null()


def _placed(column: pa.Array, present: Bools | None) -> PartialColumn:
    """Returns structs by their places in the order of their first fields.

    No two have one place: a window must not get a value that is beside an equal one elsewhere.
    """
    by = pc.struct_field(column, [0])
    # Arrow sorts NaN last, as Spark does, then null.
    order = pc.sort_indices(by.cast(pa.int8()) if pa.types.is_boolean(by.type) else by).to_numpy()
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    coding = Coding(kind=column.type, values=column.take(pa.array(order)))
    return PartialColumn(scalars=(places,), present=present, coding=coding)


def beside(by: pa.Array, values: pa.Array) -> pa.Array:
    """Returns values beside what they are chosen by, as structs; null where that is."""
    if pa.types.is_null(by.type):
        return by
    return pa.StructArray.from_arrays([by, values], ["y", "x"], mask=by.is_null())


def chosen_values(column: PartialColumn) -> pa.Array:
    """Returns the values that others chose."""
    structs = write_typed(column)
    return structs if pa.types.is_null(structs.type) else pc.struct_field(structs, [1])


def _without_zones(column: pa.Array) -> pa.Array:
    """Returns a struct whose instants are in UTC: the session's zone may be another one in the next
    run."""
    fields = column.flatten()
    for place, field in enumerate(fields):
        if pa.types.is_timestamp(field.type) and field.type.tz is not None:
            fields[place] = field.cast(pa.timestamp(field.type.unit, "UTC"))
    names = [column.type.field(place).name for place in range(len(fields))]
    missing = column.is_null() if column.null_count else None
    return pa.StructArray.from_arrays(fields, names, mask=missing)


def _as_integers(column: pa.Array, present: Bools | None) -> PartialColumn:
    kind = column.type
    if pa.types.is_null(kind):
        return PartialColumn(scalars=(np.zeros(len(column), np.int64),), present=present)
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        # The zone is the session's, and may be another one in the next run.
        kind = pa.timestamp(kind.unit, "UTC")
    column = column.cast(pa.int32()) if _is_short(kind) else column
    integers = column.cast(pa.int64()).fill_null(0)
    # A writable copy: read-only memory is another type to a kernel.
    values = np.array(integers.to_numpy(zero_copy_only=False), np.int64)
    return PartialColumn(scalars=(values,), present=present, coding=Coding(kind=kind))


def _is_short_decimal(kind: pa.DataType) -> bool:
    """Whether the digits of a decimal fit one word."""
    return bool(pa.types.is_decimal(kind)) and kind.precision <= _DIGITS_OF_A_WORD


def _is_short(kind: pa.DataType) -> bool:
    """Whether Arrow casts a type to integers of 32 bits only."""
    return bool(pa.types.is_date32(kind))


def _as_words(column: pa.Array, present: Bools | None) -> tuple[Int64s, Int64s]:
    """Returns the low and the high word of each decimal; a null is zero."""
    _, data = column.buffers()
    words: Any = np.frombuffer(data, np.int64) if data is not None else np.empty(0, np.int64)
    words = words.reshape(-1, 2)[column.offset : column.offset + len(column)].T.copy()
    if present is not None:
        # The bytes of a null may be anything.
        words[:, ~present] = 0
    return words[0], words[1]


def _from_words(low: Int64s, high: Int64s, column: PartialColumn, kind: pa.DataType) -> pa.Array:
    words = np.stack([low, high], axis=1)
    valid = None if column.present is None else pa.array(column.present).buffers()[1]
    return pa.Array.from_buffers(kind, len(low), [valid, pa.py_buffer(words)])


def _as_limbs(column: pa.Array, present: Bools | None) -> PartialColumn:
    if pa.types.is_null(column.type):
        zeros = np.zeros((3, len(column)), np.int64)
        return PartialColumn(scalars=tuple(zeros), present=present)
    low, high = _as_words(column, present)
    second = ((low >> 48) & 0xFFFF) | (high << 16)
    return PartialColumn(
        scalars=(low & _LIMB, second & _LIMB, high >> 32),
        present=present,
        coding=Coding(kind=pa.decimal128(_DIGITS, column.type.scale)),
    )


def _from_limbs(column: PartialColumn, kind: pa.DataType) -> pa.Array:
    """Returns sums as decimals; they have at most 38 digits."""
    low, second, rest = column.scalars
    return _from_words(low | second << 48, second >> 16 | rest << 32, column, kind)
