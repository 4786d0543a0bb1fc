"""A batch of records as columns, and the state of discretizers between batches."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muntin.runtime.columns.partials import Bools, Int64s

# The end of a window that was still open when its data ended.
NO_END = np.iinfo(np.int64).min


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
        """Replace the facts at some places by newer ones."""
        self.lasts[places] = newer.lasts
        for sql, met in self.met.items():
            met[places] = newer.met[sql]
        for sql, values in self.highest.items():
            values[places] = newer.highest[sql]


@dataclass(frozen=True, kw_only=True)
class Records:
    """A batch of records by (key, time), in stretches of one key each.

    `firsts` are the rows at which a new key starts, and its stretch. A stretch may have no rows;
    the first one continues the key of the batch before. No more records will come of any key but
    the last, so a batch without rows whose `firsts` is `[0]` says that the data has ended.
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
        """Returns the times of the records that ended windows; `NO_END` where the data did."""
        times = np.full(len(rows), NO_END, np.int64)
        times[ended] = self.times[rows[ended]]
        return times

    def lasts_before(self, rows: Int64s, stretches: Int64s) -> Int64s:
        """Returns the latest time in the record before each row, also across its stretch."""
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

    `memory` and `made` are updated to what is known after each stretch.
    """

    # How many windows are open, and the starts of all of them.
    open: Int64s
    starts: Int64s
    memory: dict[str, Int64s] = field(default_factory=dict)
    # Objects of a user's class; None where the key is new.
    made: list[Any] = field(default_factory=list)

    @cached_property
    def stretches(self) -> Int64s:
        """The stretch of each open window."""
        return np.repeat(np.arange(len(self.open)), self.open)
