"""Records on their way to the discretizer: what windows of every kind look at, column by column."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muntin.runtime.partials import Bools, Int64s

# The end of a window that had not ended when its data did.
NO_END = np.iinfo(np.int64).min


@dataclass(frozen=True, kw_only=True)
class Records:
    """A batch of records by (key, time).

    `firsts` are the rows with which a new key starts. A batch without rows that has the first row 0
    says that the data has ended.
    """

    firsts: Int64s
    times: Int64s
    # The latest time in each record: later than its time where a record stands for several events.
    lasts: Int64s
    conditions: Mapping[str, Bools]
    measures: Mapping[str, NDArray[Any]]
    # What classes of the user's see, by its Spark SQL.
    columns: Mapping[str, NDArray[Any]]
    # Of the row before each row, from the batch before for the first; one more than there are rows.
    lasts_before: Int64s
    conditions_before: Mapping[str, Bools]

    @property
    def rows(self) -> int:
        """How many records there are."""
        return len(self.times)

    def times_at(self, rows: Int64s, ended: Bools) -> Int64s:
        """The times of the records that ended windows; windows that the data ended have none."""
        found = np.full(len(rows), NO_END, np.int64)
        found[ended] = self.times[rows[ended]]
        return found


@dataclass(frozen=True, kw_only=True)
class Marks:
    """Where windows of one stream begin in a batch, and where they are read.

    The i-th read is of the window number `numbers[i]`, counted from the first that ever began;
    without numbers, windows are read in the order in which they began. A read happens before its
    row, and ends its window where it `closes`.
    """

    begins: Int64s
    starts: Int64s
    reads: Int64s
    ends: Int64s
    numbers: Int64s | None = None
    closes: Bools | None = None
    # Reads that answer; without them, all do.
    asks: Bools | None = None
