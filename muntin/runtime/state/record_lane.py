"""Lanes of data windows: a tree, and where the columns of its records are.

Spark groups events by all that windows and aggregates look at, and counts those that are alike. Or,
where events close together are never apart, it groups them by a grain of time, as slices.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.model.aggregates.aggregate import Component
from muntin.model.plan import Edges, Slicing
from muntin.model.query import Query
from muntin.model.record_tree import RecordTree
from muntin.model.windows.data_windows import Session
from muntin.runtime.records.read_records import RecordLayout
from muntin.runtime.stream_plan.component_columns import Held
from muntin.runtime.stream_plan.room import Use, uses_of

# A session is given out when the grain behind it is over: so many of them are in a gap.
_GRAINS_IN_A_GAP = 8
# How many events a record stands for, where they are alike.
ALIKE = Component(kind="count")


def grains(tree: RecordTree) -> Slicing | None:
    """The grains in which a stream combines events, where it does."""
    if tree.grain is None:
        return None
    width = max(1, tree.grain // _GRAINS_IN_A_GAP)
    return Slicing(edges=(Edges(period=width),), rate=0.0)


@dataclass(frozen=True, kw_only=True)
class RecordNeeds:
    """What a tree must find room for: the kinds of its keys and of its records' columns, by their
    Spark SQL, and the number of each component. Of grains the first two are their bounds in time.
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
    # Records before this are none of its; none: it has seen all.
    since: int | None = None

    def complete_from(self, query: Query) -> int | None:
        """The least begin of a window that is whole."""
        if self.since is None:
            return None
        # Whether a session began earlier is known when the records of a gap before it are.
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
        """The instant before which all records have come."""
        found = grains(self.tree)
        return watermark if found is None else watermark - watermark % found.edges[0].period

    def due(self, released: int) -> int:
        """The least watermark by which all records before an instant have come."""
        found = grains(self.tree)
        return released if found is None else found.edge_from(released)

    def records(self, table: pa.Table) -> pa.RecordBatch:
        """What came of Spark as records."""
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
            kept = (name for one in layout.kept for name in one.columns)
            names = [*layout.key_columns, layout.start, self.layout.last, *kept]
            columns = {name: table.column(name) for name in dict.fromkeys(names)}
        found = pa.table(columns)
        if self.since is not None:
            found = found.filter(pc.greater_equal(found.column(layout.start), self.since))
        batches = found.combine_chunks().to_batches()
        return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=found.schema)


def decoded(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """A column as its own type; on the way it was one of the kinds of columns."""
    if pa.types.is_date(kind):
        column = column.cast(pa.int32())
    return column.cast(kind)
