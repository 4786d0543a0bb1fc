"""A tree of periodic windows as the operator runs it.

Its state is levels of partials, from which the windows that close are combined. Some windows have
two stacks beside the levels, if the plan names them as their technique.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, islice
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from muntin.model.trees import QUEUE, RECALC, STACKS, Node, PeriodicTree
from muntin.model.windows import Slicing, Window
from muntin.runtime.columns.keys import sort_slices
from muntin.runtime.periodic.tree import BEGIN, TreeRuntime, answer_rows, begins_between
from muntin.runtime.state.level_store import Level, columns_of
from muntin.runtime.state.levels import Levels, LevelSegments
from muntin.runtime.state.segments import Segment, SegmentAllocator
from muntin.runtime.state.stream_tree import EVENTS, Interval, StreamTree, TreeState, TreeStep
from muntin.runtime.state.window_stacks import StacksState, WindowStacks
from muntin.runtime.storage.layout import Layout, all_slots, node_numbers


@dataclass(frozen=True)
class PeriodicState(TreeState):
    """The levels of a tree, which are the slices, then coarser partials; the stacks of windows."""

    key: ClassVar[str] = "levels"

    levels: Sequence[LevelSegments] = field(default_factory=list)
    stacks: Sequence[StacksState] = field(default_factory=list)

    @property
    def numbers(self) -> list[int]:
        return [segment.number for part in self._parts for segment in part]

    @property
    def sizes(self) -> list[tuple[int, int]]:
        return [(sum(s.rows for s in part), sum(s.bytes for s in part)) for part in self._parts]

    @property
    def _parts(self) -> list[list[Segment]]:
        stacks = [segment for each in self.stacks for segment in each.segments]
        return [*(level.segments for level in self.levels), stacks]

    def to_json(self) -> dict[str, Any]:
        return {
            "levels": [_level_to_json(level) for level in self.levels],
            "stacks": [each.to_json() for each in self.stacks],
        }

    @staticmethod
    def from_json(data: Any) -> "PeriodicState":
        if isinstance(data, list):
            # An earlier muntin stored levels alone.
            data = {"levels": data, "stacks": []}
        return PeriodicState(
            levels=[_level_from_json(level) for level in data["levels"]],
            stacks=[StacksState.from_json(each) for each in data["stacks"]],
        )


def _level_to_json(kept: LevelSegments) -> list[Any]:
    cells = kept.level.cells
    of_cells = None if cells is None else [cells.size, cells.offset]
    return [of_cells, kept.level.keep, kept.segments]


def _level_from_json(data: list[Any]) -> LevelSegments:
    of_cells, keep, segments = data
    cells = of_cells and Window(size=of_cells[0], slide=of_cells[0], offset=of_cells[1])
    level = Level(cells=cells, keep=keep)
    return LevelSegments(level=level, segments=[Segment(*each) for each in segments])


@dataclass(frozen=True, kw_only=True)
class PeriodicStreamTree(StreamTree):
    """A tree of periodic windows; a late slice counts for every window that is still open."""

    tree: PeriodicTree
    # How long slices are kept at least, for queries to come; microseconds.
    retain: int = 0

    @property
    def slices(self) -> tuple[Layout, Slicing]:
        return self.layout, self.tree.slicing

    @property
    def arriving_columns(self) -> tuple[str, ...]:
        return (*columns_of(self.layout), EVENTS)

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """The slices, then the levels of the tree."""
        # A coarser level is kept for as long as finer ones, since it costs little. A finer one is
        # kept for a cell of the next one longer: a change of levels takes over whole cells.
        needed = islice(accumulate(self.tree.retention, max, initial=self.retain), 1, None)
        longer = (*(window.size for window in self.tree.levels), 0)
        return tuple(
            Level(cells=cells, keep=keep + more)
            for cells, keep, more in zip((None, *self.tree.levels), needed, longer, strict=True)
        )

    @cached_property
    def flat(self) -> PeriodicTree:
        """The tree with all nodes reading rows of slices and cells, which its levels choose."""
        nodes = tuple(_reading_slices(node) for node in self.tree.nodes)
        return replace(self.tree, nodes=nodes, levels=())

    def layout_of(self, node: Node) -> Layout:
        """Returns the columns of the partials of a node."""
        own = {part for aggregate in node.aggregates for part in aggregate.components}
        storages = tuple(each for each in self.layout.storages if each.component in own)
        return replace(self.layout, storages=storages)

    def step(
        self,
        state: TreeState | None,
        segments: SegmentAllocator,
        arrived: pa.Table | None,
        interval: Interval,
    ) -> TreeStep:
        known = state if isinstance(state, PeriodicState) else PeriodicState()
        new = None
        if arrived is not None and arrived.num_rows:
            new = arrived.select(columns_of(self.layout))
        levels = Levels(
            segments, self.layout, self.levels, known.levels, interval=interval, arrived=new
        )
        return _PeriodicStep(self, known, levels, segments, interval)

    def count_arrived(self, table: pa.Table) -> tuple[int, int] | None:
        keys = list(self.layout.key_columns)
        live = 1
        if keys:
            live = table.select(keys).group_by(keys, use_threads=False).aggregate([]).num_rows
        return pc.sum(table.column(EVENTS)).as_py(), live

    def with_columns(self, columns: Mapping[int, Sequence[str]]) -> "PeriodicStreamTree":
        storages = list(self.layout.storages)
        for place, names in columns.items():
            storages[place] = replace(storages[place], columns=tuple(names))
        return replace(self, layout=replace(self.layout, storages=tuple(storages)))


class _PeriodicStep(TreeStep):
    def __init__(
        self,
        tree: PeriodicStreamTree,
        known: PeriodicState,
        levels: Levels,
        allocator: SegmentAllocator,
        interval: Interval,
    ) -> None:
        self._tree, self._levels, self._allocator = tree, levels, allocator
        self._begins = begins_between(
            tree.tree.periodic_windows, after=interval.given, until=interval.until
        )
        stored = {each.window: each for each in known.stacks}
        self._stacks = {
            node.window: WindowStacks(
                node.window,
                tree.layout_of(node),
                allocator,
                stored.pop(node.window, None),
                levels=levels,
                level=level,
                cell=tree.tree.suffix_cell(node),
                interval=interval,
            )
            for level, nodes in tree.tree.readers.items()
            for node in nodes
            if node.has_stacks
        }
        # Those of windows that have no stacks any more.
        self._gone = [segment for each in stored.values() for segment in each.segments]

    def answers(self) -> Iterator[pa.RecordBatch]:
        for level, nodes in self._tree.tree.readers.items():
            begins = {}
            for node in nodes:
                stacks = self._stacks.get(node.window)
                if stacks is not None and stacks.can_answer:
                    yield from self._answers_of(node, stacks)
                elif node.window in self._begins:
                    begins[node.window] = self._begins[node.window]
            rows = self._levels.rows(level, begins) if begins else None
            if rows is not None:
                self.combined += rows.num_rows
                layout = self._tree.layout
                batch = sort_slices(rows, layout.key_columns, layout.start)
                runtime = TreeRuntime(self._tree.flat, layout, begins)
                yield from runtime.between(batch, begins)

    def _answers_of(self, node: Node, stacks: WindowStacks) -> Iterator[pa.RecordBatch]:
        tree, layout = self._tree.tree, self._tree.layout
        number, slots = node_numbers(tree)[node.window], all_slots(tree, layout)
        own = self._tree.layout_of(node)
        for table in stacks.answers():
            for batch in table.combine_chunks().to_batches():
                fields = {name: batch.column(name) for name in layout.key_columns}
                fields[BEGIN] = batch.column(layout.start)
                columns = {each.component: each.read(batch) for each in own.storages}
                yield answer_rows(number, node, layout, slots, fields, columns)

    def keep(self) -> PeriodicState:
        for segment in self._gone:
            self._allocator.remove(segment.number)
        stacks = [each.keep() for each in self._stacks.values()]
        levels = self._levels.keep()
        self.combined += self._levels.combined
        self.combined += sum(each.combined for each in self._stacks.values())
        return PeriodicState(levels, [each for each in stacks if each is not None])


def _reading_slices(node: Node) -> Node:
    """Returns a node that reads slices, or cells of levels, in every batch.

    Where one interval ends in a batch, two stacks combine its rows once, as `recalc` does. If many
    end, as when a stream catches up, they do not combine a row for each of them.
    """
    queues = {RECALC, *STACKS}
    techniques = tuple(
        tuple(QUEUE if name in queues and not node.window.grows else name for name in names)
        for names in node.techniques
    )
    return replace(node, parent=None, techniques=techniques)
