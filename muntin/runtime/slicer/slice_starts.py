"""Finds the slice of every instant: its start, and a number for each start that occurs."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from muntin.model.slicing import Edges
from muntin.runtime.columns.distinct import Distinct, distinct_integers
from muntin.runtime.columns.partials import Int64s
from muntin.techniques.compiled.compile import compiled


@dataclass(frozen=True, kw_only=True)
class SliceStarts:
    """The number of each row's slice, and the start of each slice, by number."""

    numbers: Any
    starts: Int64s


def slice_starts(times: Int64s, edges: tuple[Edges, ...]) -> SliceStarts:
    """Returns, for each instant, the latest edge at or before it."""
    starts = np.empty(len(times), np.int64)
    _latest_edges(
        times,
        np.array([each.period for each in edges], np.int64),
        np.array([each.phase for each in edges], np.int64),
        starts,
    )
    slices: Distinct = distinct_integers(starts)
    return SliceStarts(numbers=slices.numbers, starts=starts[slices.firsts])


def _latest_edges_before(times: Any, periods: Any, phases: Any, starts: Any) -> None:
    """Most instants are in the slice of the instant before, so divisions are rare."""
    start: Any = np.int64(0)
    # No instant is in [0, 0).
    end: Any = np.int64(0)
    for row in range(len(times)):
        instant = times[row]
        if instant < start or instant >= end:
            since = periods[0]
            until = periods[0]
            for index in range(len(periods)):
                period = periods[index]
                # Neither difference leaves the integers, whatever the instant.
                gone = instant % period - phases[index]
                if gone < 0:
                    gone += period
                since = min(since, gone)
                until = min(until, period - gone)
            start = instant - since
            latest = np.iinfo(np.int64).max
            end = instant + until if instant <= latest - until else latest
        starts[row] = start


_latest_edges = compiled(_latest_edges_before)
