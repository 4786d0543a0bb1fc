"""Groups rows by key and slice: a dense number for each group, in order of first appearance."""

from typing import Any

import numpy as np

from muntin.runtime.columns.distinct import distinct_integers, distinct_pairs
from muntin.runtime.columns.groups import Groups
from muntin.runtime.columns.partials import Int64s
from muntin.runtime.slicer.slice_starts import SliceStarts

_INT64 = np.iinfo(np.int64).max


def group(keys: Any, size: int, slices: SliceStarts, rows: Int64s | None) -> Groups:
    """Group rows; `keys` has a number below `size` for each row of the chunk.

    Slices are the major part of a pair's number: events come roughly by time, so the pairs of
    neighbours are neighbours in memory.
    """
    if size > _INT64 // max(len(slices.starts), 1):
        dense = distinct_integers(keys, size=size)
        keys, size = dense.numbers, dense.count
    found = distinct_pairs(keys, slices.numbers, (size, len(slices.starts)), rows)
    return Groups(rows=rows, numbers=found.numbers, firsts=found.firsts)


def select_groups(groups: Groups, rows: Int64s) -> Groups:
    """Returns the groups of some rows, out of the groups of all rows."""
    chosen = distinct_integers(groups.numbers[rows], size=groups.count)
    return Groups(rows=rows, numbers=chosen.numbers, firsts=rows[chosen.firsts])
