"""Drops values that no window to come needs: the state of distinct values is about one entry each.

A window that is open ends behind the watermark. If it holds an old slice, it holds all slices from
there to the watermark, and with them any later occurrence of a value (Subsumption, section 4).
"""

import pyarrow as pa

from muntin.runtime.columns.distinct import distinct_integers
from muntin.runtime.columns.row_order import key_numbers, sort_slices
from muntin.runtime.storage.layout import Layout


def latest_values(table: pa.Table, layout: Layout, watermark: int) -> pa.Table:
    """Returns rows of slices without the values of sets that a later row makes superfluous.

    Only a row that starts up to the watermark does.
    """
    sets = [storage for storage in layout.storages if storage.has_superseded]
    if not sets:
        return table
    batch = sort_slices(table, layout.key_columns, layout.start)
    whole = pa.Table.from_batches([batch])
    is_passed = batch.column(layout.start).to_numpy() <= watermark
    keys = distinct_integers(key_numbers(whole, layout.key_columns))
    columns = dict(zip(whole.column_names, whole.columns, strict=True))
    for storage in sets:
        columns |= storage.without_superseded(batch, keys.numbers, keys.count, is_passed)
    return pa.table(columns)
