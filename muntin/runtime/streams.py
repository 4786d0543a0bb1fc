"""The discretizer: for every kind of window, where windows begin and end, batch by batch.

A stream is the windows of one query, or one half of them. It sees each key's records in order,
split over batches anyhow, and remembers what it needs between two of them.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from muntin.model.kinds import (
    CountWindow,
    Custom,
    Delta,
    Kind,
    Landmark,
    Punctuation,
    Session,
    Threshold,
)
from muntin.model.window import Window
from muntin.runtime.custom import CountedStream, EvictingStream
from muntin.runtime.partials import Int64s
from muntin.runtime.periods import find, last_until, number_rows
from muntin.runtime.records import Marks, Records

_NONE = np.empty(0, np.int64)
_ANY = np.iinfo(np.int64).min


class Stream(Protocol):
    """Windows of one kind as records arrive."""

    def feed(self, records: Records) -> Marks:
        """Where windows begin and end in a batch."""


def streams_of(window: Kind | Window) -> tuple[Stream, ...]:
    """What finds the windows of a query; their answers are those of all of these together."""
    match window:
        case Window():
            return (TimeStream(window),)
        case Session():
            return (SessionStream(window.gap),)
        case CountWindow():
            return (CountStream(window),)
        case Delta():
            return (DeltaStream(window),)
        case Punctuation():
            return (ConditionStream(window.condition, window.condition),)
        case Landmark(end=int(length)):
            return (LengthStream(window.begin, length),)
        case Landmark():
            return (ConditionStream(window.begin, str(window.end)),)
        case Threshold():
            return (
                TimeStream(window.inside, (window.condition, True)),
                TimeStream(window.outside, (window.condition, False)),
            )
        case Custom() if window.is_deterministic:
            return (CountedStream(window),)
        case Custom():
            return (EvictingStream(window),)
    raise TypeError(f"no stream finds {window!r}")


class SessionStream:
    """A window ends where no record follows within the gap."""

    def __init__(self, gap: int) -> None:
        self._gap = gap
        self._is_open = False

    def feed(self, records: Records) -> Marks:
        """Compare each record with the one before."""
        apart = records.times - records.lasts_before[:-1] > self._gap
        apart[records.firsts[records.firsts < records.rows]] = True
        begins = np.flatnonzero(apart)
        # The data ends before a row that is not there.
        borders = begins if records.rows else records.firsts
        reads = borders if self._is_open else borders[1:]
        self._is_open = records.rows > 0
        return Marks(
            begins=begins,
            starts=records.times[begins],
            reads=reads,
            ends=records.lasts_before[reads] + self._gap,
        )


class ConditionStream:
    """Windows from each record where one condition holds to the next where another does."""

    def __init__(self, begin: str, end: str) -> None:
        self._begin = begin
        self._end = end
        self._open = 0

    def feed(self, records: Records) -> Marks:
        """A key's end ends its windows, too."""
        begins = np.flatnonzero(records.conditions[self._begin])
        borders = np.union1d(np.flatnonzero(records.conditions[self._end]), records.firsts)
        following = np.searchsorted(borders, begins, side="right")
        closed = following < len(borders)
        reads = borders[following[closed]]
        if len(borders):
            reads = np.concatenate([np.full(self._open, borders[0]), reads])
            self._open = 0
        self._open += int((~closed).sum())
        return Marks(
            begins=begins,
            starts=records.times[begins],
            reads=reads,
            ends=records.times_at(reads, ~np.isin(reads, records.firsts)),
        )


class LengthStream:
    """Windows of so many microseconds from each record where a condition holds."""

    def __init__(self, begin: str, length: int) -> None:
        self._begin = begin
        self._length = length
        self._starts: Int64s = _NONE

    def feed(self, records: Records) -> Marks:
        """Windows end in the order in which they began: all are equally long."""
        begins = np.flatnonzero(records.conditions[self._begin])
        starts = np.concatenate([self._starts, records.times[begins]])
        reads, _ = last_until(
            records.times, records.firsts, begins, starts + self._length, len(self._starts)
        )
        self._starts = starts[len(reads) :]
        return Marks(
            begins=begins,
            starts=records.times[begins],
            reads=reads,
            ends=starts[: len(reads)] + self._length,
        )


class _PeriodStream:
    """Windows that are periodic in some growing measure."""

    def __init__(self, size: Any, slide: Any, offset: Any = 0, least: int = _ANY) -> None:
        self._window = (size, slide, offset)
        self._least = least
        self._state = np.zeros(3, np.int64)

    def _find(self, values: Any, firsts: Int64s) -> tuple[Any, Any, Any, Any]:
        kind = values.dtype.type
        missing = kind(-np.inf) if values.dtype.kind == "f" else kind(_ANY)
        size, slide, offset = (kind(number) for number in self._window)
        found: tuple[Any, Any, Any, Any] = find(
            values, missing, firsts, size, slide, offset, self._least, self._state
        )
        return found


class TimeStream(_PeriodStream):
    """Periodic windows over time; those alone whose last record meets a condition, or fails it."""

    def __init__(self, window: Window, only: tuple[str, bool] | None = None) -> None:
        super().__init__(window.size, window.slide, window.offset)
        self._only = only
        self._begin: Callable[[Int64s], Int64s] = lambda n: window.offset + n * window.slide
        self._size = window.size
        self._starts: Int64s = _NONE

    def feed(self, records: Records) -> Marks:
        """A window is labelled by its own bounds, whatever its records are."""
        begins, numbers, reads, _ = self._find(records.times, records.firsts)
        begun = self._begin(numbers)
        starts = np.concatenate([self._starts, begun])
        self._starts = starts[len(reads) :]
        asks = None
        if self._only is not None:
            condition, wanted = self._only
            asks = records.conditions_before[condition][reads] == wanted
        return Marks(
            begins=begins,
            starts=begun,
            reads=reads,
            ends=starts[: len(reads)] + self._size,
            asks=asks,
        )


class CountStream(_PeriodStream):
    """Windows of so many rows of a key."""

    def __init__(self, window: CountWindow) -> None:
        super().__init__(window.size, window.slide, least=0)
        self._seen = np.zeros(1, np.int64)

    def feed(self, records: Records) -> Marks:
        """The measure is the number of the row."""
        rows = np.empty(records.rows, np.int64)
        number_rows(rows, records.firsts, self._seen)
        begins, _, reads, ended = self._find(rows, records.firsts)
        return Marks(
            begins=begins,
            starts=records.times[begins],
            reads=reads,
            ends=records.times_at(reads, ended),
        )


class DeltaStream(_PeriodStream):
    """Windows over a growing column."""

    def __init__(self, window: Delta) -> None:
        super().__init__(window.size, window.slide)
        self._column = window.column

    def feed(self, records: Records) -> Marks:
        """The measure has been made to grow when the records were read."""
        measure = records.measures[self._column]
        begins, _, reads, ended = self._find(measure, records.firsts)
        return Marks(
            begins=begins,
            starts=records.times[begins],
            reads=reads,
            ends=records.times_at(reads, ended),
        )
