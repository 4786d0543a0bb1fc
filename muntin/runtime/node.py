"""One node at run time: reads partials of its parent, gives out partials of its own window."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from muntin.model.aggregate import MAX, MIN, Component, Monoid
from muntin.model.window import Window
from muntin.runtime.intervals import close
from muntin.runtime.partials import Int64s, PartialColumn, Partials, Scalars, concatenate
from muntin.techniques.table import fold

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


@dataclass(frozen=True, kw_only=True)
class NodeState:
    """All that a node remembers between two pushes; nothing in it depends on the technique."""

    # Rows that windows still to come may need: at most the longest window's, of one key.
    rows: Partials | None = None
    # Windows before this were given out.
    given: Position = Position(-1, 0)


class NodeRuntime:
    """Answers one window from partials that arrive in (key, start) order."""

    def __init__(
        self,
        window: Window,
        components: Mapping[Component, tuple[Monoid, str]],
        parent: Window | None = None,
    ) -> None:
        """`components` are what it computes: by which monoid, with which technique."""
        self._window = window
        self._components = components
        # Slices lie inside the window when their start does; a parent's intervals must end in it.
        self._span = window.size if parent is None else window.size - parent.size + 1
        self.state = NodeState()

    def push(
        self, arrived: Partials, until: Position, begins: tuple[int, int] = ALL_BEGINS
    ) -> Iterator[tuple[Partials, Position]]:
        """Give out the windows that close now that everything before `until` has arrived.

        Each chunk comes with the position before which this node has given out everything. `begins`
        are the first and the last begin of the windows that are asked for, the same for all keys.
        """
        rows = arrived.select(self._components)
        if self.state.rows is not None:
            rows = concatenate(self.state.rows, rows)
        given = self.state.given
        done = False
        while not done:
            lows, highs, found = (np.empty(CHUNK, np.int64) for _ in range(3))
            count, row, key, begin, done = close(
                rows.keys,
                rows.starts,
                self._span,
                self._window.slide,
                self._window.offset,
                given.key,
                given.time,
                until.key,
                until.time,
                begins[0],
                begins[1],
                lows,
                highs,
                found,
            )
            given = Position(key, begin)
            # All windows of earlier keys are out: what follows belongs to the frontier's key.
            settled = Position(until.key, -END) if done and key < until.key else given
            if count or done:
                yield self._answer(rows, lows[:count], highs[:count], found[:count]), settled
            rows = rows.rows(row)
        # A copy, so that the whole batch is not kept alive by its last rows.
        self.state = NodeState(rows=rows.copy() if len(rows) else None, given=given)

    def _answer(self, rows: Partials, lows: Int64s, highs: Int64s, begins: Int64s) -> Partials:
        return Partials(
            keys=rows.keys[lows],
            starts=begins,
            columns={
                component: _fold(rows.columns[component], monoid, technique, lows, highs)
                for component, (monoid, technique) in self._components.items()
            },
        )


def _fold(
    column: PartialColumn, monoid: Monoid, technique: str, lows: Int64s, highs: Int64s
) -> PartialColumn:
    scalars: Scalars = column.scalars
    present = None
    if column.present is not None:
        if len(scalars) == 1:
            neutral = _neutral(monoid, scalars[0].dtype)
            scalars = (np.where(column.present, scalars[0], neutral),)
        seen = np.concatenate([np.zeros(1, np.int64), np.cumsum(column.present)])
        present = seen[highs] > seen[lows]
    values = scalars if monoid.width > 1 else scalars[0]
    answers = fold(monoid, values, lows, highs, technique=technique)
    return PartialColumn(scalars=answers if monoid.width > 1 else (answers,), present=present)


def _neutral(monoid: Monoid, dtype: np.dtype[Any]) -> Any:
    """What a missing partial counts as."""
    if monoid == MIN:
        # NaN is above everything in Spark's order.
        return dtype.type(np.nan if dtype.kind == "f" else np.iinfo(dtype).max)
    if monoid == MAX:
        return dtype.type(-np.inf if dtype.kind == "f" else np.iinfo(dtype).min)
    return dtype.type(0)
