"""The partials of one level of a tree: a batch adds new ones, and reads those of some spans.

A batch adds a segment. Eight segments are merged into one, in which what several batches had of a
cell is one row and a value of a set has its latest entry, and eight merged ones again while that
stays short beside what is kept. So a window reads only the segments at the spans that it needs.
Segments that have expired are dropped whole. Rows that are far behind the others of their batch
have segments of their own, which are merged however long they are: else every late row would make a
long segment of new ones.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from muntin.model.windows import Window
from muntin.runtime.columns.partials import Int64s
from muntin.runtime.periodic.rollups import INSTANTS, combine_into_cells
from muntin.runtime.state.segments import Segment, SegmentAllocator
from muntin.runtime.state.spans import Spans
from muntin.runtime.storage.layout import Layout

# How many segments are merged into one.
FAN = 8
# How many segments of the longest length, at least, make up all that is kept.
PARTS = 8
# The most rows that a merged segment has.
_MOST_ROWS = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Level:
    """A level of a tree's state: the slices, or the partials of a tumbling window, its cells."""

    # None: the slices.
    cells: Window | None
    # How far behind the watermark a row may start and still be kept, in microseconds.
    keep: int

    @property
    def width(self) -> int:
        """The width of its cells."""
        assert self.cells is not None
        return self.cells.size

    def start_of(self, instant: int) -> int:
        """Returns the begin of the cell that an instant is in.

        For a watermark that is the end of the last cell that it has passed.
        """
        assert self.cells is not None
        return instant - (instant - self.cells.offset) % self.cells.size

    def kept_from(self, watermark: int) -> int:
        """Returns the first start that is kept."""
        return watermark - self.keep + 1


class LevelStore:
    """The rows of a level, in segments; `watermark` is that of the batch."""

    def __init__(
        self,
        allocator: SegmentAllocator,
        layout: Layout,
        level: Level,
        segments: list[Segment],
        watermark: int,
    ) -> None:
        self._allocator = allocator
        self._watermark = watermark
        self._layout = layout
        self._length = level.keep // PARTS
        self.segments = segments

    def rows(self, spans: Spans) -> Iterator[pa.Table]:
        """Yields the rows that start in some spans."""
        for segment in self.segments:
            if spans.meet(segment.first, segment.last):
                table = conform(self._allocator.read(segment.number), self._layout)
                yield starting_in(spans, table, self._layout)

    def add(self, table: pa.Table) -> None:
        """Keep more rows; there are some."""
        starts = starts_of(table, self._layout)
        is_behind = starts < starts.max() - self._length
        if is_behind.any():
            self._write(table.filter(pa.array(is_behind)), rank=0)
            table = table.filter(pa.array(~is_behind))
        self._write(table, rank=0)
        for is_long in (False, True):
            rank = 0
            while self._merge(is_long=is_long, rank=rank):
                rank += 1

    def drop(self, before: int) -> None:
        """Forget rows that start before an instant: whole segments, and half of a long one."""
        for segment in self.segments:
            if segment.last < before:
                self._remove([segment])
            elif self._is_long(segment) and 2 * before > segment.first + segment.last:
                table = self._allocator.read(segment.number)
                left = table.filter(pc.greater_equal(table.column(self._layout.start), before))
                if 2 * left.num_rows <= table.num_rows:
                    self._remove([segment])
                    self._write(left, rank=segment.rank)

    def _is_long(self, segment: Segment) -> bool:
        return segment.last - segment.first > self._length

    def _merge(self, *, is_long: bool, rank: int) -> bool:
        """Merge segments of a rank if there are enough; short ones only if the result is short."""
        alike = [
            each for each in self.segments if each.rank == rank and self._is_long(each) == is_long
        ][-FAN:]
        if len(alike) < FAN or sum(each.rows for each in alike) > _MOST_ROWS:
            return False
        length = max(each.last for each in alike) - min(each.first for each in alike)
        if length > self._length and not is_long:
            return False
        tables = [conform(self._allocator.read(each.number), self._layout) for each in alike]
        self._remove(alike)
        together = pa.concat_tables(tables, promote_options="permissive")
        merged = combine_into_cells(together, self._layout, INSTANTS)
        self._write(self._layout.without_superseded(merged, self._watermark), rank=rank + 1)
        return True

    def _write(self, table: pa.Table, *, rank: int) -> None:
        segment = self._allocator.put(table, self._layout.start, rank=rank)
        self.segments = [*self.segments, segment]

    def _remove(self, segments: list[Segment]) -> None:
        for segment in segments:
            self._allocator.remove(segment.number)
        self.segments = [segment for segment in self.segments if segment not in segments]


def starts_of(table: pa.Table, layout: Layout) -> Int64s:
    """Returns the starts of rows."""
    starts: Int64s = table.column(layout.start).to_numpy()
    return starts


def starting_in(spans: Spans, table: pa.Table, layout: Layout) -> pa.Table:
    """Returns the rows that start in some spans."""
    inside = spans.hold(starts_of(table, layout))
    return table if inside.all() else table.filter(pa.array(inside))


def columns_of(layout: Layout) -> tuple[str, ...]:
    """Returns the names of the columns of partials: keys, start, components."""
    components = (name for entry in layout.storages for name in entry.columns)
    return (*layout.key_columns, layout.start, *components)


def conform(table: pa.Table, layout: Layout) -> pa.Table:
    """Returns stored rows with the columns of a layout, null where an earlier plan had none.

    No answer reads such a null: a query is complete only from where all it reads is kept.
    """
    missing = {
        name: pa.nulls(table.num_rows, entry.arrow_type)
        for entry in layout.storages
        for name in entry.columns
        if name not in table.column_names
    }
    return pa.table(
        {
            name: missing[name] if name in missing else table.column(name)
            for name in columns_of(layout)
        }
    )
