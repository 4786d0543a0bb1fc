"""A chunk of rows that arrived in Arrow batches: events, or partials of finer slices."""

from collections import Counter
from collections.abc import Hashable
from typing import Any

import pyarrow as pa

from muntin.runtime.columns.distinct import Distinct
from muntin.runtime.columns.key_codes import hash_values, normalize_floats, number_values
from muntin.runtime.columns.numbers import integers_of
from muntin.runtime.columns.partials import Int64s
from muntin.runtime.slicer.chunk import Chunk, bits_of, codes_of, lift_name, rows_with_bits
from muntin.runtime.slicer.target import Target
from muntin.runtime.storage.component_storage import ComponentStorage


class BatchChunk(Chunk):
    """The rows of a batch, with their instants in the column `time`."""

    def __init__(self, batch: pa.RecordBatch, time: str, uses: Counter[Hashable]) -> None:
        super().__init__(integers_of(batch.column(time)), uses)
        self._batch = batch

    def lift(self, storage: ComponentStorage, target: Target) -> Any:
        """Returns what a component is combined from, of each row."""
        return self._once(lift_name(storage, target), lambda: self._lift(storage, target))

    def codes(self, name: str) -> tuple[Distinct, pa.Array, Int64s]:
        """Returns a key's codes, and the value and the hash of each code."""

        def encode() -> tuple[Distinct, pa.Array, Int64s]:
            column = self._batch.column(name)
            codes = number_values(column)
            values = normalize_floats(column.take(pa.array(codes.firsts)))
            return codes, values, hash_values(values)

        return self._once(codes_of(name), encode)

    def column(self, name: str) -> pa.Array:
        """Returns a column of the rows."""
        return self._batch.column(name)

    def bits(self, name: str) -> Int64s:
        """Returns a column of bits; none are set where it is null."""
        return self._once(bits_of(name), lambda: integers_of(self._batch.column(name)))

    def select_rows(self, target: Target) -> Int64s:
        """Returns the rows that a target's masks choose, ascending."""
        return rows_with_bits([(self.bits(name), mask) for name, mask in target.masks.items()])

    def _lift(self, storage: ComponentStorage, target: Target) -> Any:
        if target.values is None:
            return storage.lift_partials(self._batch)
        return storage.lift(self._batch, target.values[storage.component])
