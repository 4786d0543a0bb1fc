"""What all streams of windows have in common: what they carry from records to later ones."""

from typing import Any, ClassVar

import numpy as np

from muntin.runtime.columns.partials import Int64s
from muntin.runtime.records.record_batch import NO_END, Carried, Marks, Records

# When a window is due whose end only a record can tell.
NEVER = np.iinfo(np.int64).max

_NONE = np.empty(0, np.int64)


class Discretizer:
    """Windows of one kind as records arrive."""

    # What it remembers of a key beside its open windows: numbers, zero for a new key.
    memory: ClassVar[tuple[str, ...]] = ()
    # Whether a key without open windows is as good as new to it.
    forgets = True
    # For how long after its end a window may still get records.
    patience = 0

    def __init__(self) -> None:
        self._open = 0
        self._starts: Int64s = _NONE
        self._memory = dict.fromkeys(self.memory, 0)
        self._made: Any = None

    def find(self, records: Records, carried: Carried) -> Marks:
        """Where windows begin and end in a batch, of which `carried` is what was before."""
        raise NotImplementedError

    def due(self, ends: Int64s) -> Int64s:
        """From when on windows with these ends can get no more records, if none come before."""
        return np.where(ends == NO_END, NEVER, ends + self.patience)

    def feed(self, records: Records) -> Marks:
        """The next batch of records, of which the first may go on with the key before."""
        last = records.stretches - 1
        carried = Carried(
            open=_first(self._open, last),
            starts=self._starts,
            memory={name: _first(value, last) for name, value in self._memory.items()},
            made=[self._made, *[None] * last],
        )
        marks = self.find(records, carried)
        self._memory = {name: int(values[last]) for name, values in carried.memory.items()}
        self._made = carried.made[last]
        low = records.lows[last]
        begun = marks.starts[marks.begins >= low]
        over = marks.stretches == last
        closed = int((over if marks.closes is None else over & marks.closes).sum())
        held = begun if last else np.concatenate([self._starts, begun])
        self._starts = held[closed:]
        self._open = len(self._starts)
        return marks


def _first(value: int, others: int) -> Int64s:
    """A number for the first stretch; the others have zero."""
    found = np.zeros(others + 1, np.int64)
    found[0] = value
    return found
