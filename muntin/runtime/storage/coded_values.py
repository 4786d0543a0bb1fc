"""Partials that are a column of another type than numbers: combined as codes, written as values.

See `columns.value_codes` for the codes of values. A partial of max_by and min_by is a struct of the
value that is compared and the value that is returned; its code is its place in the order of the
first. A sum of decimals is an integer in limbs of 48 bits, whose sums are exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.aggregates.aggregate import Aggregate
from muntin.runtime.columns.partials import Int64s, PartialColumn
from muntin.runtime.columns.value_codes import (
    Coding,
    decimal_words,
    decimals,
    decode,
    encode,
    in_utc,
    with_common_codes,
)
from muntin.runtime.storage.numbers import ScalarStorage

# The precision of sums of decimals.
_DIGITS = 38
# The bits of a limb.
_LIMB = (1 << 48) - 1


@dataclass(frozen=True, kw_only=True)
class CodedColumn(PartialColumn):
    """Partials that are codes of values."""

    coding: Coding

    def in_codes_of(self, older: Self) -> tuple[Self, Int64s | None]:
        """Returns these partials in codes that are common with older ones, and the new code of each
        older code, or None if older codes stay as they are."""
        coding, (codes, own) = with_common_codes((older.coding, self.coding), in_order=True)
        partials = self if own is None else self.with_codes(own)
        return replace(partials, coding=coding), codes


@dataclass(frozen=True, kw_only=True)
class ChosenColumn(CodedColumn):
    """Partials that are places among structs, in the order of their first fields."""

    def used_codes(self) -> Int64s:
        """Returns the codes of partials that are not missing, each once."""
        (codes,) = self.scalars
        return np.unique(codes if self.present is None else codes[self.present])

    def in_codes_of(self, older: Self) -> tuple[Self, Int64s | None]:
        """Returns these partials in places among both columns' structs, and the new place of each
        of the older ones."""
        values, own_values = older.coding.values, self.coding.values
        if values is None or own_values is None:
            return replace(self, coding=self.coding if values is None else older.coding), None
        # Structs that are no partial any more are dropped, or they would pile up.
        used, own = older.used_codes(), self.used_codes()
        structs = [values.take(pa.array(used)), own_values.take(pa.array(own))]
        places, coding = _in_places(pa.concat_arrays(structs))
        codes, own_codes = np.zeros(len(values), np.int64), np.zeros(len(own_values), np.int64)
        codes[used], own_codes[own] = places[: len(used)], places[len(used) :]
        return replace(self.with_codes(own_codes), coding=coding), codes


@dataclass(frozen=True, kw_only=True)
class CodedStorage(ScalarStorage):
    """A column of values in their own type, which are combined as codes."""

    def read(self, batch: pa.RecordBatch) -> PartialColumn:
        return self._encode(batch.column(self.columns[0]))

    def write(self, column: Any) -> dict[str, pa.Array]:
        return {self.columns[0]: self._values(column)}

    def lift_records(self, batch: pa.RecordBatch, names: Sequence[str]) -> PartialColumn:
        return self._encode(batch.column(names[0]))

    def lower(self, aggregate: Aggregate, columns: Sequence[Any]) -> tuple[pa.Array, ...]:
        return (self._values(columns[0]),)

    def _encode(self, column: pa.Array) -> CodedColumn:
        codes, coding = encode(column, in_order=True)
        return CodedColumn(scalars=(codes,), present=_present(column), coding=coding)

    def _values(self, column: CodedColumn) -> pa.Array:
        return decode(column.scalars[0], column.coding, column.missing)


class DecimalSumStorage(CodedStorage):
    """A column of decimals, which are added as long integers."""

    def _encode(self, column: pa.Array) -> CodedColumn:
        if pa.types.is_null(column.type):
            scalars, coding = tuple(np.zeros((3, len(column)), np.int64)), Coding(kind=column.type)
        else:
            low, high = decimal_words(column)
            second = ((low >> 48) & 0xFFFF) | (high << 16)
            scalars = (low & _LIMB, second & _LIMB, high >> 32)
            coding = Coding(kind=pa.decimal128(_DIGITS, column.type.scale))
        return CodedColumn(scalars=scalars, present=_present(column), coding=coding)

    def _values(self, column: CodedColumn) -> pa.Array:
        if pa.types.is_null(column.coding.kind):
            return pa.nulls(len(column))
        low, second, rest = column.scalars
        words = low | second << 48, second >> 16 | rest << 32
        return decimals(*words, column.missing, column.coding.kind)


class ChosenStorage(CodedStorage):
    """A column of structs: the value that is compared, then the value that is returned."""

    is_cut: ClassVar[bool] = False

    def lift_records(self, batch: pa.RecordBatch, names: Sequence[str]) -> PartialColumn:
        """Returns the places of records, which carry both values in two columns or in one."""
        columns = [batch.column(name) for name in names]
        return self._encode(zip_struct(*columns) if len(columns) == 2 else columns[0])

    def lower(self, aggregate: Aggregate, columns: Sequence[Any]) -> tuple[pa.Array, ...]:
        structs = self._values(columns[0])
        return (structs if pa.types.is_null(structs.type) else pc.struct_field(structs, [1]),)

    def _encode(self, column: pa.Array) -> CodedColumn:
        if pa.types.is_null(column.type):
            codes, coding = encode(column, in_order=True)
        else:
            codes, coding = _in_places(_in_utc(column))
        return ChosenColumn(scalars=(codes,), present=_present(column), coding=coding)


def zip_struct(by: pa.Array, values: pa.Array) -> pa.Array:
    """Returns structs of two columns, null where the first is."""
    if pa.types.is_null(by.type):
        return by
    return pa.StructArray.from_arrays([by, values], ["y", "x"], mask=by.is_null())


def _in_places(structs: pa.Array) -> tuple[Int64s, Coding]:
    """Returns the place of each struct in the order of first fields, and the structs by place.

    Structs with equal first fields have different places, so that a window never gets the second
    field of another window's struct.
    """
    by = pc.struct_field(structs, [0])
    # Arrow sorts NaN last, as Spark does, then null.
    order = pc.sort_indices(by.cast(pa.int8()) if pa.types.is_boolean(by.type) else by).to_numpy()
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return places, Coding(kind=structs.type, values=structs.take(pa.array(order)))


def _in_utc(structs: pa.Array) -> pa.Array:
    fields = [in_utc(field) for field in structs.flatten()]
    names = [structs.type.field(place).name for place in range(len(fields))]
    missing = structs.is_null() if structs.null_count else None
    return pa.StructArray.from_arrays(fields, names, mask=missing)


def _present(column: pa.Array) -> Any:
    return column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None
