"""The base class of discretizers, with their state between batches of records."""

from typing import Any, ClassVar

import numpy as np

from muntin.runtime.columns.partials import Int64s
from muntin.runtime.data_windows.record_batch import NO_END, DiscretizerState, Records, WindowEdges

# When a window is due that only a record can end.
NEVER = np.iinfo(np.int64).max

_NONE = np.empty(0, np.int64)


class Discretizer:
    """Finds windows of one kind as records arrive."""

    # What it remembers of a key beside its open windows: numbers, zero for a new key.
    memory: ClassVar[tuple[str, ...]] = ()
    # Whether it may forget a key that has no open windows.
    forgets = True
    # For how long after its end a window may still get records.
    patience = 0

    def __init__(self) -> None:
        self._open = 0
        self._starts: Int64s = _NONE
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
