"""Runs a tree of data windows: takes Arrow batches of records, gives answers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.aggregates.aggregate import Component
from muntin.aggregates.monoids import Monoid
from muntin.model.trees import DataNode, DataTree
from muntin.model.windows.data_windows import Custom
from muntin.runtime.columns.keys import KeyNumbers
from muntin.runtime.columns.partials import Column, Int64s, Partials
from muntin.runtime.data_windows.cutter import DEFAULT, Cutter
from muntin.runtime.data_windows.discretizer import discretizers_of
from muntin.runtime.data_windows.range_reader import RangeReader
from muntin.runtime.data_windows.read_records import RecordLayout, lowest, read_records, read_values
from muntin.runtime.data_windows.record_batch import NO_END, PreviousRecord, Records
from muntin.runtime.data_windows.waiting_windows import WindowReads
from muntin.runtime.data_windows.window_stream import Discretizer
from muntin.runtime.periodic.tree import BEGIN, NODE, gather
from muntin.runtime.storage.component_storage import ComponentStorage
from muntin.runtime.storage.layout import Layout, Slots, all_slots, fill_slots, slots_of

END = "end"


class DataTreeRuntime:
    """Answers a tree's queries from records ordered by (keys, time).

    A key's records may be split over batches. Answers are rows of (node number, keys, begin, end of
    the window, slots); the end is null where the data ended first.
    """

    def __init__(self, tree: DataTree, layout: RecordLayout, *, store: str = DEFAULT) -> None:
        self._tree = tree
        self._layout = layout
        self._slots = all_slots(tree, layout.layout)
        self._keys = KeyNumbers(layout.layout.key_columns)
        self._streams = tree_discretizers(tree)
        self.cutters = [
            (Cutter(monoids, len(members), store=store), members)
            for members, monoids in cut_groups(tree, layout.layout, self._streams)
        ]
        self.readers = [
            (RangeReader(monoids, len(members)), members)
            for members, monoids in swept_groups(tree, layout.layout, self._streams)
        ]
        # Between batches: the last key, and what its next record is compared with.
        self._key = -1
        self._before: PreviousRecord | None = None

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yields all answers of records that come to an end."""
        for batch in gather(batches):
            yield from self.push(batch)
        yield from self.finish()

    def push(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yields the answers that a batch of records completes."""
        if not batch.num_rows:
            return
        keys = self._keys.number(batch)
        before = np.concatenate([[self._key], keys])
        firsts = np.flatnonzero(keys != before[:-1])
        self._kinds = {field.name: field.type for field in batch.schema}
        records = self._records(batch, firsts)
        yield from self._feed(records, before, read_values(batch, self._layout))
        self._key = int(keys[-1])
        self._keys.forget(self._key)

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Yields the answers of all windows that are still open."""
        if self._key < 0:
            return
        nothing = pa.RecordBatch.from_pydict(
            {name: pa.array([], kind) for name, kind in self._kinds.items()}
        )
        records = self._records(nothing, np.zeros(1, np.int64))
        yield from self._feed(records, np.array([self._key]), read_values(nothing, self._layout))

    def _feed(
        self, records: Records, keys: Int64s, values: Mapping[Component, Column]
    ) -> Iterator[pa.RecordBatch]:
        """Run every discretizer and every cutter over the records once; yield the answers."""
        edges = [stream.feed(records) for _, stream in self._streams]
        reads_by_stream: dict[int, list[WindowReads]] = {}
        for cutter, members in self.cutters:
            reads = cutter.feed(records.rows, [edges[member] for member in members], values)
            for member, read in zip(members, reads, strict=True):
                reads_by_stream.setdefault(member, []).append(read)
        for reader, members in self.readers:
            reads = reader.feed(keys[1:], [edges[member] for member in members], values)
            for member, read in zip(members, reads, strict=True):
                reads_by_stream.setdefault(member, []).append(read)
        for index, (number, _) in enumerate(self._streams):
            # Its cutters have read the same windows, each for other components.
            first = reads_by_stream[index][0]
            if not len(first.rows):
                continue
            partials = Partials(
                keys=keys[first.rows],
                starts=first.starts,
                columns={
                    c: column
                    for part in reads_by_stream[index]
                    for c, column in part.columns.items()
                },
            )
            columns = self._keys.columns(partials.keys)
            node, layout = self._tree.nodes[number], self._layout.layout
            yield answers_of(number, node, layout, self._slots, columns, partials, first.ends)

    def _records(self, batch: pa.RecordBatch, firsts: Int64s) -> Records:
        """Returns the records of a batch, and remember what the next batch is compared with."""
        layout, others = self._layout, len(firsts)
        fresh = PreviousRecord(
            lasts=np.zeros(others + 1, np.int64),
            met={sql: np.zeros(others + 1, np.bool_) for sql in layout.conditions},
            highest={
                sql: lowest(self._kinds[name], others + 1) for sql, name in layout.measures.items()
            },
        )
        if self._before is not None:
            fresh.lasts[0] = self._before.lasts[-1]
            for initial, known in (
                (fresh.met, self._before.met),
                (fresh.highest, self._before.highest),
            ):
                for sql, values in initial.items():
                    values[0] = known[sql][-1]
        records = read_records(batch, layout, firsts, fresh)
        self._before = records.after()
        return records


def answers_of(
    number: int,
    node: DataNode,
    layout: Layout,
    slots: Slots,
    keys: Mapping[str, pa.Array],
    partials: Partials,
    ends: Int64s,
) -> pa.RecordBatch:
    """Returns a node's answers, with a column for every slot of its tree."""
    filled: dict[str, pa.Array] = {}
    for aggregate, places in zip(node.aggregates, slots_of(node, layout), strict=True):
        filled.update(zip(places, layout.lower(aggregate, partials), strict=True))
    columns = {NODE: pa.array(np.full(len(partials), number, np.int32)), **keys}
    columns[BEGIN] = pa.array(partials.starts)
    columns[END] = pa.array(ends, mask=ends == NO_END)
    columns |= fill_slots(filled, slots, len(partials))
    return pa.RecordBatch.from_pydict(columns)


def tree_discretizers(tree: DataTree) -> list[tuple[int, Discretizer]]:
    """Returns all discretizers of a tree, each with the number of its node."""
    return [
        (number, stream)
        for number, node in enumerate(tree.nodes)
        for stream in discretizers_of(node.window)
    ]


def cut_groups(
    tree: DataTree, layout: Layout, streams: Sequence[tuple[int, Discretizer]]
) -> Iterator[tuple[tuple[int, ...], dict[Component, tuple[Monoid, Any]]]]:
    """Yields the streams that share slices, and the monoid and type of each component in them.

    Components that the same streams ask for share slices. Windows that keep a partial per record
    would make the others keep one, so they have slices of their own.
    """
    for members, storages in _groups_of_streams(tree, layout, streams, is_cut=True):
        yield members, {each.component: each.cut_monoid for each in storages}


def swept_groups(
    tree: DataTree, layout: Layout, streams: Sequence[tuple[int, Discretizer]]
) -> Iterator[tuple[tuple[int, ...], dict[Component, ComponentStorage]]]:
    """Yields the streams that share rows of records, and the storage of each component in them."""
    for members, storages in _groups_of_streams(tree, layout, streams, is_cut=False):
        yield members, {each.component: each for each in storages}


def _groups_of_streams(
    tree: DataTree,
    layout: Layout,
    streams: Sequence[tuple[int, Discretizer]],
    *,
    is_cut: bool,
) -> Iterator[tuple[tuple[int, ...], list[ComponentStorage]]]:
    """Yields streams and the components that all of them ask for, those that are cut or others."""
    asked: dict[ComponentStorage, tuple[list[int], list[int]]] = {}
    for index, (number, _) in enumerate(streams):
        node = tree.nodes[number]
        alone = isinstance(node.window, Custom) and not node.window.is_deterministic
        for component in dict.fromkeys(
            c for aggregate in node.aggregates for c in aggregate.components
        ):
            storage = layout.of(component)
            if storage.is_cut == is_cut:
                asked.setdefault(storage, ([], []))[alone].append(index)
    groups: dict[tuple[int, ...], list[ComponentStorage]] = {}
    for storage, sides in asked.items():
        for side in sides:
            if side:
                groups.setdefault(tuple(side), []).append(storage)
    yield from groups.items()
