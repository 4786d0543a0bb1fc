"""Runs a tree: takes Arrow batches of slices, gives Arrow batches of answers."""

from collections.abc import Collection, Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa

from muntin.aggregates.aggregate import Component
from muntin.model.trees import Node, PeriodicTree, TreeNode
from muntin.model.windows import Window
from muntin.runtime.arrow_batches import chunks
from muntin.runtime.columns.arrow_arrays import integers_of
from muntin.runtime.columns.keys import KeyNumbers
from muntin.runtime.columns.partials import Column, Int64s, Partials
from muntin.runtime.periodic.intervals import Position
from muntin.runtime.periodic.node import END, Feed, NodeRuntime
from muntin.runtime.storage.layout import (
    Layout,
    Slots,
    all_slots,
    fill_slots,
    node_numbers,
    slots_of,
)

NODE = "node"
BEGIN = "begin"

# How many slices are taken in at a time, so that the cost per batch and node does not matter.
ROWS_AT_ONCE = 1 << 17


class TreeRuntime:
    """Answers a tree's queries from slices ordered by (keys, start).

    A key's slices may be split over batches. Answers are rows of (node number, keys, window begin,
    slots); see `layout`.
    """

    def __init__(
        self, tree: PeriodicTree, layout: Layout, only: Collection[Window] | None = None
    ) -> None:
        """`only` are the windows that run, none of which reads another; None: all."""
        self._tree = tree
        self._layout = layout
        self._slots = all_slots(tree, layout)
        self._numbers = node_numbers(tree)
        # By the window of the node that is read; None for the slices.
        self._feeds = {
            window: Feed(tuple((node, _start(node)) for node in readers), layout)
            for window in (None, *(node.window for node in tree.nodes))
            if (readers := _running(tree.children(window), only))
        }
        # The keys that answers may be about.
        self._keys = KeyNumbers(layout.key_columns)

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yields all answers of slices that come to an end."""
        for batch in gather(batches):
            yield from self.push(batch)
        yield from self.finish()

    def push(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yields the answers that a batch of slices completes."""
        if not batch.num_rows:
            return
        partials = partials_of(batch, self._layout, self._keys.number(batch))
        until = Position(int(partials.keys[-1]), int(partials.starts[-1]) + 1)
        yield from self._descend(None, partials, until)
        # Only the last key can still get answers.
        self._keys.forget(until.key)

    def between(
        self, batch: pa.RecordBatch, begins: Mapping[Window, tuple[int, int]]
    ) -> Iterator[pa.RecordBatch]:
        """Yields the answers of all windows from a first to a last begin, of every key.

        `batch` has all rows of these windows, and may have others. Call this once, on a new
        runtime whose nodes all read the slices.
        """
        if batch.num_rows:
            partials = partials_of(batch, self._layout, self._keys.number(batch))
            yield from self._descend(None, partials, Position(END, END), begins)

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Yields the answers of all windows that are still open."""
        nothing = Partials(
            keys=np.empty(0, np.int64),
            starts=np.empty(0, np.int64),
            columns={each.component: each.missing_partials(0) for each in self._layout.storages},
        )
        yield from self._descend(None, nothing, Position(END, END))

    def _descend(
        self,
        parent: Window | None,
        partials: Partials,
        until: Position,
        begins: Mapping[Window, tuple[int, int]] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Push the partials of a node, or the slices for None, to all nodes that read them."""
        if parent not in self._feeds:
            return
        for node, chunk, reached in self._feeds[parent].push(partials, until, begins):
            if node.queries and len(chunk):
                yield self._answers(node, chunk)
            yield from self._descend(node.window, chunk, reached)

    def _answers(self, node: Node, partials: Partials) -> pa.RecordBatch:
        fields = {**self._keys.columns(partials.keys), BEGIN: pa.array(partials.starts)}
        number = self._numbers[node.window]
        return answer_rows(number, node, self._layout, self._slots, fields, partials.columns)


def _running(nodes: tuple[Node, ...], only: Collection[Window] | None) -> tuple[Node, ...]:
    return nodes if only is None else tuple(node for node in nodes if node.window in only)


def _start(node: Node) -> NodeRuntime:
    techniques = {
        component: technique
        for aggregate, named in zip(node.aggregates, node.techniques, strict=True)
        for component, technique in zip(aggregate.components, named, strict=True)
    }
    # The parent's intervals that it combines, if that is cheaper than to combine all.
    offsets = node.parent.fewest_starts(node.window) if node.parent and node.reads_fewest else None
    return NodeRuntime(node.window, techniques, node.parent, offsets)


def answer_rows(
    number: int,
    node: TreeNode,
    layout: Layout,
    slots: Slots,
    fields: Mapping[str, pa.Array],
    columns: Mapping[Component, Column],
) -> pa.RecordBatch:
    """Returns a node's answers from its partials: the number of the node, the keys and bounds of
    windows, which are the `fields`, and every slot of the tree."""
    rows = len(fields[BEGIN])
    filled: dict[str, pa.Array] = {}
    for aggregate, places in zip(node.aggregates, slots_of(node, layout), strict=True):
        filled.update(zip(places, layout.lower(aggregate, columns), strict=True))
    numbers = pa.array(np.full(rows, number, np.int32))
    return pa.RecordBatch.from_pydict({NODE: numbers, **fields, **fill_slots(filled, slots, rows)})


def partials_of(batch: pa.RecordBatch, layout: Layout, keys: Int64s) -> Partials:
    """Returns slices as partials; `keys` has the number of each row's key."""
    return Partials(
        keys=keys,
        starts=integers_of(batch.column(layout.start)),
        columns={storage.component: storage.read(batch) for storage in layout.storages},
    )


def begins_between(
    windows: Iterable[Window], *, after: int, until: int
) -> dict[Window, tuple[int, int]]:
    """Returns the first and the last begin of the windows that end in `(after, until]`, where there
    are some."""
    begins = {
        window: (window.first_after(after - window.size), until - window.size) for window in windows
    }
    return {window: (first, last) for window, (first, last) in begins.items() if first <= last}


def gather(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in fewer batches."""
    return chunks(batches, rows=ROWS_AT_ONCE)
