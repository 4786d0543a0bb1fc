"""A chunk of rows, and all that several targets need of it, computed once."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from muntin.model.aggregates.parts import INTEGER
from muntin.runtime.columns.distinct import Distinct
from muntin.runtime.columns.key_codes import canonical, encoded, hashes, mixed_radix
from muntin.runtime.columns.layout import Kept
from muntin.runtime.columns.lift import lifted, numbers
from muntin.runtime.columns.partials import Int64s, PartialColumn
from muntin.runtime.entries.entry_column import EntryColumn
from muntin.runtime.slicer.combine import without_gaps
from muntin.runtime.slicer.group_values import RowValues, sets_of
from muntin.runtime.slicer.groups import Groups, group, select_groups
from muntin.runtime.slicer.slice_starts import SliceStarts, slice_starts
from muntin.runtime.slicer.target import Target

_T = TypeVar("_T")
# If a target takes fewer rows than one in so many, it groups them itself.
_MANY = 4


class Chunk:
    """Some rows in memory, and what was computed from them for the targets that follow.

    `uses` says how many targets use each result. One that no target uses any more is dropped, so
    that memory does not grow with the number of targets.
    """

    def __init__(self, batch: pa.RecordBatch, time: str, uses: Counter[Hashable]) -> None:
        self._batch = batch
        self._uses = uses.copy()
        self._results: dict[Hashable, Any] = {}
        self.times: Int64s = numbers(batch.column(time), INTEGER)

    def groups(self, target: Target) -> Groups:
        """Returns the groups of a target's rows."""
        rows = self.rows(target)
        keys, size = self._keys(target)
        place = _groups_of(target)
        is_shared = self._uses[place] > 1 or place in self._results
        if rows is not None and not (is_shared and _MANY * len(rows) > len(self.times)):
            return group(keys, size, self.slices(target), rows)
        groups = self._once(place, lambda: group(keys, size, self.slices(target), None))
        return groups if rows is None else select_groups(groups, rows)

    def rows(self, target: Target) -> Int64s | None:
        """Returns the rows that are a target's, ascending; None: all are."""
        if target.counted is None and not target.masks:
            return None
        return self._once(_rows_of(target), lambda: self._selected(target))

    def slices(self, target: Target) -> SliceStarts:
        """Returns the slice of each row."""
        edges = target.slicing.edges
        return self._once(_slices_of(target), lambda: slice_starts(self.times, edges))

    def partials(self, entry: Kept, target: Target) -> PartialColumn | None:
        """Returns a component's partials, one a row, without gaps; None: each counts as 1."""
        if target.values is not None and not entry.component.part.is_of_values:
            names = target.values[entry.component]
            if not any(self._batch.column(name).null_count for name in names):
                return None
        return self._once(_partials_of(entry, target), lambda: self._lifted(entry, target))

    def sets(self, entry: Kept, target: Target, groups: Groups) -> EntryColumn:
        """Returns a component's sets of values, one for each group."""
        return sets_of(self._values(entry, target), groups, entry)

    def _values(self, entry: Kept, target: Target) -> RowValues:
        assert target.values is not None
        (name,) = target.values[entry.component]
        part = entry.component.part
        return self._once(
            _partials_of(entry, target),
            lambda: RowValues(self._batch.column(name), tells_zeros_apart=part.tells_zeros_apart),
        )

    def column(self, name: str) -> pa.Array:
        """Returns a column of the rows."""
        return self._batch.column(name)

    def key(self, name: str, rows: Int64s) -> tuple[pa.Array, Int64s]:
        """Returns the values of a key in some rows, and their hashes."""
        codes, values, hashed = self._encoded(name)
        chosen = codes.numbers[rows]
        return values.take(pa.array(chosen)), hashed[chosen]

    def release(self, target: Target) -> None:
        """Drop what a target used, unless another one uses it; called when the target is done."""
        for result in results_for(target):
            self._uses[result] -= 1
            if not self._uses[result]:
                self._results.pop(result, None)

    def _encoded(self, name: str) -> tuple[Distinct, pa.Array, Int64s]:
        """Returns a key's codes, and the value and the hash of each code."""

        def encode() -> tuple[Distinct, pa.Array, Int64s]:
            column = self._batch.column(name)
            codes = encoded(column)
            values = canonical(column.take(pa.array(codes.firsts)))
            return codes, values, hashes(values)

        return self._once(_codes_of(name), encode)

    def _keys(self, target: Target) -> tuple[Any, int]:
        """Returns one number for each row's keys, and their bound."""
        codes = [self._encoded(name)[0] for name in target.layout.key_columns]
        return self._once(_keys_of(target), lambda: mixed_radix(codes, len(self.times)))

    def _selected(self, target: Target) -> Int64s:
        selected = np.ones(len(self.times), np.bool_)
        for name, mask in target.masks.items():
            selected &= (numbers(self._batch.column(name), INTEGER) & mask) == mask
        if target.counted is not None:
            selected &= numbers(self._batch.column(target.counted), INTEGER) > 0
        return np.flatnonzero(selected)

    def _lifted(self, entry: Kept, target: Target) -> PartialColumn:
        # Differences of infinities are NaN, as they are to Spark.
        with np.errstate(all="ignore"):
            return without_gaps(lifted(entry, self._batch, target.values), entry.monoid)

    def _once(self, result: Hashable, compute: Callable[[], _T]) -> _T:
        if result not in self._results:
            self._results[result] = compute()
        value: _T = self._results[result]
        return value


def results_for(target: Target) -> Iterable[Hashable]:
    """Names the results that a target uses, each once."""
    used = [_rows_of(target), *map(_codes_of, target.layout.key_columns)]
    used += (_partials_of(entry, target) for entry in target.layout.kept)
    if not target.is_whole:
        used += (_slices_of(target), _keys_of(target), _groups_of(target))
    return dict.fromkeys(used)


def _rows_of(target: Target) -> Hashable:
    return ("rows", target.counted, *sorted(target.masks.items()))


def _slices_of(target: Target) -> Hashable:
    return ("slices", target.slicing.edges)


def _codes_of(name: str) -> Hashable:
    return ("codes", name)


def _keys_of(target: Target) -> Hashable:
    return ("keys", target.layout.key_columns)


def _groups_of(target: Target) -> Hashable:
    return ("groups", target.layout.key_columns, target.slicing.edges)


def _partials_of(entry: Kept, target: Target) -> Hashable:
    if target.values is None:
        return ("partials", entry.component, entry.number, entry.monoid, entry.columns)
    return ("lifted", entry.component, entry.number, entry.monoid, target.values[entry.component])
