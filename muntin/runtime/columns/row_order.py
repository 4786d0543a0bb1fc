"""Rows of slices in (keys, start) order, whatever order they arrived in."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.runtime.columns.partials import Int64s


def ordered(table: pa.Table, keys: tuple[str, ...], start: str) -> pa.RecordBatch:
    """The rows of a table as one batch, each key's together and by their start."""
    table = table.combine_chunks()
    starts = table.column(start).to_numpy()
    numbers = key_numbers(table, keys)
    order = np.lexsort((starts, numbers))
    batches = table.take(pa.array(order)).combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)


def key_numbers(table: pa.Table, keys: tuple[str, ...]) -> Int64s:
    """A number for every row: equal where all keys are equal; null is null, NaN is NaN."""
    numbers = np.zeros(table.num_rows, np.int64)
    count = 1
    for key in keys:
        column = table.column(key)
        encoded = pc.dictionary_encode(column, null_encoding="encode").combine_chunks()
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        size = len(encoded.dictionary) + 1
        if count > np.iinfo(np.int64).max // size:
            distinct, numbers = np.unique(numbers, return_inverse=True)
            count = len(distinct)
        numbers = numbers * size + codes
        count *= size
    return numbers
