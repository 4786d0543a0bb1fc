"""Lanes of data windows: a tree, and where the columns of its records are.

Spark groups events by all that windows and aggregates look at, and counts those that are alike. If
events close together are always in the same window, it groups them by a grain of time instead, as
slices.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.model.aggregates.aggregate import Component
from muntin.model.query import Query
from muntin.model.record_tree import RecordTree
from muntin.model.slicing import Edges, Slicing
from muntin.model.windows.data_windows import Session
from muntin.runtime.records.read_records import RecordLayout
from muntin.runtime.stream_plan.component_columns import Held
from muntin.runtime.stream_plan.room import Use, uses_of

# How many grains a gap has. A session is given out when the grain after it is over.
_GRAINS_IN_A_GAP = 8
# Counts the events that a record stands for, if events that are alike are one record.
ALIKE = Component(kind="count")


def grains(tree: RecordTree) -> Slicing | None:
    """Returns the grains in which a stream combines events; None if it does not."""
    if tree.grain is None:
        return None
    width = max(1, tree.grain // _GRAINS_IN_A_GAP)
    return Slicing(edges=(Edges(period=width),), rate=0.0)


@dataclass(frozen=True, kw_only=True)
class RecordNeeds:
    """What a tree needs columns for: the kinds of its keys and of its records' columns, by their
    Spark SQL, and the number class of each component. For grains the first two columns are their
    bounds in time.
    """

    keys: tuple[str, ...]
    columns: Mapping[str, str]
    numbers: Mapping[Component, str]

    @property
    def groups(self) -> list[str]:
        """The kinds of all columns that Spark groups by."""
        return [*self.keys, *self.columns.values()]

    def uses(self, *, ansi: bool) -> dict[Component, tuple[Use, ...]]:
        """The columns that its components take."""
        return {
            component: uses_of(component, number, ansi=ansi)
            for component, number in self.numbers.items()
        }


@dataclass(frozen=True, kw_only=True)
class RunningRecords:
    """A tree of data windows in the running plan."""

    number: int
    tree: RecordTree
    key_slots: tuple[str, ...]
    # The columns of records by their Spark SQL, and the slot of each.
    columns: Mapping[str, str]
    held: tuple[Held, ...]
    # It takes no records from before this; None if it has seen all.
    since: int | None = None

    def complete_from(self, query: Query) -> int | None:
        """Returns the least begin of a window that is complete."""
        if self.since is None:
            return None
        # That no session began earlier is known only after a whole gap of records.
        return self.since + (query.window.gap if isinstance(query.window, Session) else 0)


@dataclass(frozen=True, kw_only=True)
class RecordLane:
    """A tree as the operator runs it."""

    number: int
    tree: RecordTree
    layout: RecordLayout
    # The slot and the type of every column of the records that is not in a slot of its own name.
    columns: Mapping[str, tuple[str, pa.DataType]] = field(default_factory=dict)
    # The column that counts events that are alike.
    alike: str | None = None
    since: int | None = None

    def released(self, watermark: int) -> int:
        """Returns the instant before which all records have arrived."""
        slicing = grains(self.tree)
        return watermark if slicing is None else watermark - watermark % slicing.edges[0].period

    def due(self, released: int) -> int:
        """Returns the least watermark by which all records before an instant have arrived."""
        slicing = grains(self.tree)
        return released if slicing is None else slicing.edge_from(released)

    def records(self, table: pa.Table) -> pa.RecordBatch:
        """Returns the rows that Spark sent as records."""
        layout = self.layout.layout
        if self.alike is not None:
            counts = table.column(self.alike).to_numpy()
            table = table.take(pa.array(np.repeat(np.arange(len(counts)), counts)))
            names = [*layout.key_columns, layout.start]
            columns = {name: table.column(name) for name in names}
            for name, (slot, kind) in self.columns.items():
                columns[name] = decoded(table.column(slot), kind)
        else:
            assert self.layout.last is not None
            partial_columns = (name for entry in layout.kept for name in entry.columns)
            names = [*layout.key_columns, layout.start, self.layout.last, *partial_columns]
            columns = {name: table.column(name) for name in dict.fromkeys(names)}
        records = pa.table(columns)
        if self.since is not None:
            records = records.filter(pc.greater_equal(records.column(layout.start), self.since))
        batches = records.combine_chunks().to_batches()
        return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=records.schema)


def decoded(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Returns a column in its own type; Spark sent it in the type of its slot."""
    if pa.types.is_date(kind):
        column = column.cast(pa.int32())
    return column.cast(kind)
