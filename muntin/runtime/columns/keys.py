"""Finds where a new key begins, in Arrow columns of any type that Spark can group by."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
    """For each row but the first, whether its key differs from the row before."""
    length = len(columns[0]) - 1
    differs = np.zeros(length, np.bool_)
    for column in columns:
        differs |= ~same(column.slice(0, length), column.slice(1, length))
    return differs


def same(left: pa.Array, right: pa.Array) -> Bools:
    """Row by row, whether two columns hold the same key: null is null, NaN is NaN."""
    valid_left, valid_right = _bools(left.is_valid()), _bools(right.is_valid())
    both = valid_left & valid_right
    return (both & _same_values(left, right, both)) | (~valid_left & ~valid_right)


def _same_values(left: pa.Array, right: pa.Array, both: Bools) -> Bools:
    """Row by row, whether two values are equal; only rows where both are valid matter."""
    kind = left.type
    if pa.types.is_null(kind):
        return both
    if pa.types.is_struct(kind):
        equal = both.copy()
        for index in range(kind.num_fields):
            equal &= same(pc.struct_field(left, [index]), pc.struct_field(right, [index]))
        return equal
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _same_lists(left, right, both)
    equal = _bools(pc.equal(left, right))
    if pa.types.is_floating(kind):
        equal |= _bools(pc.and_(pc.is_nan(left), pc.is_nan(right)))
    return equal


def _same_lists(left: pa.Array, right: pa.Array, both: Bools) -> Bools:
    """Lists are equal when their lengths are, and all elements are."""
    lengths = [pc.list_value_length(side).fill_null(-1).to_numpy() for side in (left, right)]
    equal = both & (lengths[0] == lengths[1])
    # Elements are compared at once for all the rows that have as many of them.
    rows = np.flatnonzero(equal & (lengths[0] > 0))
    if len(rows):
        elements = same(left.take(pa.array(rows)).flatten(), right.take(pa.array(rows)).flatten())
        firsts = np.concatenate([[0], np.cumsum(lengths[0][rows])[:-1]])
        equal[rows] = np.logical_and.reduceat(elements, firsts)
    result: Bools = equal
    return result


def _bools(array: pa.Array) -> Bools:
    result: Bools = array.fill_null(False).to_numpy(zero_copy_only=False)
    return result
