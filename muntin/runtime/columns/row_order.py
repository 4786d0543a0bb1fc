"""Rows of slices in (keys, start) order, whatever order they arrived in."""

from typing import Any

import numpy as np
import pyarrow as pa

from muntin.runtime.columns.distinct import distinct_integers
from muntin.runtime.columns.key_codes import mixed_radix, number_values
from muntin.runtime.columns.partials import Int64s
from muntin.techniques.compiled.compile import compiled, inlined


def sort_slices(table: pa.Table, keys: tuple[str, ...], start: str) -> pa.RecordBatch:
    """The rows of a table as one batch, each key's together and by their start."""
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
    """A number for every row: equal where all keys are equal; null is null, NaN is NaN."""
    return _number_keys(table, keys)[0]


def _number_keys(table: pa.Table, keys: tuple[str, ...]) -> tuple[Int64s, int]:
    """The number of each row's key, and their bound."""
    codes = [number_values(table.column(key).combine_chunks()) for key in keys]
    return mixed_radix(codes, table.num_rows)


def _run_end(starts: Any, order: Any, first: int, end: int) -> int:
    """Where the rows from `first` on stop to come by their start; at most `end`."""
    at = first + 1
    while at < end and starts[order[at - 1]] <= starts[order[at]]:
        at += 1
    return min(at, end)


_run_end = inlined(_run_end)


def _sort_by_key(numbers: Any, size: int, starts: Any, order: Any) -> None:
    """Fill `order` with the rows by key and start, those of one start as they were.

    A key's rows come in a few runs, each in the order of starts, which are merged. numpy's sorts
    take longer to compile than all other kernels of a first run.
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


_by_key_and_start = compiled(_sort_by_key)
