"""Counts the events that came too late for some window: it had been given out."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.model.windows.window import Window
from muntin.runtime.columns.partials import Bools, Int64s
from muntin.runtime.state.lane import EVENTS, START, Lane
from muntin.runtime.state.record_lane import RecordLane

# Instead of a lane or a node: all of them.
ALL = -1
# Tells, of the starts of slices or the instants of records, which are late.
IsLate = Callable[[Any], Bools]


def count_late(
    arrived: Mapping[int, pa.Table],
    lanes: Iterable[Lane],
    records: Iterable[RecordLane],
    given: int,
) -> dict[tuple[int, int], int]:
    """Returns how many events came too late, by lane and node, where there are some.

    `arrived` has slices by lane, and under `ALL` those of every event once. `given` is the
    watermark up to which answers were given.
    """
    tests: dict[tuple[int, int], IsLate] = {}
    for lane in lanes:
        for number, node in enumerate(lane.tree.nodes):
            tests[lane.number, number] = partial(_was_given_out, window=node.window, given=given)
    for record_lane in records:
        released = record_lane.released(given)
        for number, record_node in enumerate(record_lane.tree.nodes):
            # Beside data windows, periodic ones take their records.
            window = None if record_lane.keeps is None else record_node.window
            tests[record_lane.number, number] = (
                partial(_was_given_out, window=window, given=given)
                if isinstance(window, Window)
                else partial(_was_passed, released=released)
            )
    every = list(tests.values())
    tests[ALL, ALL] = lambda starts: np.logical_or.reduce([is_late(starts) for is_late in every])
    old = {lane: _before(table, given) for lane, table in arrived.items()}
    counts = {}
    for (lane_number, node_number), is_late in tests.items():
        if lane_number in old:
            starts, events = old[lane_number]
            counts[lane_number, node_number] = int(events[is_late(starts)].sum())
    return {place: count for place, count in counts.items() if count}


def _before(table: pa.Table, given: int) -> tuple[Int64s, Int64s]:
    """Returns the starts of what begins before an instant, and its events: no other can be late."""
    starts = table.column(START).to_numpy()
    is_old = starts < given
    if EVENTS not in table.column_names:
        return starts[is_old], np.ones(is_old.sum(), np.int64)
    return starts[is_old], table.column(EVENTS).to_numpy()[is_old]


def _was_passed(starts: Any, *, released: int) -> Bools:
    """Whether records were handed on beyond a record."""
    result: Bools = starts < released
    return result


def _was_given_out(starts: Any, *, window: Window, given: int) -> Bools:
    """Whether the first window that holds a slice has been given out."""
    first = window.first_after(starts - window.size)
    result: Bools = (first <= starts) & (first + window.size <= given)
    return result
