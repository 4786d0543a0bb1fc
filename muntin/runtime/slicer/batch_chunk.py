"""A chunk of rows that arrived in Arrow batches: events, or partials of finer slices."""

from collections import Counter
from collections.abc import Hashable

import numpy as np
import pyarrow as pa

from muntin.model.aggregates.parts import INTEGER
from muntin.runtime.columns.distinct import Distinct
from muntin.runtime.columns.key_codes import canonical, encoded, hashes
from muntin.runtime.columns.layout import Kept
from muntin.runtime.columns.lift import lifted, numbers
from muntin.runtime.columns.partials import Int64s, PartialColumn
from muntin.runtime.entries.entry_column import EntryColumn
from muntin.runtime.slicer.chunk import Chunk, bits_of, codes_of, partials_of
from muntin.runtime.slicer.combine import without_gaps
from muntin.runtime.slicer.group_values import RowValues, sets_of
from muntin.runtime.slicer.groups import Groups
from muntin.runtime.slicer.row_bits import rows_with_bits
from muntin.runtime.slicer.target import Target


class BatchChunk(Chunk):
    """The rows of a batch, with their instants in the column `time`."""

    def __init__(self, batch: pa.RecordBatch, time: str, uses: Counter[Hashable]) -> None:
        super().__init__(numbers(batch.column(time), INTEGER), uses)
        self._batch = batch

    def partials(self, entry: Kept, target: Target) -> PartialColumn | None:
        """Returns a component's partials, one a row, without gaps; None: each counts as 1."""
        if target.values is not None and not entry.component.part.is_of_values:
            names = target.values[entry.component]
            if not any(self._batch.column(name).null_count for name in names):
                return None
        return self._once(partials_of(entry, target), lambda: self._lifted(entry, target))

    def sets(self, entry: Kept, target: Target, groups: Groups) -> EntryColumn:
        """Returns a component's sets of values, one for each group."""
        return sets_of(self._values(entry, target), groups, entry)

    def codes(self, name: str) -> tuple[Distinct, pa.Array, Int64s]:
        """Returns a key's codes, and the value and the hash of each code."""

        def encode() -> tuple[Distinct, pa.Array, Int64s]:
            column = self._batch.column(name)
            codes = encoded(column)
            values = canonical(column.take(pa.array(codes.firsts)))
            return codes, values, hashes(values)

        return self._once(codes_of(name), encode)

    def column(self, name: str) -> pa.Array:
        """Returns a column of the rows."""
        return self._batch.column(name)

    def bits(self, name: str) -> Int64s:
        """Returns a column of bits; none are set where it is null."""
        return self._once(bits_of(name), lambda: numbers(self._batch.column(name), INTEGER))

    def selected(self, target: Target) -> Int64s:
        """Returns the rows that a target's masks choose, ascending."""
        return rows_with_bits([(self.bits(name), mask) for name, mask in target.masks.items()])

    def _values(self, entry: Kept, target: Target) -> RowValues:
        assert target.values is not None
        (name,) = target.values[entry.component]
        part = entry.component.part
        return self._once(
            partials_of(entry, target),
            lambda: RowValues(self._batch.column(name), tells_zeros_apart=part.tells_zeros_apart),
        )

    def _lifted(self, entry: Kept, target: Target) -> PartialColumn:
        # Differences of infinities are NaN, as they are to Spark.
        with np.errstate(all="ignore"):
            return without_gaps(lifted(entry, self._batch, target.values), entry.monoid)
