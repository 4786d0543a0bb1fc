"""A tree of periodic windows as the operator runs it: its state is levels of partials."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, islice
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from muntin.model.trees import PeriodicTree
from muntin.model.windows import Slicing, Window
from muntin.runtime.columns.keys import sort_slices
from muntin.runtime.periodic.tree import TreeRuntime, begins_between
from muntin.runtime.state.level_store import Level, columns_of
from muntin.runtime.state.levels import Levels, LevelSegments
from muntin.runtime.state.segments import Segment, SegmentAllocator
from muntin.runtime.state.stream_tree import EVENTS, Interval, StreamTree, TreeState, TreeStep
from muntin.runtime.storage.layout import Layout


@dataclass(frozen=True)
class PeriodicState(TreeState):
    """The levels of a tree: the slices, then coarser partials."""

    key: ClassVar[str] = "levels"

    levels: Sequence[LevelSegments] = field(default_factory=list)

    @property
    def numbers(self) -> list[int]:
        return [segment.number for level in self.levels for segment in level.segments]

    @property
    def sizes(self) -> list[tuple[int, int]]:
        return [
            (sum(s.rows for s in level.segments), sum(s.bytes for s in level.segments))
            for level in self.levels
        ]

    def to_json(self) -> list[Any]:
        return [_level_to_json(level) for level in self.levels]

    @staticmethod
    def from_json(data: list[Any]) -> "PeriodicState":
        return PeriodicState([_level_from_json(level) for level in data])


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
        nodes = tuple(replace(node, parent=None) for node in self.tree.nodes)
        return replace(self.tree, nodes=nodes, levels=())

    @cached_property
    def readers(self) -> dict[int, frozenset[Window]]:
        """The windows that queries ask for, by the finest level that they read."""
        readers: dict[int, set[Window]] = {}
        for node in self.tree.nodes:
            if node.queries:
                readers.setdefault(self.tree.level_of(node), set()).add(node.window)
        return {level: frozenset(windows) for level, windows in readers.items()}

    def step(
        self,
        state: TreeState | None,
        segments: SegmentAllocator,
        arrived: pa.Table | None,
        interval: Interval,
    ) -> TreeStep:
        kept = state.levels if isinstance(state, PeriodicState) else ()
        new = None
        if arrived is not None and arrived.num_rows:
            new = arrived.select(columns_of(self.layout))
        levels = Levels(segments, self.layout, self.levels, kept, interval=interval, arrived=new)
        return _PeriodicStep(self, levels, interval)

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
    def __init__(self, tree: PeriodicStreamTree, levels: Levels, interval: Interval) -> None:
        self._tree, self._levels, self._interval = tree, levels, interval

    def answers(self) -> Iterator[pa.RecordBatch]:
        layout, interval = self._tree.layout, self._interval
        for level, windows in self._tree.readers.items():
            begins = begins_between(windows, after=interval.given, until=interval.until)
            rows = self._levels.rows(level, begins) if begins else None
            if rows is not None:
                batch = sort_slices(rows, layout.key_columns, layout.start)
                runtime = TreeRuntime(self._tree.flat, layout, begins)
                yield from runtime.between(batch, begins)

    def keep(self) -> PeriodicState:
        state = PeriodicState(self._levels.keep())
        self.combined = self._levels.combined
        return state
