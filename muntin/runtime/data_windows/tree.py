"""Runs a tree of data windows: takes Arrow batches of records, gives answers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from muntin.aggregates.aggregate import Component
from muntin.model.data_windows import Custom
from muntin.model.trees import DataNode, DataTree
from muntin.runtime.columns.keys import KeyNumbers
from muntin.runtime.columns.partials import Column, Int64s
from muntin.runtime.data_windows.cutter import DEFAULT, Cutter
from muntin.runtime.data_windows.discretizer import discretizers_of
from muntin.runtime.data_windows.range_reader import RangeReader
from muntin.runtime.data_windows.read_records import RecordLayout, lowest, read_records, read_values
from muntin.runtime.data_windows.window_stream import (
    NO_END,
    Discretizer,
    PreviousRecord,
    Records,
    WindowEdges,
    WindowReads,
)
from muntin.runtime.periodic.tree import BEGIN, answer_rows, gather
from muntin.runtime.storage.component_storage import ComponentStorage
from muntin.runtime.storage.layout import Layout, Slots, all_slots

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
        self.readers = window_readers(tree, layout.layout, self._streams, store=store)
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
        yield from self._answer(records, before, read_values(batch, self._layout))
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
        yield from self._answer(records, np.array([self._key]), read_values(nothing, self._layout))

    def _answer(
        self, records: Records, keys: Int64s, values: Mapping[Component, Column]
    ) -> Iterator[pa.RecordBatch]:
        """Runs every discretizer and reader over the records once, and yields the answers."""
        edges = [stream.feed(records) for _, stream in self._streams]
        reads = read_windows(self.readers, keys[1:], edges, values)
        for (number, _), parts in zip(self._streams, reads, strict=True):
            if len(parts[0].rows):
                columns = self._keys.columns(keys[parts[0].rows])
                node, layout = self._tree.nodes[number], self._layout.layout
                yield answers_of(number, node, layout, self._slots, columns, parts)

    def _records(self, batch: pa.RecordBatch, firsts: Int64s) -> Records:
        """Returns the records of a batch, and remembers what the next batch is compared with."""
        layout, others = self._layout, len(firsts)
        fresh = PreviousRecord(
            lasts=np.zeros(others + 1, np.int64),
            met={sql: np.zeros(others + 1, np.bool_) for sql in layout.conditions},
            highest={
                sql: lowest(self._kinds[name], others + 1) for sql, name in layout.measures.items()
            },
        )
        if self._before is not None:
            fresh.update(np.zeros(1, np.int64), self._before.each(lambda facts: facts[-1:]))
        records = read_records(batch, layout, firsts, fresh)
        self._before = records.after()
        return records


def answers_of(
    number: int,
    node: DataNode,
    layout: Layout,
    slots: Slots,
    keys: Mapping[str, pa.Array],
    parts: Sequence[WindowReads],
) -> pa.RecordBatch:
    """Returns a node's answers. `parts` are the same windows, each with other components."""
    starts, ends = parts[0].starts, parts[0].ends
    fields = {**keys, BEGIN: pa.array(starts), END: pa.array(ends, mask=ends == NO_END)}
    return answer_rows(number, node, layout, slots, fields, columns_of(parts))


def columns_of(parts: Sequence[WindowReads]) -> dict[Component, Column]:
    """Returns the partials of all components of some windows."""
    return {component: column for part in parts for component, column in part.columns.items()}


def tree_discretizers(tree: DataTree) -> list[tuple[int, Discretizer]]:
    """Returns all discretizers of a tree, each with the number of its node."""
    return [
        (number, stream)
        for number, node in enumerate(tree.nodes)
        for stream in discretizers_of(node.window)
    ]


# Readers of windows, each with the numbers of the streams that it reads.
Readers = list[tuple[Cutter | RangeReader, tuple[int, ...]]]


def window_readers(
    tree: DataTree,
    layout: Layout,
    streams: Sequence[tuple[int, Discretizer]],
    *,
    also: tuple[int, ...] = (),
    store: str = DEFAULT,
) -> Readers:
    """Returns the readers of all streams; each also reads the streams in `also`.

    Components that the same streams need share slices. Windows that store a partial per record have
    slices of their own, or all windows would store as many. Components that no store of slices can
    combine are read from the records.
    """
    asked: dict[ComponentStorage, tuple[list[int], list[int]]] = {}
    for index, (number, _) in enumerate(streams):
        node = tree.nodes[number]
        alone = isinstance(node.window, Custom) and not node.window.is_deterministic
        components = (c for aggregate in node.aggregates for c in aggregate.components)
        for component in dict.fromkeys(components):
            asked.setdefault(layout.of(component), ([], []))[alone].append(index)
    groups: dict[tuple[bool, tuple[int, ...]], list[ComponentStorage]] = {}
    for storage, sides in asked.items():
        for side in sides:
            if side:
                groups.setdefault((storage.is_cut, (*side, *also)), []).append(storage)
    readers: Readers = []
    for (is_cut, members), storages in groups.items():
        if is_cut:
            monoids = {each.component: each.cut_monoid for each in storages}
            readers.append((Cutter(monoids, len(members), store=store), members))
        else:
            by_component = {each.component: each for each in storages}
            readers.append((RangeReader(by_component, len(members)), members))
    return readers


def read_windows(
    readers: Readers,
    keys: Int64s,
    edges: Sequence[WindowEdges],
    values: Mapping[Component, Column],
) -> list[list[WindowReads]]:
    """Returns the windows of each stream that are read in a batch, once by each of its readers."""
    reads: list[list[WindowReads]] = [[] for _ in edges]
    for reader, members in readers:
        own = reader.read(keys, [edges[member] for member in members], values)
        for member, read in zip(members, own, strict=True):
            reads[member].append(read)
    return reads
