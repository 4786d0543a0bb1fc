"""A tree of data windows as the operator runs it: records wait for the watermark.

A record is an event with all that windows and aggregates look at. If events close together are
always in the same window, a record is a grain of time with their partials, as a slice is.

Windows are found in the order of time. So records wait in the store until the watermark has passed
them, and a record that comes after that is too late. Only where all windows are periodic, with
aggregates of the user's own, a late record still counts: their records are kept for as long as
windows are open (`record_store`), and a step with a late one finds all open windows anew.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from muntin.model.trees import DataTree
from muntin.model.windows import Slicing
from muntin.runtime.arrow_batches import from_bytes, to_bytes
from muntin.runtime.data_windows.read_records import RecordLayout
from muntin.runtime.data_windows.stream_step import StepResult, StreamSteps
from muntin.runtime.data_windows.tree import END
from muntin.runtime.periodic.rollups import INSTANTS, combine_into_cells
from muntin.runtime.state.record_store import RecordStore
from muntin.runtime.state.segments import Segment, SegmentAllocator
from muntin.runtime.state.stream_tree import (
    EVENTS,
    START,
    Interval,
    StreamTree,
    TreeState,
    TreeStep,
    concatenate,
)
from muntin.runtime.storage.layout import Layout

# Records that wait are written together once they are in so many places.
_MOST_PLACES = 8
# Before all instants.
_EVER = -(1 << 63)


@dataclass(frozen=True, kw_only=True)
class DataState(TreeState):
    """The open windows, the records that wait, and those that late records are sorted into."""

    key: ClassVar[str] = "records"

    # The number of the open windows in the store, and when the first is due.
    open: tuple[int, int | None] | None = None
    # Where records wait for the watermark, and where those of open windows are.
    waiting: list[int] = field(default_factory=list)
    kept: list[Segment] = field(default_factory=list)

    @property
    def numbers(self) -> list[int]:
        opened = [] if self.open is None else [self.open[0]]
        return [*opened, *self.waiting, *(segment.number for segment in self.kept)]

    def to_json(self) -> list[Any]:
        return [self.open, self.waiting, self.kept]

    @staticmethod
    def from_json(data: list[Any]) -> "DataState":
        opened, waiting, kept = data
        return DataState(
            open=None if opened is None else (opened[0], opened[1]),
            waiting=waiting,
            kept=[Segment(*segment) for segment in kept],
        )


@dataclass(frozen=True, kw_only=True)
class DataStreamTree(StreamTree):
    """A tree of data windows, and where the columns of its records are."""

    tree: DataTree
    layout: Layout = field(init=False)
    record_layout: RecordLayout
    # The column and the type of what windows look at, by the name that they know it by.
    columns: Mapping[str, tuple[str, pa.DataType]] = field(default_factory=dict)
    # How grains arrive, which are slices with their first and their last instant.
    grains: Layout | None = None
    # It takes no records from before this; None if it has seen all.
    since: int | None = None
    # Queries that have joined the tree while it ran, and the instant from which on they see its
    # records.
    joined: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "layout", self.record_layout.layout)

    @property
    def slices(self) -> tuple[Layout, Slicing] | None:
        slicing = self.tree.grains
        return None if self.grains is None or slicing is None else (self.grains, slicing)

    def stages(self, after: int, until: int) -> Iterator[tuple["DataStreamTree", int]]:
        """Yields the tree as it applies to records from one instant to another, in stages.

        Each stage ends where queries join, and the last one at `until`.
        """
        for instant in sorted({at for at in self.joined.values() if after < at <= until}):
            yield self._before(instant), instant
        yield self._before(until + 1), until

    def _before(self, instant: int) -> "DataStreamTree":
        """Returns the tree without the queries that join at an instant or later."""
        nodes = tuple(
            node for node in self.tree.nodes if self.joined.get(node.queries[0], _EVER) < instant
        )
        if len(nodes) == len(self.tree.nodes):
            return self
        tree = replace(self.tree, nodes=nodes)
        layout = self.record_layout.of_tree(tree)
        grains = self.grains and replace(
            self.grains, storages=(*self.grains.storages[:2], *layout.layout.storages)
        )
        names = layout.names
        return replace(
            self,
            tree=tree,
            record_layout=layout,
            columns={name: self.columns[name] for name in self.columns if name in names},
            grains=grains,
        )

    @property
    def arriving_columns(self) -> tuple[str, ...]:
        """The names of the columns that arrive for it: keys, the instant or the start of a grain,
        what records carry."""
        keys = self.layout.key_columns
        if self.grains is None:
            return tuple(dict.fromkeys((*keys, START, *(c for c, _ in self.columns.values()))))
        components = (name for entry in self.grains.storages for name in entry.columns)
        return (*keys, START, *components, EVENTS)

    @property
    def keeps(self) -> int | None:
        """How long records are kept, since late ones still count; None where they do not."""
        if self.tree.record_step is not None:
            return None
        return max(window.size for window in self.tree.periodic_windows)

    def release_time(self, watermark: int) -> int:
        """Returns the instant before which all records have arrived."""
        return watermark - watermark % (self.tree.record_step or 1)

    def records(self, table: pa.Table) -> pa.RecordBatch:
        """Returns rows that have arrived as records; there are some."""
        layout = self.layout
        if self.grains is None:
            columns = {name: table.column(name) for name in (*layout.key_columns, START)}
            for name, (column, kind) in self.columns.items():
                columns[name] = _decode(table.column(column), kind)
            records = pa.table(columns)
        else:
            # Parts of a grain may have arrived one by one.
            records = combine_into_cells(table, self.grains, INSTANTS)
        if self.since is not None:
            records = records.filter(pc.greater_equal(records.column(layout.start), self.since))
        batches = records.combine_chunks().to_batches()
        return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=records.schema)

    def step(
        self,
        state: TreeState | None,
        segments: SegmentAllocator,
        arrived: pa.Table | None,
        interval: Interval,
    ) -> TreeStep:
        known = state if isinstance(state, DataState) else DataState()
        return _DataStep(self, known, segments, arrived, interval)


class _DataStep(TreeStep):
    def __init__(
        self,
        tree: DataStreamTree,
        known: DataState,
        allocator: SegmentAllocator,
        arrived: pa.Table | None,
        interval: Interval,
    ) -> None:
        self._tree, self._known, self._allocator = tree, known, allocator
        self._arrived = arrived if arrived is not None and arrived.num_rows else None
        self._given, self._until = interval.given, interval.until
        self._released = tree.release_time(self._until)
        self._before = tree.release_time(self._given)
        self._state = known

    def answers(self) -> Iterator[pa.RecordBatch]:
        answers, self._state = self._run()
        yield from answers

    def keep(self) -> DataState:
        return self._state

    def _run(self) -> tuple[list[pa.RecordBatch], DataState]:
        """Returns the answers, and what to remember."""
        new = self._arrived
        late = None
        if new is not None:
            is_late = pc.less(new.column(START), self._before)
            late, new = new.filter(is_late), new.filter(pc.invert(is_late))
        passed, waiting = self._take_passed(new)
        if self._tree.keeps is None:
            stepped = self._step(passed)
            kept = []
        else:
            records = RecordStore(self._allocator, self._known.kept, keep=self._tree.keeps)
            late = None if late is None else records.records_to_keep(late, self._given)
            stepped = (
                self._step(passed)
                if late is None
                else self._step_anew([*records.all(), late], passed)
            )
            kept = records.keep([late, passed], self._until)
        opened = self._known.open
        if stepped is None:
            return [], DataState(open=opened, waiting=waiting, kept=kept)
        if opened is not None:
            self._allocator.remove(opened[0])
        left = None if stepped.state is None else self._allocator.write(stepped.state)
        is_open = None if left is None else (left, stepped.due)
        return stepped.answers, DataState(open=is_open, waiting=waiting, kept=kept)

    def _take_passed(self, new: pa.Table | None) -> tuple[pa.Table | None, list[int]]:
        """Returns the records that the watermark has just passed, and where the others wait."""
        rows = [] if new is None else [new]
        places = list(self._known.waiting)
        if self._released > self._before or len(places) >= _MOST_PLACES:
            rows = [*(from_bytes(self._allocator.bytes(place)) for place in places), *rows]
            for place in places:
                self._allocator.remove(place)
            places = []
        table = concatenate(rows)
        if table is None:
            return None, places
        is_passed = pc.less(table.column(START), self._released)
        left = table.filter(pc.invert(is_passed))
        if left.num_rows:
            places.append(self._allocator.write(to_bytes(left)))
        return table.filter(is_passed), places

    def _step(self, passed: pa.Table | None) -> StepResult | None:
        """Hand records on to what is open; returns None if nothing changes."""
        known = self._known.open
        is_due = known is not None and known[1] is not None and known[1] <= self._released
        stages = list(self._tree.stages(self._before, self._released))
        has_passed = passed is not None and passed.num_rows
        if not has_passed and not is_due and len(stages) == 1:
            return None
        state = None if known is None else self._allocator.bytes(known[0])
        answers: list[pa.RecordBatch] = []
        due, after = None, self._before
        for tree, until in stages:
            rows = None if passed is None else _rows_between(passed, after, until)
            records = tree.records(rows) if rows is not None and rows.num_rows else None
            # What is known is written without windows that have left, before others join.
            stepped = StreamSteps(tree.tree, tree.record_layout).step(state, records, until)
            answers += stepped.answers
            state, due, after = stepped.state, stepped.due, until
        return StepResult(answers=answers, state=state, due=due)

    def _step_anew(self, before: Iterable[pa.Table], passed: pa.Table | None) -> StepResult | None:
        """Find all open windows anew, and leave out the answers that are out already."""
        table = concatenate([*before, passed])
        records = None if table is None else self._tree.records(table)
        if records is None or not records.num_rows:
            return self._step(passed)
        stepper = StreamSteps(self._tree.tree, self._tree.record_layout)
        stepped = stepper.step(None, records, self._released)
        answers = [
            answer.filter(pc.greater(answer.column(END), self._given)) for answer in stepped.answers
        ]
        return StepResult(answers=answers, state=stepped.state, due=stepped.due)


def _rows_between(table: pa.Table, after: int, until: int) -> pa.Table:
    """Returns the rows from an instant on and before another."""
    starts = table.column(START)
    return table.filter(pc.and_(pc.greater_equal(starts, after), pc.less(starts, until)))


def _decode(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Returns a column in its own type; it arrives in the type of its kind."""
    if pa.types.is_date(kind):
        column = column.cast(pa.int32())
    return column.cast(kind)
