"""The most frequent values of windows, as `approx_top_k` answers them, from exact counts."""

import numpy as np
import pyarrow as pa

from muntin.aggregates.sketch_parameters import top_k
from muntin.runtime.columns.partials import Int64s
from muntin.runtime.columns.value_codes import decode
from muntin.runtime.value_sets.set_column import offsets_of
from muntin.runtime.value_sets.window_sets import WindowSets
from muntin.techniques.sweeps import ranked_counts

ITEM, COUNT = "item", "count"


def top_items(sets: WindowSets, parameters: tuple[str, ...]) -> pa.Array:
    """Returns the most frequent values of each window as lists, each with its count.

    The most frequent comes first, and of several as frequent ones the least. `parameters` are those
    of the call.
    """
    entries, column = sets.folding.ranked, sets.folding.column
    starts = offsets_of(np.minimum(sets.sizes, top_k(parameters)))
    places, counts = ranked_counts.leaders(entries, sets.lows, sets.highs, starts)
    items = decode(column.codes[entries.entries[places]], column.coding)
    return _lists(starts, items, counts)


def with_nulls(tops: pa.Array, nulls: Int64s, parameters: tuple[str, ...]) -> pa.Array:
    """Returns the most frequent values of each window among these and null, which occurs so often.
    Null comes behind values that are as frequent."""
    k = top_k(parameters)
    sizes = tops.value_lengths().to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(nulls)
    flat = tops.flatten()
    counts = np.concatenate([flat.field(COUNT).to_numpy(), nulls[rows]])
    owners = np.concatenate([np.repeat(np.arange(len(tops)), sizes), rows])
    # The order is stable, and nulls stand behind all values.
    order = np.lexsort((-counts, owners))
    all_sizes = sizes + (nulls > 0)
    ranks = np.arange(len(order)) - np.repeat(offsets_of(all_sizes)[:-1], all_sizes)
    chosen = order[ranks < k]
    values = len(flat)
    items = flat.field(ITEM).take(pa.array(chosen, mask=chosen >= values))
    return _lists(offsets_of(np.minimum(all_sizes, k)), items, counts[chosen])


def _lists(starts: Int64s, items: pa.Array, counts: Int64s) -> pa.Array:
    pairs = pa.StructArray.from_arrays([items, pa.array(counts)], [ITEM, COUNT])
    return pa.ListArray.from_arrays(pa.array(starts, pa.int32()), pairs)
