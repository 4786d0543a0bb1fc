"""Partials of scalars that compiled kernels combine: columns of integers or floats.

Coded values are scalars, too; see `coded_values`.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import pyarrow as pa

from muntin.aggregates.aggregate import Aggregate
from muntin.aggregates.formula import Formula
from muntin.aggregates.monoids import Monoid
from muntin.aggregates.representations import FLOAT, INTEGER
from muntin.aggregates.table import COUNT, DOUBLE, Function
from muntin.runtime.columns.arrow_arrays import floats_of, integers_of
from muntin.runtime.columns.distinct import Groups, count_rows
from muntin.runtime.columns.partials import Bools, Int64s, PartialColumn, Scalars
from muntin.runtime.storage.component_storage import ComponentStorage, Folding, number_type
from muntin.techniques.kernels.compile import bind, compile_kernel
from muntin.techniques.kernels.drivers import scatter
from muntin.techniques.table import Fold

_INT64 = np.iinfo(np.int64)
_Column = TypeVar("_Column", bound=PartialColumn)


class ScalarStorage(ComponentStorage):
    """Partials of one or more scalars, combined by compiled kernels."""

    def lift(self, batch: pa.RecordBatch, names: Sequence[str]) -> PartialColumn | None:
        return without_gaps(self.lift_records(batch, names), self.monoid)

    def lift_partials(self, batch: pa.RecordBatch) -> PartialColumn:
        return without_gaps(self.read(batch), self.monoid)

    @abstractmethod
    def read(self, batch: pa.RecordBatch) -> PartialColumn:
        """Returns partials from their columns of the slices."""

    @abstractmethod
    def lift_records(self, batch: pa.RecordBatch, names: Sequence[str]) -> PartialColumn:
        """Returns the partial of each record."""

    def combine(self, lifted: PartialColumn | None, groups: Groups) -> PartialColumn:
        if lifted is None:
            return PartialColumn(scalars=(count_rows(groups),))
        scalars = lifted.scalars
        totals = tuple(
            np.full(groups.count, identity_of(self.monoid, each.dtype)) for each in scalars
        )
        kernel = bind(scatter, self.monoid)
        if self.monoid.width == 1:
            kernel(scalars[0], groups.rows, groups.numbers, totals[0])
        else:
            kernel(scalars, groups.rows, groups.numbers, totals)
        if lifted.present is None:
            return replace(lifted, scalars=totals)
        seen = np.zeros(groups.count, np.bool_)
        _mark(lifted.present, groups.rows, groups.numbers, seen)
        return replace(lifted, scalars=totals, present=None if seen.all() else seen)

    def folding(self, column: PartialColumn, keys: Int64s) -> Folding:
        return ScalarFolding(column, self.monoid)


class ScalarFolding(Generic[_Column]):
    """A column of scalar partials, prepared to be folded for several windows."""

    def __init__(self, column: _Column, monoid: Monoid) -> None:
        self._column, self._monoid = column, monoid
        scalars: Scalars = column.scalars
        self._seen: Int64s | None = None
        if column.present is not None:
            scalars = without_gaps(column, monoid).scalars
            self._seen = np.concatenate([np.zeros(1, np.int64), np.cumsum(column.present)])
        self._wide = monoid.width > 1
        self._fold = Fold(monoid, scalars if self._wide else scalars[0])

    def over(self, lows: Int64s, highs: Int64s, technique: str) -> _Column:
        answers = self._fold(lows, highs, technique)
        return replace(
            self._column,
            scalars=answers if self._wide else (answers,),
            present=None if self._seen is None else self._seen[highs] > self._seen[lows],
        )

    def over_few(self, picked: Int64s, firsts: Int64s, technique: str) -> _Column:
        few = ScalarFolding(self._column.where(picked), self._monoid)
        return few.over(firsts[:-1], firsts[1:], technique)


def without_gaps(column: _Column, monoid: Monoid) -> _Column:
    """Returns partials with the identity in place of missing ones, so that all can be combined."""
    # A missing partial of several scalars is zeros, which is their identity.
    if column.present is None or len(column.scalars) > 1:
        return column
    (values,) = column.scalars
    return replace(
        column, scalars=(np.where(column.present, values, identity_of(monoid, values.dtype)),)
    )


def identity_of(monoid: Monoid, dtype: np.dtype[Any]) -> Any:
    """Returns the value that a missing partial counts as."""
    return dtype.type(monoid.identity[dtype.kind == "f"])


def _mark_groups(present: Bools, rows: Any, groups: Any, seen: Any) -> None:
    for index in range(len(groups)):
        row = index if rows is None else rows[index]
        if present[row]:
            seen[groups[index]] = True


_mark = compile_kernel(_mark_groups)


@dataclass(frozen=True, kw_only=True)
class NumberStorage(ScalarStorage):
    """Columns of integers or floats."""

    is_foldable: ClassVar[bool] = True

    @property
    def arrow_type(self) -> pa.DataType:
        return number_type(self.value_type)

    @property
    def cut_monoid(self) -> tuple[Monoid, Any]:
        return self.monoid, np.float64 if self.value_type == FLOAT else np.int64

    def read(self, batch: pa.RecordBatch) -> PartialColumn:
        """Returns partials from their columns; a null in the first one says that there was no
        value."""
        first = batch.column(self.columns[0])
        present = None
        if first.null_count and not self.component.part.is_never_null:
            present = first.is_valid().to_numpy(zero_copy_only=False)
        return PartialColumn(
            scalars=tuple(self._numbers(batch.column(name)) for name in self.columns),
            present=present,
        )

    def write(self, column: PartialColumn) -> dict[str, pa.Array]:
        return {
            name: pa.array(scalar, self.arrow_type, mask=None if index else column.missing)
            for index, (name, scalar) in enumerate(zip(self.columns, column.scalars, strict=True))
        }

    def lift(self, batch: pa.RecordBatch, names: Sequence[str]) -> PartialColumn | None:
        """Returns the partial of each event, the identity where it has no value; None: each counts
        as 1."""
        has_nulls = any(batch.column(name).null_count for name in names)
        if not self.component.part.needs_values and not has_nulls:
            return None
        return super().lift(batch, names)

    def lift_records(self, batch: pa.RecordBatch, names: Sequence[str]) -> PartialColumn:
        if not names:
            return PartialColumn(scalars=(np.ones(batch.num_rows, np.int64),))
        columns = [batch.column(name) for name in names]
        present = all_present(columns)
        # Differences of infinities are NaN, as they are to Spark.
        with np.errstate(all="ignore"):
            scalars = self._lift_values(columns, present)
        is_whole = self.component.part.is_never_null or present.all()
        return PartialColumn(scalars=scalars, present=None if is_whole else present)

    def _lift_values(self, columns: list[pa.Array], present: Bools) -> Scalars:
        part = self.component.part
        counts = present.astype(np.int64 if self.value_type == INTEGER else np.float64)
        values = [self._numbers(column) for column in columns] if part.needs_values else []
        scalars: Scalars = part.lift_record(counts, *values)
        return scalars

    def _numbers(self, column: pa.Array) -> Any:
        return integers_of(column) if self.value_type == INTEGER else floats_of(column)

    def lower(self, aggregate: Aggregate, columns: Sequence[PartialColumn]) -> tuple[pa.Array, ...]:
        row = aggregate.definition
        if row.answer is None:
            return (pa.array(columns[0].scalars[0], mask=columns[0].missing),)
        scalars = [scalar for column in columns for scalar in column.scalars]
        return (_answers(row, row.answer, scalars),)

    def answer_type(self, aggregate: Aggregate) -> tuple[str, int]:
        """Returns integers for counts, floats for what has a formula, else the type of values."""
        result = aggregate.definition.result
        if result == COUNT:
            return INTEGER, 1
        return FLOAT if result == DOUBLE else self.value_type, 1

    def to_state(self, column: PartialColumn) -> dict[str, Any]:
        state: dict[str, Any] = {str(index): scalar for index, scalar in enumerate(column.scalars)}
        return state if column.present is None else {**state, "present": column.present}

    def from_state(self, columns: Mapping[str, pa.Array]) -> PartialColumn:
        return PartialColumn(
            scalars=tuple(
                np.array(columns[str(index)].to_numpy()) for index in range(self.monoid.width)
            ),
            present=np.array(columns["present"].to_numpy(zero_copy_only=False))
            if "present" in columns
            else None,
        )


class CheckedSumStorage(NumberStorage):
    """Sums of integers that detect overflow: a word, and how often it wrapped."""

    def _lift_values(self, columns: list[pa.Array], present: Bools) -> Scalars:
        return *super()._lift_values(columns, present), np.zeros(len(present), np.int64)

    def lower(self, aggregate: Aggregate, columns: Sequence[PartialColumn]) -> tuple[pa.Array, ...]:
        """Returns two summands that overflow if the sum did: Spark adds them, and raises its
        error."""
        low, turns = columns[0].scalars
        limit = np.where(turns > 0, _INT64.max, _INT64.min)
        return (
            pa.array(np.where(turns == 0, low, limit), mask=columns[0].missing),
            pa.array(np.sign(turns).astype(np.int64), mask=columns[0].missing),
        )

    def answer_type(self, aggregate: Aggregate) -> tuple[str, int]:
        return INTEGER, 2


def _answers(row: Function, formula: Formula, scalars: list[np.ndarray]) -> pa.Array:
    """Computes a row's formula over the scalars of all its parts, where it has an answer."""
    # Where there is no answer the formula may divide by zero.
    with np.errstate(all="ignore"):
        answers = formula(*scalars)
        if row.constant is not None:
            condition, constant = row.constant
            answers = np.where(condition(*scalars), constant, answers)
    missing = None if row.has_answer is None else ~row.has_answer(*scalars)
    return pa.array(answers, mask=missing)


def all_present(columns: Sequence[pa.Array]) -> Bools:
    """Returns which rows are null in no column; there is at least one."""
    present = np.ones(len(columns[0]), np.bool_)
    for column in columns:
        if column.null_count:
            present &= column.is_valid().to_numpy(zero_copy_only=False)
    return present
