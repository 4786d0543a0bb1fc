"""A tree of a running plan as the operator runs it, and the columns of its slices."""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, islice

import pyarrow as pa

from muntin.model.trees import PeriodicTree
from muntin.model.windows.window import Window
from muntin.runtime.storage.layout import Layout

# The column with the start of a slice, or with the instant of a record.
START = "start"
# The column with the number of events of a slice or record that has arrived.
EVENTS = "events"


@dataclass(frozen=True, kw_only=True)
class Level:
    """A level of a lane's state: the slices, or the partials of a tumbling window, its cells."""

    # None: the slices.
    cells: Window | None
    # How far behind the watermark a row may start and still be kept, in microseconds.
    keep: int

    @property
    def width(self) -> int:
        """The width of its cells."""
        assert self.cells is not None
        return self.cells.size

    def begin_of(self, instant: int) -> int:
        """Returns the begin of the cell that an instant is in.

        For a watermark that is the end of the last cell that it has passed.
        """
        assert self.cells is not None
        return instant - (instant - self.cells.offset) % self.cells.size

    def kept_from(self, watermark: int) -> int:
        """Returns the first start that is kept."""
        return watermark - self.keep + 1


@dataclass(frozen=True, kw_only=True)
class Lane:
    """A tree of a running plan: its number, which is never reused, and where its columns are."""

    number: int
    tree: PeriodicTree
    layout: Layout
    # How long slices are kept at least, for queries to come; microseconds.
    retain: int = 0

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """The slices, then the levels of the tree."""
        # A coarser level is kept for as long as finer ones, since it costs little. A finer one is
        # kept for a cell of the next one longer: a change of levels takes over whole cells.
        needed = islice(accumulate(self.tree.keeps, max, initial=self.retain), 1, None)
        longer = (*(window.size for window in self.tree.levels), 0)
        return tuple(
            Level(cells=cells, keep=keep + more)
            for cells, keep, more in zip((None, *self.tree.levels), needed, longer, strict=True)
        )

    @cached_property
    def flat(self) -> PeriodicTree:
        """The tree with all nodes reading rows of slices and cells, which its levels choose."""
        nodes = tuple(replace(node, parent=None) for node in self.tree.nodes)
        return replace(self.tree, nodes=nodes, levels=())

    @cached_property
    def readers(self) -> dict[int, frozenset[Window]]:
        """The windows that queries ask for, by the finest level that they read."""
        found: dict[int, set[Window]] = {}
        for node in self.tree.nodes:
            if node.queries:
                found.setdefault(self.tree.level_of(node), set()).add(node.window)
        return {level: frozenset(windows) for level, windows in found.items()}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of its slices."""
        partial_columns = (name for entry in self.layout.storages for name in entry.columns)
        return (*self.layout.key_columns, self.layout.start, *partial_columns)


def conformed(table: pa.Table, lane: Lane) -> pa.Table:
    """Returns retained rows with the lane's columns; those that an earlier plan did not keep are
    null.

    No answer reads such a null: a query is complete only from where all it reads is kept.
    """
    missing = {
        name: pa.nulls(table.num_rows, entry.arrow_type)
        for entry in lane.layout.storages
        for name in entry.columns
        if name not in table.column_names
    }
    return pa.table(
        {name: missing[name] if name in missing else table.column(name) for name in lane.columns}
    )
