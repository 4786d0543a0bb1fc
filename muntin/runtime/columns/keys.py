"""Numbers the keys of rows, finds where a new key begins, and sorts rows by key and start.

Keys are Arrow columns of any type that Spark can group by.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.runtime.columns.distinct import distinct_integers
from muntin.runtime.columns.key_codes import mixed_radix, number_values
from muntin.runtime.columns.partials import Bools, Int64s
from muntin.techniques.kernels.compile import compile_kernel, inline


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
        """Returns the number of each row's key, and remembers the values of these keys."""
        if not self._columns:
            return np.zeros(batch.num_rows, np.int64)
        columns = [batch.column(name) for name in self._columns]
        if self._values:
            # Put the last key of the previous batch in front: this batch may continue it.
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
    """Returns, for each row but the first, whether its key differs from that of the row before.
    Nulls are equal, and so are NaN."""
    differs = np.zeros(len(columns[0]) - 1, np.bool_)
    for column in columns:
        differs |= _nested_changes(column) if pa.types.is_nested(column.type) else _changes(column)
    return differs


def _nested_changes(column: pa.Array) -> Bools:
    """Compares numbers of values, since Arrow cannot compare lists and structs."""
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


def sort_slices(table: pa.Table, keys: tuple[str, ...], start: str) -> pa.RecordBatch:
    """Returns the rows of a table as one batch, ordered by key and start; keys are in any order."""
    table = table.combine_chunks()
    starts = np.array(table.column(start).to_numpy(), np.int64)
    numbers, size = _number_keys(table, keys)
    if size > table.num_rows:
        dense = distinct_integers(numbers, size=size)
        numbers, size = dense.numbers.astype(np.int64), dense.count
    order = np.empty(len(numbers), np.int64)
    _by_key_and_start(numbers, size, starts, order)
    batches = table.take(pa.array(order)).combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)


def key_numbers(table: pa.Table, keys: tuple[str, ...]) -> Int64s:
    """Returns a number for every row, equal where all keys are; nulls are equal, and so are NaN."""
    return _number_keys(table, keys)[0]


def _number_keys(table: pa.Table, keys: tuple[str, ...]) -> tuple[Int64s, int]:
    """The number of each row's key, and their bound."""
    codes = [number_values(table.column(key).combine_chunks()) for key in keys]
    return mixed_radix(codes, table.num_rows)


def _run_end(starts: Any, order: Any, first: int, end: int) -> int:
    """Returns the end of the run of ascending starts that begins at `first`; at most `end`."""
    at = first + 1
    while at < end and starts[order[at - 1]] <= starts[order[at]]:
        at += 1
    return min(at, end)


_run_end = inline(_run_end)


def _sort_by_key(numbers: Any, size: int, starts: Any, order: Any) -> None:
    """Fills `order` with the rows by key and start; rows of one key and start keep their order.

    A key's rows come in a few runs of ascending starts, which are merged. numpy's sorts would take
    longer to compile than all other kernels of a first run.
    """
    ends = np.zeros(size + 1, np.int64)
    for row in range(len(numbers)):
        ends[numbers[row] + 1] += 1
    for key in range(size):
        ends[key + 1] += ends[key]
    # From here on, `ends[key]` is where the next row of a key goes.
    for row in range(len(numbers)):
        key = numbers[row]
        order[ends[key]] = row
        ends[key] += 1
    merged = np.empty(len(order), np.int64)
    first = 0
    for key in range(size):
        end = ends[key]
        # Until one run is left, neighbours are merged.
        while _run_end(starts, order, first, end) < end:
            low = first
            while low < end:
                middle = _run_end(starts, order, low, end)
                high = _run_end(starts, order, middle, end)
                left, right = low, middle
                for at in range(low, high):
                    if right == high or (
                        left < middle and starts[order[left]] <= starts[order[right]]
                    ):
                        merged[at] = order[left]
                        left += 1
                    else:
                        merged[at] = order[right]
                        right += 1
                for at in range(low, high):
                    order[at] = merged[at]
                low = high
        first = end


_by_key_and_start = compile_kernel(_sort_by_key)
