"""A batch of records, and a stream of the windows that a discretizer finds in batches of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from muntin.aggregates.aggregate import Component
from muntin.runtime.columns.partials import Bools, Column, Int64s

# The end of a window that was still open when its data ended.
NO_END = np.iinfo(np.int64).min
# The watermark that closes a window that only a record can end.
NEVER = np.iinfo(np.int64).max
NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True, kw_only=True)
class PreviousRecord:
    """Facts about the last record before each stretch; arbitrary where there is none."""

    lasts: Int64s
    met: Mapping[str, Bools]
    # The highest value so far of each measure that grows.
    highest: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def each(self, change: Callable[[Any], Any]) -> "PreviousRecord":
        """Returns the facts with each array changed."""
        return PreviousRecord(
            lasts=change(self.lasts),
            met={sql: change(met) for sql, met in self.met.items()},
            highest={sql: change(values) for sql, values in self.highest.items()},
        )

    def update(self, places: Int64s, newer: "PreviousRecord") -> None:
        """Replaces the facts at some places by newer ones."""
        self.lasts[places] = newer.lasts
        for sql, met in self.met.items():
            met[places] = newer.met[sql]
        for sql, values in self.highest.items():
            values[places] = newer.highest[sql]


@dataclass(frozen=True, kw_only=True)
class Records:
    """A batch of records by (key, time), in stretches of one key each.

    Each of `firsts` is a row at which a new key starts, and with it a stretch. The first stretch
    continues the key of the previous batch. A stretch may have no rows. All keys but the last get
    no more records, so a batch without rows whose `firsts` is `[0]` means that the data has ended.
    """

    firsts: Int64s
    times: Int64s
    # The latest time in each record: later than its time where a record stands for several events.
    lasts: Int64s
    conditions: Mapping[str, Bools]
    measures: Mapping[str, NDArray[Any]]
    # The columns that users' classes read, by their Spark SQL.
    columns: Mapping[str, NDArray[Any]]
    before: PreviousRecord

    @property
    def rows(self) -> int:
        """How many records there are."""
        return len(self.times)

    @property
    def stretches(self) -> int:
        """How many stretches there are."""
        return len(self.firsts) + 1

    @cached_property
    def lows(self) -> Int64s:
        """The first row of each stretch."""
        return np.concatenate([np.zeros(1, np.int64), self.firsts])

    @cached_property
    def stops(self) -> Int64s:
        """The row after each stretch."""
        return np.append(self.firsts, self.rows)

    @cached_property
    def waits_before(self) -> Int64s:
        """The time since the record before, of the same key; arbitrary for the first of a key."""
        waits = np.empty(self.rows, np.int64)
        waits[1:] = self.times[1:] - self.lasts[:-1]
        filled = self.lows < self.stops
        lows = self.lows[filled]
        waits[lows] = self.times[lows] - self.before.lasts[filled]
        return waits

    def stretches_of(self, rows: Int64s) -> Int64s:
        """The stretch that each record is in."""
        return np.searchsorted(self.firsts, rows, side="right")

    def times_at(self, rows: Int64s, ended: Bools) -> Int64s:
        """Returns the times of records that ended windows, `NO_END` where `ended` is false."""
        times = np.full(len(rows), NO_END, np.int64)
        times[ended] = self.times[rows[ended]]
        return times

    def lasts_before(self, rows: Int64s, stretches: Int64s) -> Int64s:
        """Returns the latest time of the record before each row, maybe in an earlier batch."""
        lasts: Int64s = _before(self.lasts, self.before.lasts, self.lows, rows, stretches)
        return lasts

    def condition_before(self, sql: str, rows: Int64s, stretches: Int64s) -> Bools:
        """Returns whether the record before each row met a condition."""
        in_batch, known = self.conditions[sql], self.before.met[sql]
        met: Bools = _before(in_batch, known, self.lows, rows, stretches)
        return met

    def after(self) -> PreviousRecord:
        """Returns the facts about the last record of each stretch."""
        every = np.arange(self.stretches)
        return PreviousRecord(
            lasts=self.lasts_before(self.stops, every),
            met={sql: self.condition_before(sql, self.stops, every) for sql in self.conditions},
            # Measures grow as they are read.
            highest=self.before.highest,
        )


def _before(values: Any, carried: Any, lows: Int64s, rows: Int64s, stretches: Int64s) -> Any:
    previous = carried[stretches]
    inside = rows > lows[stretches]
    previous[inside] = values[rows[inside] - 1]
    return previous


@dataclass(frozen=True, kw_only=True)
class WindowEdges:
    """Where windows of one stream begin in a batch, and where they are read.

    The i-th read is of the window number `numbers[i]`, counted from the first that ever began;
    without numbers, windows are read in the order in which they began. A read happens before its
    row, for the stretch in `stretches`, and ends its window where it `closes`.
    """

    begins: Int64s
    starts: Int64s
    reads: Int64s
    ends: Int64s
    stretches: Int64s
    numbers: Int64s | None = None
    closes: Bools | None = None
    # Which reads give an answer; None if all do.
    asks: Bools | None = None


@dataclass(kw_only=True)
class DiscretizerState:
    """The state of a discretizer at the start of each stretch.

    `memory` and `user_objects` are updated to what is known after each stretch.
    """

    # How many windows are open, and the starts of all of them.
    open: Int64s
    starts: Int64s
    memory: dict[str, Int64s] = field(default_factory=dict)
    # Objects of a user's class; None where the key is new.
    user_objects: list[Any] = field(default_factory=list)

    @cached_property
    def stretches(self) -> Int64s:
        """The stretch of each open window."""
        return np.repeat(np.arange(len(self.open)), self.open)


class Discretizer:
    """Finds windows of one kind as records arrive."""

    # The names of the integers that it stores for each key besides open windows; zero if new.
    memory: ClassVar[tuple[str, ...]] = ()
    # Whether it may forget a key that has no open windows.
    forgets = True
    # For how long after its end a window may still get records.
    patience = 0

    def __init__(self) -> None:
        self._open = 0
        self._starts: Int64s = NOTHING
        self._memory = dict.fromkeys(self.memory, 0)
        self._user_object: Any = None

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
            user_objects=[self._user_object, *[None] * last],
        )
        edges = self.find(records, carried)
        self._memory = {name: int(values[last]) for name, values in carried.memory.items()}
        self._user_object = carried.user_objects[last]
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
class WindowPerRead:
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

    def take(self, edges: WindowEdges, slices: Int64s) -> WindowPerRead:
        """Adds the windows that begin in a batch; returns those that are read, by read."""
        open_slices = np.concatenate([self.slices, slices])
        starts = np.concatenate([self._starts, edges.starts])
        count = len(edges.reads)
        places = np.arange(count) if edges.numbers is None else edges.numbers - self._first
        closed = count if edges.closes is None else int(edges.closes.sum())
        self.slices, self._starts = open_slices[closed:], starts[closed:]
        self._first += closed
        return WindowPerRead(
            slices=open_slices[places],
            starts=starts[places],
            closes=np.ones(count, np.int64)
            if edges.closes is None
            else edges.closes.astype(np.int64),
            asks=np.ones(count, np.bool_) if edges.asks is None else edges.asks,
        )
