"""Finds where a new key begins, in Arrow columns of any type that Spark can group by."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.runtime.columns.key_codes import number_values
from muntin.runtime.columns.partials import Bools, Int64s


class KeyNumbers:
    """Numbers keys in the order in which they arrive, and remembers the latest ones.

    The next batch may continue the last key of a batch.
    """

    def __init__(self, columns: tuple[str, ...]) -> None:
        self._columns = columns
        # The values of the keys since `first`.
        self._values: list[pa.Array] = []
        self.first = 0

    def number(self, batch: pa.RecordBatch) -> Int64s:
        """Number the rows by key, and remember each key's values under its number."""
        if not self._columns:
            return np.zeros(batch.num_rows, np.int64)
        columns = [batch.column(name) for name in self._columns]
        if self._values:
            # Put the last key of the batch before in front: this batch may continue it.
            columns = [
                pa.concat_arrays([last, column])
                for last, column in zip(self._values, columns, strict=True)
            ]
        steps = changes(columns)
        firsts = np.concatenate([[0], np.flatnonzero(steps) + 1])
        numbers = self.first + np.cumsum(steps, dtype=np.int64)
        if not self._values:
            numbers = np.concatenate([[np.int64(self.first)], numbers])
        self._values = [column.take(pa.array(firsts)) for column in columns]
        return numbers

    def columns(self, numbers: Int64s) -> dict[str, pa.Array]:
        """Returns the keys that have these numbers, a column each."""
        indices = pa.array(numbers - self.first)
        return {
            name: values.take(indices)
            for name, values in zip(self._columns, self._values, strict=True)
        }

    def forget(self, last: int) -> None:
        """Forget all keys but the last, whose number is `last`."""
        self.first = last
        self._values = [column.slice(len(column) - 1) for column in self._values]


def changes(columns: list[pa.Array]) -> Bools:
    """For each row but the first, whether its key differs from the row before: null is null, NaN is
    NaN."""
    differs = np.zeros(len(columns[0]) - 1, np.bool_)
    for column in columns:
        differs |= _nested_changes(column) if pa.types.is_nested(column.type) else _changes(column)
    return differs


def _nested_changes(column: pa.Array) -> Bools:
    """Numbers whole values, since Arrow compares no lists and structs."""
    numbers = number_values(column).numbers
    differs: Bools = numbers[1:] != numbers[:-1]
    return differs


def _changes(column: pa.Array) -> Bools:
    before, after = column.slice(0, len(column) - 1), column.slice(1)
    valid = _bools(column.is_valid())
    differs: Bools = valid[:-1] != valid[1:]
    if pa.types.is_null(column.type):
        return differs
    equal = _bools(pc.equal(before, after))
    if pa.types.is_floating(column.type):
        equal |= _bools(pc.and_(pc.is_nan(before), pc.is_nan(after)))
    differs |= ~equal & valid[1:]
    return differs


def _bools(array: pa.Array) -> Bools:
    result: Bools = array.fill_null(False).to_numpy(zero_copy_only=False)
    return result
