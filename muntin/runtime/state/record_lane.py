"""Lanes of data windows: a tree, and where the columns of its records are.

A record is an event with all that windows and aggregates look at. If events close together are
always in the same window, a record is a grain of time with their partials, as a slice is.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from muntin.model.aggregates.aggregate import Component
from muntin.model.query import Query
from muntin.model.trees import DataTree
from muntin.model.windows.data_windows import Session
from muntin.runtime.periodic.rollups import INSTANTS, combine_into_cells
from muntin.runtime.records.read_records import RecordLayout
from muntin.runtime.state.lane import START
from muntin.runtime.storage.layout import Layout
from muntin.runtime.stream_plan.component_columns import Held

# Before all instants.
_EVER = -(1 << 63)


@dataclass(frozen=True, kw_only=True)
class RecordNeeds:
    """What a tree needs columns for: the kinds of its keys and of its records' columns, by their
    Spark SQL, and the number class of each component. For grains the first two columns are their
    bounds in time.
    """

    keys: tuple[str, ...]
    columns: Mapping[str, str]
    numbers: Mapping[Component, str]


@dataclass(frozen=True, kw_only=True)
class RunningRecords:
    """A tree of data windows in the running plan."""

    number: int
    tree: DataTree
    key_columns: tuple[str, ...]
    # The columns of records, by their Spark SQL.
    columns: Mapping[str, str]
    held: tuple[Held, ...]
    # It takes no records from before this; None if it has seen all.
    since: int | None = None
    # Queries that have joined the tree while it ran, and the instant from which on they see its
    # records. Their nodes are behind all others, in the order in which they have joined.
    joined: Mapping[str, int] = field(default_factory=dict)

    def complete_from(self, query: Query) -> int | None:
        """Returns the least begin of a window that is complete."""
        since = self.joined.get(query.name, self.since)
        if since is None:
            return None
        # That no session began earlier is known only after a whole gap of records.
        return since + (query.window.gap if isinstance(query.window, Session) else 0)


@dataclass(frozen=True, kw_only=True)
class RecordLane:
    """A tree as the operator runs it."""

    number: int
    tree: DataTree
    layout: RecordLayout
    # The column and the type of what windows look at, by the name that they know it by.
    columns: Mapping[str, tuple[str, pa.DataType]] = field(default_factory=dict)
    # How grains arrive, which are slices with their first and their last instant.
    grains: Layout | None = None
    since: int | None = None
    joined: Mapping[str, int] = field(default_factory=dict)

    def stages(self, after: int, until: int) -> Iterator[tuple["RecordLane", int]]:
        """Yields the lane as it is for records from one instant to another, in stages.

        Each stage ends where queries join, and the last one at `until`.
        """
        for instant in sorted({at for at in self.joined.values() if after < at <= until}):
            yield self._before(instant), instant
        yield self._before(until + 1), until

    def _before(self, instant: int) -> "RecordLane":
        """Returns the lane without the queries that join at an instant or later."""
        nodes = tuple(
            node for node in self.tree.nodes if self.joined.get(node.queries[0], _EVER) < instant
        )
        if len(nodes) == len(self.tree.nodes):
            return self
        tree = replace(self.tree, nodes=nodes)
        layout = self.layout.of_tree(tree)
        grains = self.grains and replace(
            self.grains, storages=(*self.grains.storages[:2], *layout.layout.storages)
        )
        names = layout.names
        return replace(
            self,
            tree=tree,
            layout=layout,
            columns={name: self.columns[name] for name in self.columns if name in names},
            grains=grains,
        )

    @property
    def arriving(self) -> tuple[str, ...]:
        """The columns that arrive: keys, the instant or the start of a grain, what is carried."""
        keys = self.layout.layout.key_columns
        if self.grains is None:
            return tuple(dict.fromkeys((*keys, START, *(c for c, _ in self.columns.values()))))
        return (*keys, START, *(name for entry in self.grains.storages for name in entry.columns))

    @property
    def keeps(self) -> int | None:
        """How long records are kept, since late ones still count; None where they do not."""
        if self.tree.record_step is not None:
            return None
        return max(window.size for window in self.tree.periodic_windows)

    def released(self, watermark: int) -> int:
        """Returns the instant before which all records have arrived."""
        return watermark - watermark % (self.tree.record_step or 1)

    def records(self, table: pa.Table) -> pa.RecordBatch:
        """Returns rows that have arrived as records; there are some."""
        layout = self.layout.layout
        if self.grains is None:
            columns = {name: table.column(name) for name in (*layout.key_columns, START)}
            for name, (column, kind) in self.columns.items():
                columns[name] = decoded(table.column(column), kind)
            records = pa.table(columns)
        else:
            # Parts of a grain may have arrived one by one.
            records = combine_into_cells(table, self.grains, INSTANTS)
        if self.since is not None:
            records = records.filter(pc.greater_equal(records.column(layout.start), self.since))
        batches = records.combine_chunks().to_batches()
        return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=records.schema)


def decoded(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Returns a column in its own type; it arrives in the type of its kind."""
    if pa.types.is_date(kind):
        column = column.cast(pa.int32())
    return column.cast(kind)
