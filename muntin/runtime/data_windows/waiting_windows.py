"""Open windows, stream by stream, and the reads that end them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from muntin.aggregates.aggregate import Component
from muntin.runtime.columns.partials import Bools, Column, Int64s
from muntin.runtime.data_windows.record_batch import WindowEdges

NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True, kw_only=True)
class WindowReads:
    """The answers of a stream's windows that were read in a batch, in order."""

    rows: Int64s
    starts: Int64s
    ends: Int64s
    columns: Mapping[Component, Column]


@dataclass(frozen=True, kw_only=True)
class ReadWindows:
    """The window of each read of a batch, and whether the read closes it and gives an answer."""

    slices: Int64s
    starts: Int64s
    closes: Int64s
    asks: Bools


class WaitingWindows:
    """The open windows of one stream: the slice or the row that each began with, and its start."""

    def __init__(self) -> None:
        self.slices: Int64s = NOTHING
        self._starts: Int64s = NOTHING
        # The number of the first of them.
        self._first = 0

    def take(self, edges: WindowEdges, slices: Int64s) -> ReadWindows:
        """Add the windows that begin in a batch, and return those that are read."""
        open_slices = np.concatenate([self.slices, slices])
        starts = np.concatenate([self._starts, edges.starts])
        count = len(edges.reads)
        places = np.arange(count) if edges.numbers is None else edges.numbers - self._first
        closed = count if edges.closes is None else int(edges.closes.sum())
        self.slices, self._starts = open_slices[closed:], starts[closed:]
        self._first += closed
        return ReadWindows(
            slices=open_slices[places],
            starts=starts[places],
            closes=np.ones(count, np.int64)
            if edges.closes is None
            else edges.closes.astype(np.int64),
            asks=np.ones(count, np.bool_) if edges.asks is None else edges.asks,
        )
