"""A tree of user-defined windows at run time: Arrow batches of records in, answers out."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.model.aggregate import Component
from muntin.model.discretized import DiscretizedNode, DiscretizedTree
from muntin.model.kinds import Custom
from muntin.model.user_aggregate import UserComponent
from muntin.runtime.cutter import DEFAULT, Cutter, Read
from muntin.runtime.keys import KeyNumbers
from muntin.runtime.layout import INTEGER, Layout, all_slots, slots_of
from muntin.runtime.lift import lifted
from muntin.runtime.lower import lower
from muntin.runtime.partials import Int64s, PartialColumn, Partials
from muntin.runtime.periods import grow
from muntin.runtime.records import NO_END, Records
from muntin.runtime.streams import streams_of
from muntin.runtime.tree import BEGIN, NODE, gather
from muntin.techniques.compile import compiles

END = "end"


@dataclass(frozen=True, kw_only=True)
class RecordLayout:
    """The columns of records: keys, time, and what windows and components look at, by Spark SQL.

    `last` is the column with the latest time of a record that stands for several events.
    """

    layout: Layout
    last: str | None = None
    conditions: Mapping[str, str] = field(default_factory=dict)
    measures: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    # Columns of the records by what a component is lifted from; without one, partials come lifted.
    values: Mapping[Component, tuple[str, ...]] | None = None


class DiscretizedRuntime:
    """Answers a tree's queries from records ordered by (keys, time).

    A key's records may be split over batches. Answers are rows of (node number, keys, begin, end of
    the window, slots); the end is null where the data ended first.
    """

    def __init__(
        self, tree: DiscretizedTree, layout: RecordLayout, *, store: str = DEFAULT
    ) -> None:
        self._tree = tree
        self._layout = layout
        self._slots = all_slots(tree, layout.layout)
        self._keys = KeyNumbers(layout.layout.key_columns)
        self._streams = [
            (number, stream)
            for number, node in enumerate(tree.nodes)
            for stream in streams_of(node.window)
        ]
        self.cutters = list(_cutters(tree, layout.layout, self._streams, store))
        # Between batches: the key, and of its last record what the next looks back at.
        self._key = -1
        self._last = 0
        self._met = dict.fromkeys(layout.conditions, False)
        self._highest: dict[str, Any] = {}

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
        records = self._records(batch, firsts)
        yield from self._feed(records, before, self._partials(batch))
        self._key = int(keys[-1])
        self._keys.forget(self._key)
        self._last = int(records.lasts[-1])
        self._met = {name: bool(held[-1]) for name, held in records.conditions.items()}

    def finish(self) -> Iterator[pa.RecordBatch]:
        """The answers of all windows that are still open."""
        if self._key < 0:
            return
        nothing = pa.RecordBatch.from_pydict(
            {name: pa.array([], kind) for name, kind in self._kinds.items()}
        )
        records = self._records(nothing, np.zeros(1, np.int64))
        yield from self._feed(records, np.array([self._key]), self._partials(nothing))

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
            yield self._answers(number, self._tree.nodes[number], partials, first.ends)

    def _answers(
        self, number: int, node: DiscretizedNode, partials: Partials, ends: Int64s
    ) -> pa.RecordBatch:
        layout = self._layout.layout
        filled: dict[str, pa.Array] = {}
        for aggregate, places in zip(node.aggregates, slots_of(node, layout), strict=True):
            filled.update(zip(places, lower(aggregate, partials, layout), strict=True))
        columns = {NODE: pa.array(np.full(len(partials), number, np.int32))}
        columns.update(self._keys.columns(partials.keys))
        columns[BEGIN] = pa.array(partials.starts)
        columns[END] = pa.array(ends, mask=ends == NO_END)
        for slot in self._slots:
            kind = pa.int64() if slot.startswith("i") else pa.float64()
            columns[slot] = filled[slot] if slot in filled else pa.nulls(len(partials), kind)
        return pa.RecordBatch.from_pydict(columns)

    def _records(self, batch: pa.RecordBatch, firsts: Int64s) -> Records:
        layout = self._layout
        self._kinds = {field.name: field.type for field in batch.schema}
        times = _times(batch.column(layout.layout.start))
        lasts = times if layout.last is None else _times(batch.column(layout.last))
        conditions = {sql: _bools(batch.column(name)) for sql, name in layout.conditions.items()}
        return Records(
            firsts=firsts,
            times=times,
            lasts=lasts,
            conditions=conditions,
            measures={
                sql: self._measure(sql, batch.column(name), firsts)
                for sql, name in layout.measures.items()
            },
            columns={sql: _objects(batch.column(name)) for sql, name in layout.columns.items()},
            lasts_before=np.concatenate([[self._last], lasts]),
            conditions_before={
                sql: np.concatenate([[self._met[sql]], held]) for sql, held in conditions.items()
            },
        )

    def _measure(self, sql: str, column: pa.Array, firsts: Int64s) -> Any:
        """A column made to grow: each value is the highest that its key has had."""
        present = column.is_valid().to_numpy(zero_copy_only=False)
        values: Any
        missing: Any
        if pa.types.is_integer(column.type):
            values, missing = _times(column), np.iinfo(np.int64).min
        else:
            values = np.array(column.fill_null(0).to_numpy(zero_copy_only=False), np.float64)
            present = present & ~np.isnan(values)
            missing = -np.inf
        highest = self._highest.setdefault(sql, np.full(1, missing, values.dtype))
        grow(values, present, firsts, values.dtype.type(missing), highest)
        return values

    def _partials(self, batch: pa.RecordBatch) -> dict[Component, PartialColumn]:
        layout = self._layout
        return {
            kept.component: lifted(kept, batch, None if layout.values is None else layout.values)
            for kept in layout.layout.kept
        }


def _cutters(
    tree: DiscretizedTree, layout: Layout, streams: list[tuple[int, Any]], store: str
) -> Iterator[tuple[Cutter, tuple[int, ...]]]:
    """Components that the same streams ask for are cut together; others have slices of their own.

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
            if isinstance(component, UserComponent) and not compiles(kept.monoid):
                dtype = object
            monoids[component] = (kept.monoid, dtype)
        yield Cutter(monoids, len(members), store=store), members


def _times(column: pa.Array) -> Int64s:
    """Integers in memory of their own."""
    return np.array(column.fill_null(0).to_numpy(zero_copy_only=False), np.int64)


def _bools(column: pa.Array) -> Any:
    """A condition; null is not met."""
    return column.fill_null(False).to_numpy(zero_copy_only=False)


def _objects(column: pa.Array) -> Any:
    """Values as a class of the user's sees them: numbers where none is null, else objects."""
    if column.null_count == 0 and pa.types.is_primitive(column.type):
        return column.to_numpy(zero_copy_only=False)
    found = np.empty(len(column), object)
    found[:] = column.to_pylist()
    return found
