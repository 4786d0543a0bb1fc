"""Combines partials into the cells of a coarser level, and finds the cells that windows need whole.

A window that closes spans many slices, but needs single slices only near its begin and its end. It
reads the rest as cells: a few dozen, however long the window is.

```
0    4    8    12   16   20   24
[----)----)----)----)----)----)      cells
      ||  ----- cells -----  ||      a window [6, 22): slices 6, 7, then cells, then slices 20, 21
```
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from muntin.aggregates.aggregate import Component
from muntin.model.trees import RECALC, Node
from muntin.model.windows import Window
from muntin.runtime.columns.keys import changes, sort_slices
from muntin.runtime.columns.partials import Bools, Column, Int64s, Partials
from muntin.runtime.periodic.intervals import Position
from muntin.runtime.periodic.node import END, Feed, NodeRuntime
from muntin.runtime.periodic.tree import partials_of
from muntin.runtime.storage.layout import Layout

# Cells as fine as time itself: rows of one start become one.
INSTANTS = Window(size=1, slide=1)


def is_cut(cells: Int64s, width: int, begins: Mapping[Window, tuple[int, int]]) -> Bools:
    """Returns, for each cell, whether a window that is asked for begins or ends inside it.

    `begins` has the first and the last begin that each window is asked for.
    """
    cut = np.zeros(len(cells), np.bool_)
    for window, (first, last) in begins.items():
        if first > last:
            continue
        size = window.size
        for since, until, phase, period in (
            (window.start_of(first), window.start_of(last), 0, window.start_period),
            (first + size, last + size, size, window.slide),
        ):
            # The first such edge after the begin of the cell.
            low = np.maximum(cells + 1, since)
            edge = low + (window.offset + phase - low) % period
            cut |= (edge < cells + width) & (edge <= until)
    return cut


def combine_into_cells(table: pa.Table, layout: Layout, cells: Window) -> pa.Table:
    """Combine partials into a row for each key and cell, a tumbling window; not empty."""
    batch = sort_slices(table, layout.key_columns, layout.start)
    keys = [batch.column(name) for name in layout.key_columns]
    steps = changes(keys) if keys else np.zeros(len(batch) - 1, np.bool_)
    numbers = np.concatenate([np.zeros(1, np.int64), np.cumsum(steps, dtype=np.int64)])
    firsts = pa.array(np.concatenate([[0], np.flatnonzero(steps) + 1]))
    reader = NodeRuntime(cells, {storage.component: RECALC for storage in layout.storages})
    feed = Feed(((Node(window=cells, aggregates=()), reader),), layout)
    rows = partials_of(batch, layout, numbers)
    chunks = [chunk for _, chunk, _ in feed.push(rows, Position(END, END), None)]
    values = [column.take(firsts) for column in keys]
    return pa.concat_tables([_table(chunk, values, layout) for chunk in chunks])


def _table(partials: Partials, keys: list[pa.Array], layout: Layout) -> pa.Table:
    columns = {
        name: values.take(pa.array(partials.keys))
        for name, values in zip(layout.key_columns, keys, strict=True)
    }
    return table_of(layout, columns, partials.starts, partials.columns)


def table_of(
    layout: Layout,
    keys: Mapping[str, pa.Array],
    starts: Int64s,
    partials: Mapping[Component, Column],
) -> pa.Table:
    """Returns partials as rows of slices: their keys, their starts, and their components."""
    columns = {**keys, layout.start: pa.array(starts)}
    for storage in layout.storages:
        columns |= storage.write(partials[storage.component])
    return pa.table(columns)
