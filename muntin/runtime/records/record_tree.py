"""A tree of data windows at run time: Arrow batches of records in, answers out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.model.aggregates.aggregate import Component
from muntin.model.aggregates.monoids import Monoid
from muntin.model.aggregates.table import INTEGER
from muntin.model.aggregates.user_aggregate import UserComponent
from muntin.model.record_tree import RecordNode, RecordTree
from muntin.model.windows.data_windows import Custom
from muntin.runtime.columns.keys import KeyNumbers
from muntin.runtime.columns.layout import Layout, Slots, all_slots, slots_of
from muntin.runtime.columns.lower import lower
from muntin.runtime.columns.partials import Int64s, PartialColumn, Partials
from muntin.runtime.periodic.tree import BEGIN, NODE, gather
from muntin.runtime.records.compiled_functions import interned
from muntin.runtime.records.cutter import DEFAULT, Cutter, Read
from muntin.runtime.records.discretizer import discretizers_of
from muntin.runtime.records.read_records import RecordLayout, lowest, read_records, read_values
from muntin.runtime.records.record_batch import NO_END, Before, Records
from muntin.runtime.records.window_stream import Discretizer
from muntin.techniques.compiled.compile import compiles

END = "end"


class RecordTreeRuntime:
    """Answers a tree's queries from records ordered by (keys, time).

    A key's records may be split over batches. Answers are rows of (node number, keys, begin, end of
    the window, slots); the end is null where the data ended first.
    """

    def __init__(self, tree: RecordTree, layout: RecordLayout, *, store: str = DEFAULT) -> None:
        self._tree = tree
        self._layout = layout
        self._slots = all_slots(tree, layout.layout)
        self._keys = KeyNumbers(layout.layout.key_columns)
        self._streams = tree_discretizers(tree)
        self.cutters = [
            (Cutter(monoids, len(members), store=store), members)
            for members, monoids in cut_together(tree, layout.layout, self._streams)
        ]
        # Between batches: the key, and of its last record what the next looks back at.
        self._key = -1
        self._before: Before | None = None

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """All answers of records that end."""
        for batch in gather(batches):
            yield from self.push(batch)
        yield from self.finish()

    def push(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The answers that a batch of records completes."""
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
        """The answers of all windows that are still open."""
        if self._key < 0:
            return
        nothing = pa.RecordBatch.from_pydict(
            {name: pa.array([], kind) for name, kind in self._kinds.items()}
        )
        records = self._records(nothing, np.zeros(1, np.int64))
        yield from self._feed(records, np.array([self._key]), read_values(nothing, self._layout))

    def _feed(
        self, records: Records, keys: Int64s, values: Mapping[Component, PartialColumn]
    ) -> Iterator[pa.RecordBatch]:
        """Every stream looks at the records once; every cutter runs over them once."""
        marks = [stream.feed(records) for _, stream in self._streams]
        found: dict[int, list[Read]] = {}
        for cutter, members in self.cutters:
            reads = cutter.feed(records.rows, [marks[one] for one in members], values)
            for one, read in zip(members, reads, strict=True):
                found.setdefault(one, []).append(read)
        for index, (number, _) in enumerate(self._streams):
            # Cutters have read the same windows of it, each for other components.
            first = found[index][0]
            if not len(first.rows):
                continue
            partials = Partials(
                keys=keys[first.rows],
                starts=first.starts,
                columns={c: column for one in found[index] for c, column in one.columns.items()},
            )
            columns = self._keys.columns(partials.keys)
            node, layout = self._tree.nodes[number], self._layout.layout
            yield answers_of(number, node, layout, self._slots, columns, partials, first.ends)

    def _records(self, batch: pa.RecordBatch, firsts: Int64s) -> Records:
        """The records of a batch, and what the next batch looks back at."""
        layout, others = self._layout, len(firsts)
        fresh = Before(
            lasts=np.zeros(others + 1, np.int64),
            met={sql: np.zeros(others + 1, np.bool_) for sql in layout.conditions},
            highest={
                sql: lowest(self._kinds[name], others + 1) for sql, name in layout.measures.items()
            },
        )
        if self._before is not None:
            fresh.lasts[0] = self._before.lasts[-1]
            for kept, known in (
                (fresh.met, self._before.met),
                (fresh.highest, self._before.highest),
            ):
                for sql, values in kept.items():
                    values[0] = known[sql][-1]
        records = read_records(batch, layout, firsts, fresh)
        self._before = records.after()
        return records


def answers_of(
    number: int,
    node: RecordNode,
    layout: Layout,
    slots: Slots,
    keys: Mapping[str, pa.Array],
    partials: Partials,
    ends: Int64s,
) -> pa.RecordBatch:
    """Answers of the node of a number, in the slots of all nodes of its tree."""
    filled: dict[str, pa.Array] = {}
    for aggregate, places in zip(node.aggregates, slots_of(node, layout), strict=True):
        filled.update(zip(places, lower(aggregate, partials, layout), strict=True))
    columns = {NODE: pa.array(np.full(len(partials), number, np.int32)), **keys}
    columns[BEGIN] = pa.array(partials.starts)
    columns[END] = pa.array(ends, mask=ends == NO_END)
    for slot in slots:
        kind = pa.int64() if slot.startswith("i") else pa.float64()
        columns[slot] = filled[slot] if slot in filled else pa.nulls(len(partials), kind)
    return pa.RecordBatch.from_pydict(columns)


def tree_discretizers(tree: RecordTree) -> list[tuple[int, Discretizer]]:
    """All streams of windows of a tree, each with the number of its node."""
    return [
        (number, stream)
        for number, node in enumerate(tree.nodes)
        for stream in discretizers_of(node.window)
    ]


def cut_together(
    tree: RecordTree, layout: Layout, streams: Sequence[tuple[int, Discretizer]]
) -> Iterator[tuple[tuple[int, ...], dict[Component, tuple[Monoid, Any]]]]:
    """Which streams share slices, for which components: the monoid of each, and its numbers' type.

    Components that the same streams ask for are cut together; others have slices of their own.
    Windows that keep a partial per record would make the others keep one, so they stand alone.
    """
    asked: dict[Component, tuple[list[int], list[int]]] = {}
    for index, (number, _) in enumerate(streams):
        node = tree.nodes[number]
        alone = isinstance(node.window, Custom) and not node.window.is_deterministic
        for component in dict.fromkeys(c for one in node.aggregates for c in one.components):
            asked.setdefault(component, ([], []))[alone].append(index)
    groups: dict[tuple[int, ...], list[Component]] = {}
    for component, sides in asked.items():
        for side in sides:
            if side:
                groups.setdefault(tuple(side), []).append(component)
    for members, components in groups.items():
        monoids = {}
        for component in components:
            kept = layout.of(component)
            dtype: Any = np.int64 if kept.number == INTEGER else np.float64
            monoid = kept.monoid
            if isinstance(component, UserComponent):
                monoid = interned(monoid)
                dtype = dtype if compiles(monoid) else object
            monoids[component] = (monoid, dtype)
        yield members, monoids
