"""Partials that techniques combine as scalars: numbers, or codes of values."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa

from muntin.aggregates.monoids import Monoid
from muntin.runtime.columns.groups import Groups, count_rows
from muntin.runtime.columns.partials import Bools, Int64s, PartialColumn, Scalars
from muntin.runtime.storage.component_storage import ComponentStorage, Folding
from muntin.techniques.compiled.compile import bind, compiled
from muntin.techniques.compiled.scatter import scatter
from muntin.techniques.table import Fold

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
        totals = tuple(np.full(groups.count, neutral(self.monoid, each.dtype)) for each in scalars)
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
    """Folds one component's partials for all windows that read them."""

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
    """Returns partials with the identity where there is none, so that all can be combined."""
    # A missing partial of several scalars is zeros, which is their identity.
    if column.present is None or len(column.scalars) > 1:
        return column
    (values,) = column.scalars
    return replace(
        column, scalars=(np.where(column.present, values, neutral(monoid, values.dtype)),)
    )


def neutral(monoid: Monoid, dtype: np.dtype[Any]) -> Any:
    """Returns the value that a missing partial counts as."""
    return dtype.type(monoid.identity[dtype.kind == "f"])


def _mark_groups(present: Bools, rows: Any, groups: Any, seen: Any) -> None:
    for index in range(len(groups)):
        row = index if rows is None else rows[index]
        if present[row]:
            seen[groups[index]] = True


_mark = compiled(_mark_groups)
