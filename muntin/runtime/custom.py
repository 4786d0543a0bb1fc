"""Windows that a class of the user's finds, told each record of a key in order."""

from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import numpy as np

from muntin.errors import RunError
from muntin.model.kinds import Custom
from muntin.runtime.partials import Int64s
from muntin.runtime.records import NO_END, Marks, Records


class _CustomStream:
    """What both classes of the paper have in common: records as objects, a maker for every key."""

    def __init__(self, window: Custom) -> None:
        self._window = window
        names = ("time", *(name for name, _ in window.columns))
        self._record: Any = namedtuple("Record", names)  # type: ignore[misc]
        self._made: Any = window.make()

    def _stretches(self, records: Records) -> Iterator[tuple[int, int, bool]]:
        """(first row, stop row, whether the key ends there), key by key; a new key has a new maker.

        The first stretch goes on with the key of the batch before, and may have no rows.
        """
        low = 0
        for first in records.firsts.tolist():
            yield low, first, True
            self._made = self._window.make()
            low = first
        yield low, records.rows, False

    def _columns(self, records: Records, low: int, high: int) -> list[Any]:
        seen = [records.columns[sql][low:high] for _, sql in self._window.columns]
        return [records.times[low:high], *seen]

    def _rows(self, records: Records, low: int, high: int) -> Iterator[Any]:
        """The records of a stretch as objects."""
        columns = [column.tolist() for column in self._columns(records, low, high)]
        return map(self._record._make, zip(*columns, strict=True))


class CountedStream(_CustomStream):
    """Deterministic: `f_disc` knows of each record how many windows begin and end with it.

    Where the class has `f_disc_batch`, it is told whole stretches: a record of arrays in, two
    arrays out.
    """

    def __init__(self, window: Custom) -> None:
        super().__init__(window)
        self._open = 0

    def feed(self, records: Records) -> Marks:
        """Windows end in the order in which they began (Cutty, section 2.1)."""
        begins, reads, timed = [], [], []
        for low, high, is_last in self._stretches(records):
            began, ended = self._counts(records, low, high)
            self._check(began, ended)
            begins.append(np.repeat(np.arange(low, high), began))
            reads.append(np.repeat(np.arange(low, high), ended))
            timed.append(np.ones(len(reads[-1]), np.bool_))
            self._open += int(began.sum() - ended.sum())
            if is_last:
                reads.append(np.full(self._open, high))
                timed.append(np.zeros(self._open, np.bool_))
                self._open = 0
        rows = np.concatenate(begins)
        ends = np.concatenate(reads)
        return Marks(
            begins=rows,
            starts=records.times[rows],
            reads=ends,
            ends=records.times_at(ends, np.concatenate(timed)),
        )

    def _counts(self, records: Records, low: int, high: int) -> tuple[Int64s, Int64s]:
        if low == high:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        made, found = self._made, None
        if hasattr(made, "f_disc_batch"):
            found = made.f_disc_batch(self._record(*self._columns(records, low, high)))
        else:
            counts = [made.f_disc(record) for record in self._rows(records, low, high)]
        try:
            pair = zip(*counts, strict=True) if found is None else found
            began, ended = (np.asarray(part, np.int64) for part in pair)
        except (TypeError, ValueError):
            raise RunError(
                f"{self._window} must give two counts for each record: windows that begin with it, "
                f"and windows that end before it"
            ) from None
        if len(began) != high - low or len(ended) != high - low:
            raise RunError(f"{self._window} gave {len(began)} counts for {high - low} records")
        return began, ended

    def _check(self, began: Int64s, ended: Int64s) -> None:
        """No window ends that has not begun with an earlier record."""
        before = self._open + np.concatenate([[0], np.cumsum(began)[:-1]])[: len(began)]
        if (began < 0).any() or (ended < 0).any() or (np.cumsum(ended) > before).any():
            raise RunError(f"{self._window} ended a window that had not begun before")


class EvictingStream(_CustomStream):
    """Not deterministic: a partial is kept for every record, as the Reactive Aggregator does.

    To the aggregator each record begins a window, which ends unread when the record leaves.
    """

    def __init__(self, window: Custom) -> None:
        super().__init__(window)
        self._held = 0
        self._oldest = 0

    def feed(self, records: Records) -> Marks:
        """Before a record is taken in: a trigger reads what is held, then the oldest leave."""
        # Row, window, whether it closes, end.
        found: list[tuple[int, int, bool, int]] = []
        for low, high, is_last in self._stretches(records):
            for row, record in enumerate(self._rows(records, low, high), low):
                if self._made.trigger(record) and self._held:
                    found.append((row, self._oldest, False, record.time))
                self._evict(found, row, self._leaving(record))
                self._held += 1
            if is_last and self._held:
                found.append((high, self._oldest, False, int(NO_END)))
                self._evict(found, high, self._held)
        rows = np.arange(records.rows)
        reads, numbers, closes, ends = (
            np.array(part, np.int64) for part in (zip(*found, strict=True) if found else [()] * 4)
        )
        return Marks(
            begins=rows,
            starts=records.times,
            reads=reads,
            ends=ends,
            numbers=numbers,
            closes=closes.astype(np.bool_),
            asks=~closes.astype(np.bool_),
        )

    def _leaving(self, record: Any) -> int:
        leaving = self._made.evict(record, self._held)
        if not 0 <= leaving <= self._held:
            raise RunError(f"{self._window} cannot evict {leaving} of {self._held} records")
        return int(leaving)

    def _evict(self, found: list[tuple[int, int, bool, int]], row: int, leaving: int) -> None:
        found.extend((row, self._oldest + index, True, 0) for index in range(leaving))
        self._oldest += leaving
        self._held -= leaving
