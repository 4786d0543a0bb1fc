"""Figures that a bucket reports with its answers: late events, what has arrived, what is stored.

A figure has a place: the number of a tree, and the number of a node for which it counts late
events, or one of the numbers below, which are less than those of all nodes. Figures travel in the
rows of answers: a row with a figure is no answer.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.runtime.columns.partials import Bools, Int64s
from muntin.runtime.state.stream_tree import EVENTS, START, StreamTree, TreeState

# The columns with the number of a row's tree and with its figure. The figure of a row that has the
# begin of a window is how many answers a node gave.
TREE, FIGURE = "tree", "figure"
# Instead of a tree or a node: all of them.
ALL = -1
# How many partials a batch combined.
COMBINED = -2
# How many events, and how many keys, have arrived for a tree; less than the numbers of levels.
ARRIVED, KEYS = -(1 << 20), -(1 << 20) - 1

Figures = dict[tuple[int, int], int]


def rows_at(level: int) -> int:
    """Returns the number under which the rows of a level are reported."""
    return -3 - 2 * level


def bytes_at(level: int) -> int:
    """Returns the number under which the bytes of a level are reported."""
    return -4 - 2 * level


def state_figures(states: Mapping[int, TreeState], combined: Mapping[int, int]) -> Figures:
    """Returns how much each tree stores, and how many partials it combined."""
    figures = {(tree, COMBINED): count for tree, count in combined.items()}
    for tree, state in states.items():
        for level, (rows, size) in enumerate(state.sizes):
            figures[tree, rows_at(level)] = rows
            figures[tree, bytes_at(level)] = size
    return {place: figure for place, figure in figures.items() if figure}


def count_arrived(arrived: Mapping[int, pa.Table], trees: Sequence[StreamTree]) -> Figures:
    """Returns how many events and keys have arrived for trees of which planners ask that."""
    figures: Figures = {}
    for tree in trees:
        table = arrived.get(tree.number)
        counts = tree.count_arrived(table) if table is not None and table.num_rows else None
        if counts is not None:
            figures[tree.number, ARRIVED], figures[tree.number, KEYS] = counts
    return figures


def count_late(arrived: Mapping[int, pa.Table], trees: Sequence[StreamTree], given: int) -> Figures:
    """Returns how many events came too late for some window, by tree and node.

    `arrived` has slices by tree, and under `ALL` those of every event once. `given` is the
    watermark up to which answers were given.
    """
    tests: dict[tuple[int, int], Callable[[Any], Bools]] = {
        (tree.number, node): partial(tree.is_late, node, given=given)
        for tree in trees
        for node in range(len(tree.tree.nodes))
    }
    every = list(tests.values())
    tests[ALL, ALL] = lambda starts: np.logical_or.reduce([is_late(starts) for is_late in every])
    old = {tree: _before(table, given) for tree, table in arrived.items()}
    counts = {
        (tree, node): int(old[tree][1][is_late(old[tree][0])].sum())
        for (tree, node), is_late in tests.items()
        if tree in old
    }
    return {place: count for place, count in counts.items() if count}


def _before(table: pa.Table, given: int) -> tuple[Int64s, Int64s]:
    """Returns the starts of what begins before an instant, and its events: no other can be late."""
    starts = table.column(START).to_numpy()
    is_old = starts < given
    if EVENTS not in table.column_names:
        return starts[is_old], np.ones(is_old.sum(), np.int64)
    return starts[is_old], table.column(EVENTS).to_numpy()[is_old]
