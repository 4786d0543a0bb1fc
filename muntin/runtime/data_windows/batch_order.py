"""Sorts records as a batch does: by key, by time, then by all other columns.

The order is Spark's: nulls first, NaN after all numbers.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.runtime.columns.partials import Int64s


def order_of(batch: pa.RecordBatch, keys: Int64s, times: Int64s, columns: Iterable[str]) -> Int64s:
    """Returns the rows in order, given each row's key number; `columns` break ties of time."""
    order: Int64s = np.lexsort((times, keys))
    near_keys, near_times = keys[order], times[order]
    tied = (near_keys[1:] == near_keys[:-1]) & (near_times[1:] == near_times[:-1])
    if not tied.any():
        return order
    ranks = [rank for name in columns for rank in _ranks(batch.column(name))]
    # To `lexsort` the last one counts most.
    full_order: Int64s = np.lexsort((*reversed(ranks), times, keys))
    return full_order


def _ranks(column: pa.Array) -> Iterator[np.ndarray]:
    """Yields arrays that sort as a column does, the one that counts most first."""
    if column.null_count:
        yield column.is_valid().to_numpy(zero_copy_only=False)
    if pa.types.is_struct(column.type):
        for field in column.flatten():
            yield from _ranks(field)
        return
    if pa.types.is_floating(column.type):
        # To numpy, too, NaN comes after all numbers.
        yield column.fill_null(0).to_numpy(zero_copy_only=False)
        return
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    encoded = column.dictionary_encode()
    ranks = np.empty(len(encoded.dictionary) + 1, np.int64)
    ranks[pc.sort_indices(encoded.dictionary).to_numpy()] = np.arange(len(encoded.dictionary))
    ranks[-1] = -1
    yield ranks[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
