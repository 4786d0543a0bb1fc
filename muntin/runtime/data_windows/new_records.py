"""Sorts the new records of a step, and gives old and new keys common numbers."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.runtime.columns.partials import Bools, Int64s
from muntin.runtime.columns.row_order import key_numbers
from muntin.runtime.data_windows.open_windows import DiscretizerWindows, OpenWindows
from muntin.runtime.data_windows.read_records import RecordLayout, lowest
from muntin.runtime.data_windows.record_batch import PreviousRecord


@dataclass(frozen=True, kw_only=True)
class StepRecords:
    """The new records of a step in order, and the state of all keys, by key number."""

    known: OpenWindows
    records: pa.RecordBatch
    # The key of each record.
    keys: Int64s

    @cached_property
    def keys_with_records(self) -> Int64s:
        """The keys that have new records."""
        return np.unique(self.keys)

    @cached_property
    def has_records(self) -> Bools:
        """Whether each key has new records."""
        mask = np.zeros(self.known.count, np.bool_)
        mask[self.keys_with_records] = True
        return mask

    @cached_property
    def lows(self) -> Int64s:
        """The first record of each key that has some."""
        lows: Int64s = np.searchsorted(self.keys, self.keys_with_records)
        return lows

    @property
    def firsts(self) -> Int64s:
        """The rows at which a stretch begins: one for each key that has new records, and an empty
        one after them, so that all of them end."""
        return np.append(self.lows, len(self.keys))

    @cached_property
    def stretch(self) -> Int64s:
        """The stretch of each key that has new records; the first stretch is empty."""
        stretches = np.zeros(self.known.count, np.int64)
        stretches[self.keys_with_records] = 1 + np.arange(len(self.keys_with_records))
        return stretches

    def by_stretch(self, values: Any) -> Any:
        """Returns values by key as values by stretch; the first and the last stretch have zero."""
        padded = np.zeros(len(self.keys_with_records) + 2, values.dtype)
        padded[1:-1] = values[self.keys_with_records]
        return padded


def number_keys(known: OpenWindows, records: pa.RecordBatch, layout: RecordLayout) -> StepRecords:
    """Returns the records of a step and the open windows, sorted by common key numbers."""
    columns = layout.layout.key_columns
    table = pa.Table.from_batches([records])
    if columns:
        both = pa.concat_tables(
            [known.keys, table.select(columns)], promote_options="permissive"
        ).combine_chunks()
        numbers = key_numbers(both, columns)
    else:
        both, numbers = known.keys, np.zeros(known.count + table.num_rows, np.int64)
    _, rows, ids = np.unique(numbers, return_index=True, return_inverse=True)
    old, new = ids[: known.count], ids[known.count :]
    start = layout.layout.start
    times = records.column(start).to_numpy()
    others = [name for name in records.schema.names if name not in (*columns, start)]
    order = _order_of(records, new, times, others)

    def spread(values: Any, fresh: Any) -> Any:
        all_values = fresh(len(rows))
        all_values[old] = values
        return all_values

    def zeros(values: Any) -> Any:
        return spread(values, lambda count: np.zeros(count, values.dtype))

    def texts(made: list[str | None] | None) -> list[str | None] | None:
        if made is None:
            return None
        all_texts: list[str | None] = [None] * len(rows)
        for key, text in zip(old.tolist(), made, strict=True):
            all_texts[key] = text
        return all_texts

    kinds = {sql: records.schema.field(name).type for sql, name in layout.measures.items()}
    slice_keys = old[known.slice_keys]
    by_key = np.argsort(slice_keys, kind="stable")
    place = np.empty(len(by_key), np.int64)
    place[by_key] = np.arange(len(by_key))
    return StepRecords(
        known=OpenWindows(
            keys=both.take(pa.array(rows)) if columns else both,
            count=len(rows),
            before=PreviousRecord(
                lasts=zeros(known.before.lasts),
                met={sql: zeros(known.before.met[sql]) for sql in layout.conditions},
                highest={
                    sql: spread(known.before.highest[sql], lambda n, k=kind: lowest(k, n))
                    for sql, kind in kinds.items()
                },
            ),
            memory=[
                {name: zeros(values) for name, values in memory.items()} for memory in known.memory
            ],
            made=[texts(made) for made in known.made],
            windows=[_renumber(windows, old, place) for windows in known.windows],
            slice_keys=slice_keys[by_key],
            partials={c: column.where(by_key) for c, column in known.partials.items()},
        ),
        records=table.take(pa.array(order)).combine_chunks().to_batches()[0]
        if len(order)
        else records,
        keys=new[order],
    )


def _renumber(windows: DiscretizerWindows, keys: Int64s, slices: Int64s) -> DiscretizerWindows:
    """Returns windows with the new numbers of their keys and slices, ordered by key."""
    placed = replace(windows, keys=keys[windows.keys], slices=slices[windows.slices])
    return placed.where(np.argsort(placed.keys, kind="stable"))


def _order_of(batch: pa.RecordBatch, keys: Int64s, times: Int64s, columns: Iterable[str]) -> Int64s:
    """Returns the rows by key, by time, then by `columns`, as a batch sorts them.

    The order is Spark's: nulls first, NaN after all numbers.
    """
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
    """Yields arrays that sort as a column does, the most significant first."""
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
