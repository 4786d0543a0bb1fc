"""Sets of values as columns of slices: a list of the values, and one of their counts if needed."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.model.aggregates.monoids import Monoid
from muntin.runtime.columns.key_codes import canonical
from muntin.runtime.columns.layout import Kept
from muntin.runtime.columns.partials import Coding, Int64s
from muntin.runtime.entries.entry_codes import decode, encode
from muntin.runtime.entries.entry_column import EntryColumn, ends


def has_counts(monoid: Monoid) -> bool:
    """Whether entries say how often a value occurs."""
    return monoid.width > 1


def read_entries(entry: Kept, batch: pa.RecordBatch) -> EntryColumn:
    """Returns a component's sets from its columns of the slices; a null is an empty set."""
    lists = batch.column(entry.columns[0])
    if not pa.types.is_list(lists.type):
        # An earlier plan kept none.
        return no_entries(entry.monoid, rows=len(lists))
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
    codes, coding = encode(lists.flatten(), in_order=has_counts(entry.monoid))
    counts = None
    if has_counts(entry.monoid):
        flat = batch.column(entry.columns[1]).flatten()
        counts = np.array(flat.to_numpy(zero_copy_only=False), np.int64)
    return EntryColumn(offsets=ends(lengths), codes=codes, counts=counts, coding=coding)


def entries_of_records(entry: Kept, column: pa.Array) -> EntryColumn:
    """Returns a component's sets, one for each record: its value, or nothing where it is null."""
    values = column.drop_null()
    if not entry.component.part.tells_zeros_apart:
        values = canonical(values)
    elif pa.types.is_floating(values.type):
        floats = np.array(values.to_numpy(zero_copy_only=False), np.float64)
        # NaN is one value.
        values = pa.array(np.where(np.isnan(floats), np.nan, floats))
    codes, coding = encode(values, in_order=has_counts(entry.monoid))
    counts = np.ones(len(codes), np.int64) if has_counts(entry.monoid) else None
    there = column.is_valid().to_numpy(zero_copy_only=False).astype(np.int64)
    return EntryColumn(offsets=ends(there), codes=codes, counts=counts, coding=coding)


def write_entries(entry: Kept, column: EntryColumn) -> dict[str, pa.Array]:
    """Returns a component's sets as its columns of the slices."""
    offsets = pa.array(column.offsets, pa.int32())
    lists = {entry.columns[0]: list_of(column)}
    if column.counts is not None:
        lists[entry.columns[1]] = pa.ListArray.from_arrays(offsets, pa.array(column.counts))
    return lists


def list_of(column: EntryColumn) -> pa.Array:
    """Returns the values of each row as a list."""
    offsets = pa.array(column.offsets, pa.int32())
    return pa.ListArray.from_arrays(offsets, decode(column.codes, column.coding))


def no_entries(monoid: Monoid, *, rows: int = 0) -> EntryColumn:
    """Returns empty sets."""
    nothing = np.empty(0, np.int64)
    return EntryColumn(
        offsets=np.zeros(rows + 1, np.int64),
        codes=nothing,
        counts=nothing if has_counts(monoid) else None,
        coding=Coding(kind=pa.null()),
    )


def joined_entries(older: EntryColumn, newer: EntryColumn) -> EntryColumn:
    """The sets of one after those of the other, with codes that mean the same in both."""
    codes: list[Int64s] = [older.codes, newer.codes]
    coding = older.coding if len(older.codes) else newer.coding
    if older.coding.values is not None and newer.coding.values is not None:
        values = pa.concat_arrays([older.coding.values, newer.coding.values])
        numbers, coding = encode(values, in_order=older.counts is not None)
        first = len(older.coding.values)
        codes = [numbers[:first][older.codes], numbers[first:][newer.codes]]
    counts = None
    if older.counts is not None and newer.counts is not None:
        counts = np.concatenate([older.counts, newer.counts])
    return replace(
        older,
        offsets=np.concatenate([older.offsets, newer.offsets[1:] + older.offsets[-1]]),
        codes=np.concatenate(codes),
        counts=counts,
        coding=coding,
    )
