"""A chunk of rows, and all that several targets need of it, computed once."""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from muntin.model.aggregates.table import INTEGER
from muntin.runtime.columns.distinct import Distinct
from muntin.runtime.columns.key_codes import canonical, encoded, hashes, mixed_radix
from muntin.runtime.columns.layout import Kept
from muntin.runtime.columns.lift import lifted, numbers
from muntin.runtime.columns.partials import Int64s, PartialColumn
from muntin.runtime.slicer.combine import without_gaps
from muntin.runtime.slicer.groups import Groups, group, select_groups
from muntin.runtime.slicer.slice_starts import SliceStarts, slice_starts
from muntin.runtime.slicer.target import Target

_T = TypeVar("_T")


class Chunk:
    """Some rows in memory. What is asked for twice is computed once."""

    def __init__(self, batch: pa.RecordBatch, time: str) -> None:
        self._batch = batch
        self._time = time
        self._results: dict[Hashable, Any] = {}

    def groups(self, target: Target, *, is_shared: bool) -> Groups:
        """Returns the groups of a target's rows.

        `is_shared` says that another target has groups of the same keys and slices, so that those
        of all rows are worth having.
        """
        rows = self.rows(target)
        keys, edges = target.layout.key_columns, target.slicing.edges

        def of_all_rows() -> Groups:
            return group(*self._keys(keys), self.slices(target), None)

        if rows is None:
            return self._once(("groups", keys, edges), of_all_rows)
        if is_shared or 2 * len(rows) > self._batch.num_rows:
            return select_groups(self._once(("groups", keys, edges), of_all_rows), rows)
        return group(*self._keys(keys), self.slices(target), rows)

    def rows(self, target: Target) -> Int64s | None:
        """Returns the rows that are a target's, ascending; None: all are."""
        if target.counted is None and not target.masks:
            return None
        wanted = (target.counted, *sorted(target.masks.items()))
        return self._once(("rows", wanted), lambda: self._selected(target))

    def slices(self, target: Target) -> SliceStarts:
        """Returns the slice of each row."""
        edges = target.slicing.edges
        return self._once(("slices", edges), lambda: slice_starts(self.times, edges))

    @property
    def times(self) -> Int64s:
        """The instant of each row."""
        return self._once("times", lambda: numbers(self._batch.column(self._time), INTEGER))

    def partials(self, entry: Kept, target: Target) -> PartialColumn | None:
        """Returns a component's partials, one a row, without gaps; None: each counts as 1."""
        values = target.values
        if values is None:
            return self._once(("partials", entry), lambda: self._lifted(entry, target))
        names = values[entry.component]
        if not entry.component.part.is_of_values and not any(
            self._batch.column(name).null_count for name in names
        ):
            return None
        key = ("partials", entry.component, entry.number, entry.monoid, names)
        return self._once(key, lambda: self._lifted(entry, target))

    def key(self, name: str, rows: Int64s) -> tuple[pa.Array, Int64s]:
        """Returns the values of a key in some rows, and their hashes."""
        codes, values, hashed = self._encoded(name)
        numbers = codes.numbers[rows]
        return values.take(pa.array(numbers)), hashed[numbers]

    def _encoded(self, name: str) -> tuple[Distinct, pa.Array, Int64s]:
        """Returns a key's codes, and the value and the hash of each code."""

        def encode() -> tuple[Distinct, pa.Array, Int64s]:
            column = self._batch.column(name)
            codes = encoded(column)
            values = canonical(column.take(pa.array(codes.firsts)))
            return codes, values, hashes(values)

        return self._once(("encoded", name), encode)

    def _keys(self, names: tuple[str, ...]) -> tuple[Int64s, int]:
        """Returns one number for each row's keys, and their bound."""
        codes = [self._encoded(name)[0] for name in names]
        return self._once(("keys", names), lambda: mixed_radix(codes, self._batch.num_rows))

    def _selected(self, target: Target) -> Int64s:
        selected = np.ones(self._batch.num_rows, np.bool_)
        for name, mask in target.masks.items():
            selected &= (numbers(self._batch.column(name), INTEGER) & mask) == mask
        if target.counted is not None:
            selected &= numbers(self._batch.column(target.counted), INTEGER) > 0
        return np.flatnonzero(selected)

    def _lifted(self, entry: Kept, target: Target) -> PartialColumn:
        # Differences of infinities are NaN, as they are to Spark.
        with np.errstate(all="ignore"):
            return without_gaps(lifted(entry, self._batch, target.values), entry.monoid)

    def _once(self, key: Hashable, compute: Callable[[], _T]) -> _T:
        if key not in self._results:
            self._results[key] = compute()
        result: _T = self._results[key]
        return result
