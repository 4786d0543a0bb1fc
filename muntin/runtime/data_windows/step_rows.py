"""The rows of a step: for every key that takes part, its stored slices, then its records."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from muntin.runtime.columns.partials import Bools, Int64s
from muntin.runtime.data_windows.new_records import StepRecords
from muntin.runtime.data_windows.open_windows import DiscretizerWindows
from muntin.runtime.data_windows.record_batch import WindowEdges
from muntin.runtime.data_windows.window_stream import Discretizer


@dataclass(frozen=True, kw_only=True)
class StepWindows:
    """A stream's windows over the rows of a step, and those that stay open after it."""

    edges: WindowEdges
    # Those that stay: `slices` are the rows that they begin with.
    left: DiscretizerWindows


class StepRows:
    """The rows of all keys that take part in a step: stored slices, then new records."""

    def __init__(self, new: StepRecords, *, active: Bools) -> None:
        """`active` has, for each key, whether it takes part."""
        self._new = new
        self.active = active
        count = new.known.count
        self._slices = np.bincount(new.known.slice_keys, minlength=count)
        records = np.bincount(new.keys, minlength=count)
        lengths = np.where(active, self._slices + records, 0)
        self._stops = np.cumsum(lengths)
        self._bases = self._stops - lengths
        self.count = int(self._stops[-1]) if count else 0
        # The key of each row.
        self.keys: Int64s = np.repeat(np.arange(count), lengths)
        first_slices = np.cumsum(self._slices) - self._slices
        owners = new.known.slice_keys
        self._slice_rows = self._bases[owners] + np.arange(len(owners)) - first_slices[owners]
        heads = self._bases + self._slices
        nths = np.arange(len(new.keys)) - new.lows[new.stretch[new.keys] - 1]
        self._record_rows = heads[new.keys] + nths

    @cached_property
    def take(self) -> Int64s:
        """For each row, its place among the slices of keys that take part, then the records."""
        slice_rows = self._slice_rows[self.active[self._new.known.slice_keys]]
        places = np.empty(self.count, np.int64)
        places[np.concatenate([slice_rows, self._record_rows])] = np.arange(self.count)
        return places

    def place_windows(
        self, edges: WindowEdges, windows: DiscretizerWindows, stream: Discretizer, until: int
    ) -> StepWindows:
        """Returns a stream's windows, open and new, with `edges` translated to these rows."""
        new = self._new
        talk = new.has_records[windows.keys]
        quiet = self.active[windows.keys] & ~talk
        # Windows of keys with new records, in the order in which edges number them, then the
        # others.
        keys = np.concatenate([windows.keys[talk], new.keys[edges.begins]])
        by_key = np.argsort(keys, kind="stable")
        begun = np.concatenate(
            [self._slice_rows[windows.slices[talk]], self._record_rows[edges.begins]]
        )
        starts = np.concatenate([windows.starts[talk], edges.starts])
        keys = np.concatenate([keys[by_key], windows.keys[quiet]])
        begun = np.concatenate([begun[by_key], self._slice_rows[windows.slices[quiet]]])
        starts = np.concatenate([starts[by_key], windows.starts[quiet]])
        order = np.argsort(keys, kind="stable")
        number = np.empty(len(order), np.int64)
        number[order] = np.arange(len(order))
        read = self._reads(edges, windows, quiet, len(by_key))
        flushed, due = read.flushed, stream.due(read.ends) <= until
        in_turn = np.argsort(keys[read.windows], kind="stable")
        stays = (flushed & read.closes & ~due)[in_turn]
        left = read.windows[in_turn][stays]
        return StepWindows(
            edges=WindowEdges(
                begins=begun[order],
                starts=starts[order],
                reads=read.rows[in_turn],
                ends=read.ends[in_turn],
                stretches=keys[read.windows][in_turn],
                numbers=number[read.windows][in_turn],
                closes=read.closes[in_turn],
                asks=(read.asks & (due | ~flushed))[in_turn],
            ),
            left=DiscretizerWindows(
                keys=keys[left],
                slices=begun[left],
                starts=starts[left],
                ends=read.ends[in_turn][stays],
                asks=read.asks[in_turn][stays],
            ),
        )

    def _reads(
        self, edges: WindowEdges, windows: DiscretizerWindows, quiet: Bools, talking: int
    ) -> "_Reads":
        """Returns all reads: those of `edges`, and one for each window of keys without records."""
        new = self._new
        count, others = len(edges.reads), int(quiet.sum())
        # All windows end after the last record of their key. Stretches count from one: the first is
        # empty.
        homes = new.keys_with_records[edges.stretches - 1]
        lows = new.lows[edges.stretches - 1]
        rows = self._bases[homes] + self._slices[homes] + edges.reads - lows
        yes = np.ones(count, np.bool_)
        more = np.ones(others, np.bool_)
        return _Reads(
            rows=np.concatenate([rows, self._stops[windows.keys[quiet]]]),
            flushed=np.concatenate([rows == self._stops[homes], more]),
            windows=np.concatenate(
                [
                    np.arange(count) if edges.numbers is None else edges.numbers,
                    talking + np.arange(others),
                ]
            ),
            ends=np.concatenate([edges.ends, windows.ends[quiet]]),
            closes=np.concatenate([yes if edges.closes is None else edges.closes, more]),
            asks=np.concatenate([yes if edges.asks is None else edges.asks, windows.asks[quiet]]),
        )

    def slices(self, live: Int64s) -> WindowEdges:
        """Returns windows that each read one slice that is still needed, to the next of its key."""
        stops = self._stops[self.keys[live]]
        reads = stops.copy()
        same = np.flatnonzero(stops[1:] == stops[:-1])
        reads[same] = live[same + 1]
        return WindowEdges(begins=live, starts=live, reads=reads, ends=live, stretches=live)

    def open_after(
        self, all_windows: Sequence[StepWindows], live: Int64s
    ) -> tuple[list[DiscretizerWindows], Int64s, Int64s]:
        """Returns (open windows of each stream, keys of all slices, which of the kept slices stay).

        Keys that took no part keep their slices, which come before those that were read.
        """
        known = self._new.known
        stays = ~self.active[known.slice_keys]
        place = np.cumsum(stays) - 1
        idle_slices = int(stays.sum())
        windows = []
        for each, before in zip(all_windows, known.windows, strict=True):
            idle = before.where(~self.active[before.keys])
            idle = replace(idle, slices=place[idle.slices])
            rows = idle_slices + np.searchsorted(live, each.left.slices)
            windows.append(idle.concatenate(replace(each.left, slices=rows)))
        keys = np.concatenate([known.slice_keys[stays], self.keys[live]])
        return windows, keys, np.flatnonzero(stays)


@dataclass(frozen=True, kw_only=True)
class _Reads:
    """Reads of windows, by the windows' numbers."""

    rows: Int64s
    # Whether it is only because the key has no more records for now.
    flushed: Bools
    windows: Int64s
    ends: Int64s
    closes: Bools
    asks: Bools
