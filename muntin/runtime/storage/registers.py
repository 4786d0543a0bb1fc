"""Partials that are registers of HyperLogLog++, a run of bytes each; see `register_union`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from muntin.aggregates.aggregate import Aggregate
from muntin.aggregates.parameters import register_bits
from muntin.aggregates.representations import INTEGER
from muntin.model.trees import RECALC
from muntin.runtime.columns.byte_rows import arrow_of, rows_of
from muntin.runtime.columns.groups import Groups
from muntin.runtime.columns.numbers import integers_of
from muntin.runtime.columns.partials import Bools, Int64s
from muntin.runtime.storage.component_storage import ComponentStorage, Folding
from muntin.runtime.storage.numbers import all_present
from muntin.runtime.storage.register_estimate import estimates
from muntin.runtime.storage.register_union import codes_of, union_of_events, union_of_rows


@dataclass(frozen=True, kw_only=True)
class RegisterColumn:
    """Rows of registers: partial `i` is `values[places[i]]`."""

    values: pa.Array
    places: Int64s

    def __len__(self) -> int:
        return len(self.places)

    def rows(self, first: int) -> "RegisterColumn":
        return replace(self, places=self.places[first:])

    def where(self, chosen: Bools | Int64s) -> "RegisterColumn":
        return replace(self, places=self.places[chosen])

    def copy(self) -> "RegisterColumn":
        return _column(self.in_order())

    def concatenate(self, newer: "RegisterColumn") -> "RegisterColumn":
        return _column(pa.concat_arrays([self.in_order(), newer.in_order()]))

    def in_order(self) -> pa.Array:
        """Returns the registers of each row."""
        return self.values.take(pa.array(self.places))


@dataclass(frozen=True, kw_only=True)
class RegisterFolding:
    """Rows of registers to be united over the rows of windows."""

    column: RegisterColumn
    bits: int

    def over(self, lows: Int64s, highs: Int64s, technique: str) -> RegisterColumn:
        rows, anew = rows_of(self.column.values), technique == RECALC
        made = union_of_rows(rows, self.column.places, lows, highs, self.bits, anew=anew)
        return _column(arrow_of(*made))

    def over_few(self, picked: Int64s, firsts: Int64s, technique: str) -> RegisterColumn:
        few = replace(self, column=self.column.where(picked))
        return few.over(firsts[:-1], firsts[1:], technique)


class RegisterStorage(ComponentStorage):
    """A column of bytes with rows of registers."""

    is_cut: ClassVar[bool] = False

    @property
    def _bits(self) -> int:
        return register_bits(self.component.parameters)

    def read(self, batch: pa.RecordBatch) -> RegisterColumn:
        return _column(batch.column(self.columns[0]).cast(pa.large_binary()))

    def write(self, column: RegisterColumn) -> dict[str, pa.Array]:
        return {self.columns[0]: column.in_order()}

    def lift(self, batch: pa.RecordBatch, names: Sequence[str]) -> Int64s:
        """Returns the register that each event raises and its rank, from the hash of its value;
        zero for an event without a value."""
        column = batch.column(names[0])
        codes = codes_of(integers_of(column), self._bits)
        return np.where(all_present([column]), codes, 0)

    def combine(self, lifted: Any, groups: Groups) -> RegisterColumn:
        if isinstance(lifted, RegisterColumn):
            order = np.argsort(groups.numbers, kind="stable")
            firsts = np.zeros(groups.count + 1, np.int64)
            np.cumsum(np.bincount(groups.numbers, minlength=groups.count), out=firsts[1:])
            picked = order if groups.rows is None else groups.rows[order]
            return RegisterFolding(column=lifted, bits=self._bits).over_few(picked, firsts, RECALC)
        return self._unite(lifted, groups.rows, groups.numbers, groups.count)

    def lift_records(self, batch: pa.RecordBatch, names: Sequence[str]) -> RegisterColumn:
        codes = self.lift(batch, names)
        return self._unite(codes, None, np.arange(len(codes)), len(codes))

    def _unite(self, codes: Int64s, rows: Any, groups: Any, count: int) -> RegisterColumn:
        return _column(arrow_of(*union_of_events(codes, rows, groups, count, self._bits)))

    def folding(self, column: RegisterColumn, keys: Int64s) -> Folding:
        return RegisterFolding(column=column, bits=self._bits)

    def lower(
        self, aggregate: Aggregate, columns: Sequence[RegisterColumn]
    ) -> tuple[pa.Array, ...]:
        rows, places = rows_of(columns[0].values), columns[0].places
        return (pa.array(estimates(rows, places, self._bits)),)

    def answer_type(self, aggregate: Aggregate) -> tuple[str, int]:
        return INTEGER, 1


def _column(values: pa.Array) -> RegisterColumn:
    return RegisterColumn(values=values, places=np.arange(len(values)))
