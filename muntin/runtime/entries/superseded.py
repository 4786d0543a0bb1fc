"""Drops entries that no window to come needs: the state of distinct values is about one entry each.

A window that is open ends behind the watermark. If it holds an old slice, it holds all slices from
there to the watermark, and with them any later occurrence of a value (Subsumption, section 4).
"""

import numpy as np
import pyarrow as pa

from muntin.runtime.columns.distinct import distinct_integers, distinct_pairs
from muntin.runtime.columns.layout import Kept, Layout
from muntin.runtime.columns.row_order import key_numbers, ordered
from muntin.runtime.entries.entry_column import EntryColumn, ends
from muntin.runtime.entries.entry_lists import has_counts, read_entries, write_entries
from muntin.techniques.sweeps.latest_occurrence import without_superseded


def latest_entries(table: pa.Table, layout: Layout, watermark: int) -> pa.Table:
    """Returns rows of slices without the entries of sets that a later row makes superfluous.

    Only a row that starts up to the watermark does.
    """
    sets = [entry for entry in layout.kept if entry.is_of_entries and not has_counts(entry.monoid)]
    if not sets:
        return table
    batch = ordered(table, layout.key_columns, layout.start)
    whole = pa.Table.from_batches([batch])
    is_passed = batch.column(layout.start).to_numpy() <= watermark
    keys = distinct_integers(key_numbers(whole, layout.key_columns))
    columns = dict(zip(whole.column_names, whole.columns, strict=True))
    for entry in sets:
        column = read_entries(entry, batch)
        if len(column.codes):
            columns |= _without_superseded(entry, column, keys.numbers, keys.count, is_passed)
    return pa.table(columns)


def _without_superseded(
    entry: Kept, column: EntryColumn, keys: np.ndarray, count: int, is_passed: np.ndarray
) -> dict[str, pa.Array]:
    lengths = np.diff(column.offsets)
    values = distinct_integers(column.codes)
    owners = np.repeat(keys, lengths)
    pairs = distinct_pairs(values.numbers, owners, (values.count, count), None)
    stays = without_superseded(pairs.numbers, column.offsets, is_passed, pairs.count)
    left = np.bincount(np.repeat(np.arange(len(lengths)), lengths)[stays], minlength=len(lengths))
    return write_entries(entry, column.taken(np.flatnonzero(stays), ends(left)))
