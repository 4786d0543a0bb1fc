"""Discretizers: one for every kind of window finds where windows begin and end, batch by batch.

A discretizer finds a stream of windows: those of one query, or half of them. It sees each key's
records in order, however they are split over batches, and remembers what it needs in between.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from muntin.errors import RunError
from muntin.model.data_windows import (
    Absent,
    CountWindow,
    Custom,
    DataWindow,
    Delta,
    Landmark,
    Punctuation,
    Session,
    Threshold,
)
from muntin.model.windows import Window
from muntin.runtime.columns.partials import Int64s
from muntin.runtime.data_windows.custom_windows import CountedDiscretizer, EvictingDiscretizer
from muntin.runtime.data_windows.periodic_edges import (
    KeyMemory,
    Periods,
    find,
    number_rows,
    rows_reaching,
)
from muntin.runtime.data_windows.window_stream import (
    Discretizer,
    DiscretizerState,
    Records,
    WindowEdges,
)

_ANY = np.iinfo(np.int64).min


class SessionDiscretizer(Discretizer):
    """A window ends where no record follows within the gap."""

    # A record exactly a gap later is still in the session.
    patience = 1

    def __init__(self, gap: int) -> None:
        super().__init__()
        self._gap = gap

    def find(self, records: Records, carried: DiscretizerState) -> WindowEdges:
        """Compare each record with the one before."""
        apart = records.waits_before > self._gap
        fresh = (carried.open == 0) & (records.lows < records.stops)
        apart[records.lows[fresh]] = True
        begins = np.flatnonzero(apart)
        # A window ends where the next of its key begins, or else where its stretch does.
        homes = np.concatenate([carried.stretches, records.stretches_of(begins)])
        order = np.argsort(homes, kind="stable")
        homes = homes[order]
        places = np.concatenate([np.full(len(carried.stretches), -1), begins])[order]
        reads = records.stops[homes]
        followed = np.flatnonzero(homes[1:] == homes[:-1])
        reads[followed] = places[followed + 1]
        closed = (homes < records.stretches - 1) | (reads < records.stops[homes])
        reads, homes = reads[closed], homes[closed]
        return WindowEdges(
            begins=begins,
            starts=records.times[begins],
            reads=reads,
            ends=records.lasts_before(reads, homes) + self._gap,
            stretches=homes,
        )


class ConditionDiscretizer(Discretizer):
    """Windows from each record where one condition holds to the next where another does."""

    def __init__(self, begin: str, end: str) -> None:
        super().__init__()
        self._begin = begin
        self._end = end

    def find(self, records: Records, carried: DiscretizerState) -> WindowEdges:
        """Find ends by the condition; the end of a key ends its windows, too."""
        begins = np.flatnonzero(records.conditions[self._begin])
        borders = np.append(np.flatnonzero(records.conditions[self._end]), records.rows)
        rows, homes = _ahead(records, carried, begins)
        reads = np.minimum(borders[np.searchsorted(borders, rows)], records.stops[homes])
        timed = reads < records.stops[homes]
        closed = timed | (homes < records.stretches - 1)
        reads = reads[closed]
        return WindowEdges(
            begins=begins,
            starts=records.times[begins],
            reads=reads,
            ends=records.times_at(reads, timed[closed]),
            stretches=homes[closed],
        )


class LengthDiscretizer(Discretizer):
    """Windows of `length` microseconds from each record where a condition holds."""

    def __init__(self, begin: str, length: int) -> None:
        super().__init__()
        self._begin = begin
        self._length = length

    def find(self, records: Records, carried: DiscretizerState) -> WindowEdges:
        """Windows end in the order in which they began: all are equally long."""
        begins = np.flatnonzero(records.conditions[self._begin])
        homes = np.concatenate([carried.stretches, records.stretches_of(begins)])
        order = np.argsort(homes, kind="stable")
        ends = np.concatenate([carried.starts, records.times[begins]])[order] + self._length
        rows, homes = _ahead(records, carried, begins)
        reads = rows_reaching(records.times, rows, records.stops[homes], ends)
        closed = (reads < records.stops[homes]) | (homes < records.stretches - 1)
        return WindowEdges(
            begins=begins,
            starts=records.times[begins],
            reads=reads[closed],
            ends=ends[closed],
            stretches=homes[closed],
        )


def _ahead(records: Records, carried: DiscretizerState, begins: Int64s) -> tuple[Int64s, Int64s]:
    """Returns (the first row at which each window may end, its stretch), ordered by stretch."""
    homes = np.concatenate([carried.stretches, records.stretches_of(begins)])
    order = np.argsort(homes, kind="stable")
    rows = np.concatenate([records.lows[carried.stretches], begins + 1])
    return rows[order], homes[order]


class _PeriodDiscretizer(Discretizer):
    """Windows that are periodic in some growing measure."""

    # The number of the next window to begin, and whether the key has had a value.
    memory: ClassVar[tuple[str, ...]] = ("next", "known")

    def __init__(self, size: Any, slide: Any, offset: Any = 0, least: int = _ANY) -> None:
        super().__init__()
        self._window = (size, slide, offset)
        self._least = least

    def _find(self, values: Any, records: Records, carried: DiscretizerState) -> tuple[Any, ...]:
        """Returns six arrays: the rows and window numbers of begins; the rows, window numbers and
        stretches of ends, and whether a record ended the window or the data did."""
        kind = values.dtype.type
        missing = kind(-np.inf) if values.dtype.kind == "f" else kind(_ANY)
        size, slide, offset = map(kind, self._window)
        periods = Periods(size, slide, offset, self._least)
        memory = KeyMemory(carried.open, carried.memory["next"], carried.memory["known"])
        begins, ends = find(values, missing, records.firsts, periods, memory)
        return begins[0], begins[1], ends[0], ends[1], ends[2], ends[3].astype(np.bool_)


class TimeDiscretizer(_PeriodDiscretizer):
    """Periodic windows over time; `only` those whose last record meets a condition, or fails it."""

    def __init__(self, window: Window, only: tuple[str, bool] | None = None) -> None:
        super().__init__(window.size, window.slide, window.offset)
        self._only = only
        self._begin: Callable[[Int64s], Int64s] = lambda n: window.offset + n * window.slide
        self._size = window.size

    def find(self, records: Records, carried: DiscretizerState) -> WindowEdges:
        """Windows are labelled with their own bounds, whatever the times of their records."""
        begins, numbers, reads, ended, homes, _ = self._find(records.times, records, carried)
        asks = None
        if self._only is not None:
            condition, wanted = self._only
            asks = records.condition_before(condition, reads, homes) == wanted
        return WindowEdges(
            begins=begins,
            starts=self._begin(numbers),
            reads=reads,
            ends=self._begin(ended) + self._size,
            stretches=homes,
            asks=asks,
        )


class CountDiscretizer(_PeriodDiscretizer):
    """Windows over the rows of a key, by their number."""

    memory = ("next", "known", "seen")
    forgets = False

    def __init__(self, window: CountWindow) -> None:
        super().__init__(window.size, window.slide, least=0)

    def find(self, records: Records, carried: DiscretizerState) -> WindowEdges:
        """The measure of a record is its number among the records of its key."""
        rows = np.empty(records.rows, np.int64)
        number_rows(rows, records.firsts, carried.memory["seen"])
        return _edges_by_record(self._find(rows, records, carried), records)


class DeltaDiscretizer(_PeriodDiscretizer):
    """Windows over a growing column."""

    forgets = False

    def __init__(self, window: Delta) -> None:
        super().__init__(window.size, window.slide)
        self._column = window.column

    def find(self, records: Records, carried: DiscretizerState) -> WindowEdges:
        """`read_records` has made the measure grow."""
        return _edges_by_record(
            self._find(records.measures[self._column], records, carried), records
        )


def _edges_by_record(edges: tuple[Any, ...], records: Records) -> WindowEdges:
    """Returns windows labelled with the times of the records that begin and end them."""
    begins, _, reads, _, homes, ended = edges
    return WindowEdges(
        begins=begins,
        starts=records.times[begins],
        reads=reads,
        ends=records.times_at(reads, ended),
        stretches=homes,
    )


def _custom(window: Custom) -> Discretizer:
    kind = CountedDiscretizer if window.is_deterministic else EvictingDiscretizer
    return kind(window)


def _landmark(window: Landmark) -> Discretizer:
    if isinstance(window.end, int):
        return LengthDiscretizer(window.begin, window.end)
    return ConditionDiscretizer(window.begin, str(window.end))


# The discretizers of each kind of window; together they find all windows of its query.
DISCRETIZERS: dict[type[Any], Callable[[Any], tuple[Discretizer, ...]]] = {
    Session: lambda window: (SessionDiscretizer(window.gap),),
    CountWindow: lambda window: (CountDiscretizer(window),),
    Delta: lambda window: (DeltaDiscretizer(window),),
    Punctuation: lambda window: (ConditionDiscretizer(window.condition, window.condition),),
    Landmark: lambda window: (_landmark(window),),
    Threshold: lambda window: (
        TimeDiscretizer(window.inside, (window.condition, True)),
        TimeDiscretizer(window.outside, (window.condition, False)),
    ),
    Custom: lambda window: (_custom(window),),
}


def discretizers_of(window: DataWindow | Window) -> tuple[Discretizer, ...]:
    """Returns the discretizers of a window."""
    if isinstance(window, Window):
        return (TimeDiscretizer(window),)
    if isinstance(window, Absent):
        raise RunError(f"the class {window.name} is known by its name only; it must be given")
    return DISCRETIZERS[type(window)](window)
