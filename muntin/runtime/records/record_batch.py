"""Records on their way to the discretizer: what windows of every kind look at, column by column."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muntin.runtime.columns.partials import Bools, Int64s

# The end of a window that had not ended when its data did.
NO_END = np.iinfo(np.int64).min


@dataclass(frozen=True, kw_only=True)
class Before:
    """What is known of the record before each stretch; nothing matters where there is none."""

    lasts: Int64s
    met: Mapping[str, Bools]
    # The highest value so far of each measure that grows.
    highest: Mapping[str, NDArray[Any]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Records:
    """A batch of records by (key, time), in stretches of one key each.

    `firsts` are the rows with which a new key starts, and its stretch. A stretch may have no rows;
    the first one goes on with the key of the batch before. All stretches but the last end there: no
    more records of their keys will come. A batch without rows that has the first row 0 so says that
    the data has ended.
    """

    firsts: Int64s
    times: Int64s
    # The latest time in each record: later than its time where a record stands for several events.
    lasts: Int64s
    conditions: Mapping[str, Bools]
    measures: Mapping[str, NDArray[Any]]
    # What classes of the user's see, by its Spark SQL.
    columns: Mapping[str, NDArray[Any]]
    before: Before

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
        """The row behind each stretch."""
        return np.append(self.firsts, self.rows)

    @cached_property
    def waited(self) -> Int64s:
        """For how long none of its key had come when each record did; anything for the first."""
        found = np.empty(self.rows, np.int64)
        found[1:] = self.times[1:] - self.lasts[:-1]
        filled = self.lows < self.stops
        lows = self.lows[filled]
        found[lows] = self.times[lows] - self.before.lasts[filled]
        return found

    def stretches_of(self, rows: Int64s) -> Int64s:
        """The stretch that each record is in."""
        return np.searchsorted(self.firsts, rows, side="right")

    def times_at(self, rows: Int64s, ended: Bools) -> Int64s:
        """The times of the records that ended windows; windows that the data ended have none."""
        found = np.full(len(rows), NO_END, np.int64)
        found[ended] = self.times[rows[ended]]
        return found

    def lasts_before(self, rows: Int64s, stretches: Int64s) -> Int64s:
        """The latest time in the record before each row, within its stretch or before that."""
        found: Int64s = _before(self.lasts, self.before.lasts, self.lows, rows, stretches)
        return found

    def condition_before(self, sql: str, rows: Int64s, stretches: Int64s) -> Bools:
        """Whether the record before each row met a condition."""
        held, known = self.conditions[sql], self.before.met[sql]
        found: Bools = _before(held, known, self.lows, rows, stretches)
        return found

    def after(self) -> Before:
        """What is known behind each stretch."""
        every = np.arange(self.stretches)
        return Before(
            lasts=self.lasts_before(self.stops, every),
            met={sql: self.condition_before(sql, self.stops, every) for sql in self.conditions},
            # Measures grow as they are read.
            highest=self.before.highest,
        )


def _before(values: Any, carried: Any, lows: Int64s, rows: Int64s, stretches: Int64s) -> Any:
    found = carried[stretches]
    inside = rows > lows[stretches]
    found[inside] = values[rows[inside] - 1]
    return found


@dataclass(frozen=True, kw_only=True)
class Marks:
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
    # Reads that answer; without them, all do.
    asks: Bools | None = None


@dataclass(kw_only=True)
class Carried:
    """What a stream of windows knows at the begin of each stretch, from records before.

    `memory` and `made` are changed to what is known behind each stretch.
    """

    # How many windows are open, and the starts of all of them.
    open: Int64s
    starts: Int64s
    memory: dict[str, Int64s] = field(default_factory=dict)
    # Objects of a class of the user's; none where the key is new.
    made: list[Any] = field(default_factory=list)

    @cached_property
    def stretches(self) -> Int64s:
        """The stretch of each open window."""
        return np.repeat(np.arange(len(self.open)), self.open)
