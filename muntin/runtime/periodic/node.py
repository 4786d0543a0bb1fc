"""The runtime of a node, which answers its window from partials of its parent, and the feed that
hands these to all nodes that read them."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from muntin.aggregates.aggregate import Component
from muntin.model.trees import Node
from muntin.model.windows import Window
from muntin.runtime.columns.partials import Column, Int64s, Partials
from muntin.runtime.periodic.intervals import Position, WindowShape, close, pick
from muntin.runtime.storage.component_storage import Folding
from muntin.runtime.storage.layout import Layout

# Windows given out at a time: bounds memory where one slice is in very many windows.
CHUNK = 1 << 16
# A key number and an instant after all others.
END = np.iinfo(np.int64).max
# First and last begin of the windows asked for: all of them.
ALL_BEGINS = (-END, END)


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
        self._shape = WindowShape(
            # Slices lie inside the window when their start does; a parent's intervals must end in
            # it.
            span=window.size if parent is None else window.size - parent.size + 1,
            slide=window.slide,
            offset=window.offset,
            # A window that grows leaves out all before its begin.
            period=window.size if window.grows else 0,
            phase=window.offset,
            lead=window.size - window.slide,
        )
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
            lows, highs, window_begins = ranges = tuple(np.empty((3, CHUNK), np.int64))
            count, row, key, begin, done = close(
                rows.keys[self.row :],
                rows.starts[self.row :],
                self._shape,
                self.given,
                until,
                begins,
                ranges,
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
                    columns=self._combine_rows(
                        rows.starts, foldings, lows, highs, window_begins[:count]
                    ),
                )
                yield answers, reached_to

    def _combine_rows(
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


class Feed:
    """Hands the partials of one parent to its readers.

    It keeps the rows that later windows may need: at most those of the longest window, of one key.
    """

    def __init__(self, readers: tuple[tuple[Node, NodeRuntime], ...], layout: Layout) -> None:
        self._readers = readers
        self._storages = {
            component: layout.of(component)
            for _, reader in readers
            for component in reader.techniques
        }
        self.pending: Partials | None = None

    def push(
        self, arrived: Partials, until: Position, begins: Mapping[Window, tuple[int, int]] | None
    ) -> Iterator[tuple[Node, Partials, Position]]:
        """Yields each reader's windows that close now that everything before `until` has arrived.

        They come with the position before which the reader has given out everything. `begins` has,
        for each window, the first and the last begin to answer; with None, all are answered.
        """
        rows = arrived.select(self._storages)
        if self.pending is not None:
            rows = self.pending.concatenate(rows)
        foldings = {
            component: self._storages[component].folding(column, rows.keys)
            for component, column in rows.columns.items()
        }
        for node, reader in self._readers:
            asked = ALL_BEGINS if begins is None else begins[node.window]
            for chunk, reached in reader.push(rows, foldings, until, asked):
                yield node, chunk, reached
        first = min(reader.row for _, reader in self._readers)
        for _, reader in self._readers:
            reader.row -= first
        # Copy, so that the last rows do not keep the whole batch in memory.
        self.pending = rows.rows(first).copy() if first < len(rows) else None
