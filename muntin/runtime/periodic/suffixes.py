"""Combines the partials of a block of time into its suffixes: the flip of two stacks."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from muntin.model.trees import QUEUE
from muntin.runtime.columns.arrow_arrays import integers_of
from muntin.runtime.columns.keys import KeyNumbers, sort_slices
from muntin.runtime.periodic.rollups import table_of
from muntin.runtime.storage.layout import Layout


def suffixes(
    rows: pa.Table, layout: Layout, first: int, slide: int
) -> Iterator[tuple[int, pa.Table]]:
    """Yields, for instants a slide apart from `first` on, the partials of all that starts there or
    later: the instant, and a row for each key that has any.

    No row starts before `first`. A row is combined once, from the latest to the first.
    """
    batch = sort_slices(rows, layout.key_columns, layout.start)
    numbering = KeyNumbers(layout.key_columns)
    keys = numbering.number(batch)
    places = (integers_of(batch.column(layout.start)) - first) // slide
    count, steps = int(keys[-1]) + 1, int(places.max()) + 1
    # How many rows are before each pair of a key and an instant, in the order of the rows.
    filled = np.bincount(keys * steps + places, minlength=count * steps)
    ends = np.cumsum(filled)
    lows = (ends - filled).reshape(count, steps)
    highs = np.broadcast_to(ends.reshape(count, steps)[:, -1:], lows.shape)
    some = lows < highs
    instants = np.broadcast_to(np.arange(steps), lows.shape)[some]
    owners = np.broadcast_to(np.arange(count)[:, None], lows.shape)[some]
    columns = {
        # Every range of a key ends with its last row, so the kernel flips once and adds nothing.
        each.component: each.folding(each.read(batch), keys).over(lows[some], highs[some], QUEUE)
        for each in layout.storages
    }
    # Small integers are put in order in one pass.
    in_order = np.argsort(instants.astype(np.min_scalar_type(steps)), kind="stable")
    bounds = np.cumsum(some.sum(axis=0))
    for step, at in enumerate(np.split(in_order, bounds[:-1])):
        start = first + step * slide
        yield (
            start,
            table_of(
                layout,
                numbering.columns(owners[at]),
                np.full(len(at), start, np.int64),
                {component: column.where(at) for component, column in columns.items()},
            ),
        )
