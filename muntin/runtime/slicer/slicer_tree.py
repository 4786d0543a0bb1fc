"""The slices that the slicer makes for a tree, and the slice of every instant."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from muntin.aggregates.aggregate import Component
from muntin.errors import PlanError
from muntin.model.windows import Edges, Slicing
from muntin.runtime.columns.distinct import Int32s
from muntin.runtime.columns.hashing import place_of, table_of_values
from muntin.runtime.columns.partials import Int64s
from muntin.runtime.storage.layout import Layout
from muntin.techniques.kernels.compile import compile_kernel, inline

_LATEST = np.iinfo(np.int64).max


@dataclass(frozen=True, kw_only=True)
class SlicerTree:
    """How the slicer makes the slices of one tree: from which rows, and by which keys, edges and
    components.

    It names columns, not expressions, and says nothing about what is computed from the slices, so
    that workers that only slice get no more than they need.
    """

    # Identifies the tree in the packed rows.
    number: int
    # Its keys are columns of the rows; `start` and the columns of components are what is packed.
    layout: Layout
    # Where its slices begin.
    slicing: Slicing
    # It takes the rows that have all bits of these masks set in these integer columns.
    masks: Mapping[str, int] = field(default_factory=dict)
    # The columns of each component's arguments, for `ComponentStorage.lift`; None if rows are
    # partials.
    values: Mapping[Component, tuple[str, ...]] | None = None
    # Whether rows are its slices already, with distinct (keys, start) and cut at its edges. They
    # are selected and packed, not grouped.
    is_whole: bool = False
    # Further columns that are packed with such rows.
    carried: tuple[str, ...] = ()
    # The microseconds of a part of time, if slices of few keys are spread over buckets by time.
    # Windows are at most `longest` long, and each slice goes to every part that reads it.
    part_width: int | None = None
    longest: int = 0

    def __post_init__(self) -> None:
        if self.part_width is not None and (self.part_width < 1 or self.longest < 1):
            raise PlanError(
                f"parts need a width and the longest window, both above zero, not "
                f"{self.part_width} and {self.longest}"
            )


@dataclass(frozen=True, kw_only=True)
class SliceStarts:
    """The number of each row's slice, and the start of each slice, by number."""

    numbers: Int32s
    starts: Int64s


def slice_starts(times: Int64s, edges: tuple[Edges, ...]) -> SliceStarts:
    """Returns, for each instant, the latest edge at or before it."""
    periods = np.array([each.period for each in edges], np.int64)
    phases = np.array([each.phase for each in edges], np.int64)
    numbers, starts = np.empty(len(times), np.int32), np.empty(len(times), np.int64)
    row = count = 0
    while row < len(times):
        table = table_of_values(starts, count)
        row, count = _number(times, periods, phases, table, starts, numbers, row, count)
    return SliceStarts(numbers=numbers, starts=starts[:count].copy())


def _slice_at(instant: Any, periods: Any, phases: Any) -> Any:
    """Returns the time since an instant's slice began, and the time until it ends."""
    since = until = periods[0]
    for index in range(len(periods)):
        period = periods[index]
        # No difference overflows, whatever the instant.
        gone = instant % period - phases[index]
        if gone < 0:
            gone += period
        since = min(since, gone)
        until = min(until, period - gone)
    return since, until


_slice_at = inline(_slice_at)


def _number_slices(
    times: Any,
    periods: Any,
    phases: Any,
    table: Any,
    starts: Any,
    numbers: Any,
    row: int,
    count: int,
) -> tuple[int, int]:
    """Fills `numbers` and `starts` until the table is half full; see `distinct`.

    Most instants are in the slice of the instant before, so divisions are rare.
    """
    full = len(table) // 2
    # No instant is in [0, 0).
    start = end = 0
    number = 0
    while row < len(times):
        instant = times[row]
        if instant < start or instant >= end:
            if count == full:
                break
            since, until = _slice_at(instant, periods, phases)
            start = instant - since
            end = instant + until if instant <= _LATEST - until else _LATEST
            place = place_of(table, starts, start)
            if table[place] == 0:
                starts[count] = start
                count += 1
                table[place] = count
            number = table[place] - 1
        numbers[row] = number
        row += 1
    return row, count


_number = compile_kernel(_number_slices)
