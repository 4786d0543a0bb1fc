"""A stream of windows: the base class of discretizers, which find them, and the open windows of a
stream with the reads that end them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from muntin.aggregates.aggregate import Component
from muntin.runtime.columns.partials import Bools, Column, Int64s
from muntin.runtime.data_windows.record_batch import NO_END, DiscretizerState, Records, WindowEdges

# When a window is due that only a record can end.
NEVER = np.iinfo(np.int64).max

NOTHING = np.empty(0, np.int64)


class Discretizer:
    """Finds windows of one kind as records arrive."""

    # The integers that it remembers of each key besides open windows; zero for a new key.
    memory: ClassVar[tuple[str, ...]] = ()
    # Whether it may forget a key that has no open windows.
    forgets = True
    # For how long after its end a window may still get records.
    patience = 0

    def __init__(self) -> None:
        self._open = 0
        self._starts: Int64s = NOTHING
        self._memory = dict.fromkeys(self.memory, 0)
        self._made: Any = None

    def find(self, records: Records, carried: DiscretizerState) -> WindowEdges:
        """Returns where windows begin and end in a batch, and updates the state `carried`."""
        raise NotImplementedError

    def due(self, ends: Int64s) -> Int64s:
        """Returns the watermark from which windows with these ends get no more records."""
        return np.where(ends == NO_END, NEVER, ends + self.patience)

    def feed(self, records: Records) -> WindowEdges:
        """Returns the edges of the next batch of records, which may continue the last key."""
        last = records.stretches - 1
        carried = DiscretizerState(
            open=_first(self._open, last),
            starts=self._starts,
            memory={name: _first(value, last) for name, value in self._memory.items()},
            made=[self._made, *[None] * last],
        )
        edges = self.find(records, carried)
        self._memory = {name: int(values[last]) for name, values in carried.memory.items()}
        self._made = carried.made[last]
        low = records.lows[last]
        begun = edges.starts[edges.begins >= low]
        over = edges.stretches == last
        closed = int((over if edges.closes is None else over & edges.closes).sum())
        starts = begun if last else np.concatenate([self._starts, begun])
        self._starts = starts[closed:]
        self._open = len(self._starts)
        return edges


def _first(value: int, others: int) -> Int64s:
    """Returns a number for the first stretch, and zero for the others."""
    values = np.zeros(others + 1, np.int64)
    values[0] = value
    return values


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
