"""The runtime of one node: reads partials of its parent, returns partials of its own window."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from muntin.aggregates.aggregate import Component
from muntin.model.windows.window import Window
from muntin.runtime.columns.partials import Column, Int64s, Partials
from muntin.runtime.periodic.intervals import close, pick
from muntin.runtime.storage.component_storage import Folding

# Windows given out at a time: bounds memory where one slice is in very many windows.
CHUNK = 1 << 16
# A key number and an instant after all others.
END = np.iinfo(np.int64).max
# First and last begin of the windows asked for: all of them.
ALL_BEGINS = (-END, END)


@dataclass(frozen=True, order=True)
class Position:
    """A place in the order (key, time). As a frontier: everything before it has arrived."""

    key: int
    time: int


class NodeRuntime:
    """Answers one window from partials that arrive in (key, start) order.

    Between two pushes it remembers only its position: it has given out all windows before `given`,
    and needs no rows before `row` of those that its feed keeps. Neither depends on the technique.
    """

    def __init__(
        self,
        window: Window,
        techniques: Mapping[Component, str],
        parent: Window | None = None,
        offsets: Sequence[int] | None = None,
    ) -> None:
        """`techniques` has the technique of each component that it computes.

        With `offsets`, it combines only the parent's intervals that begin at these distances from a
        window's begin. They fill the window, and their overlap does no harm.
        """
        self.techniques = techniques
        self._window = window
        # Slices lie inside the window when their start does; a parent's intervals must end in it.
        self._span = window.size if parent is None else window.size - parent.size + 1
        # What a window that grows leaves out: all before its begin.
        self._cut = (window.size, window.offset, window.size - window.slide)
        if not window.grows:
            self._cut = (0, 0, 0)
        self._offsets = None if offsets is None else np.array(offsets, np.int64)
        self.given = Position(-1, 0)
        self.row = 0

    def push(
        self,
        rows: Partials,
        foldings: Mapping[Component, Folding],
        until: Position,
        begins: tuple[int, int] = ALL_BEGINS,
    ) -> Iterator[tuple[Partials, Position]]:
        """Yields the windows that close now that everything before `until` has arrived.

        Each chunk comes with the position before which this node has given out everything. `begins`
        are the first and the last begin of the windows that are asked for, the same for all keys.
        """
        done = False
        while not done:
            lows, highs, window_begins = (np.empty(CHUNK, np.int64) for _ in range(3))
            count, row, key, begin, done = close(
                rows.keys[self.row :],
                rows.starts[self.row :],
                self._span,
                self._window.slide,
                self._window.offset,
                *self._cut,
                self.given.key,
                self.given.time,
                until.key,
                until.time,
                begins[0],
                begins[1],
                lows,
                highs,
                window_begins,
            )
            lows, highs = lows[:count] + self.row, highs[:count] + self.row
            self.given = Position(key, begin)
            self.row += row
            # All windows of earlier keys are out; the rest belongs to the frontier's key.
            reached_to = Position(until.key, -END) if done and key < until.key else self.given
            if count or done:
                answers = Partials(
                    keys=rows.keys[lows],
                    starts=window_begins[:count],
                    columns=self._combined(
                        rows.starts, foldings, lows, highs, window_begins[:count]
                    ),
                )
                yield answers, reached_to

    def _combined(
        self,
        starts: Int64s,
        foldings: Mapping[Component, Folding],
        lows: Int64s,
        highs: Int64s,
        begins: Int64s,
    ) -> dict[Component, Column]:
        """Combine the rows of each window into its partials."""
        if self._offsets is None:
            return {
                component: foldings[component].over(lows, highs, technique)
                for component, technique in self.techniques.items()
            }
        picked = np.empty(len(lows) * len(self._offsets), np.int64)
        firsts = np.zeros(len(lows) + 1, np.int64)
        count = pick(starts, lows, highs, begins, self._offsets, picked, firsts)
        return {
            component: foldings[component].over_few(picked[:count], firsts, technique)
            for component, technique in self.techniques.items()
        }
