"""A tree of a running plan as the operator runs it, and the columns of its slices."""

from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from muntin.model.plan import Tree
from muntin.runtime.columns.layout import Layout, column_type

# The column with the start of a slice, or with the instant of a record.
START = "start"
# The column with the number of events of a slice or record that has arrived.
EVENTS = "events"


@dataclass(frozen=True, kw_only=True)
class Lane:
    """A tree of a running plan: its number, which is never reused, and where its columns are."""

    number: int
    tree: Tree
    layout: Layout
    # How long slices are kept beyond what windows need, in microseconds.
    retain: int = 0

    @property
    def span(self) -> int:
        """How far behind the watermark a slice may start and still be kept."""
        return max(self.retain, *(node.window.size for node in self.tree.nodes))

    @cached_property
    def flat(self) -> Tree:
        """The tree with all nodes reading the slices, as plans for streams have them.

        Only a checkpoint of an earlier version may still have nodes that read others.
        """
        if self.tree.is_flat:
            return self.tree
        nodes = tuple(replace(node, parent=None) for node in self.tree.nodes)
        return replace(self.tree, nodes=nodes)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of its slices."""
        partial_columns = (name for entry in self.layout.kept for name in entry.columns)
        return (*self.layout.key_columns, self.layout.start, *partial_columns)


def conformed(table: pa.Table, lane: Lane) -> pa.Table:
    """Returns retained rows with the lane's columns; those that an earlier plan did not keep are
    null.

    No answer reads such a null: a query is complete only from where all it reads is kept.
    """
    missing = {
        name: pa.nulls(table.num_rows, column_type(entry.number))
        for entry in lane.layout.kept
        for name in entry.columns
        if name not in table.column_names
    }
    return pa.table(
        {name: missing[name] if name in missing else table.column(name) for name in lane.columns}
    )
