"""The levels of a tree in one batch: what is new in each, and which rows a window reads.

Slices go into level 0 as they arrive. When the watermark passes the end of a cell, the cell is made
of the rows of the level before, and goes into its own level. A slice that comes for a cell which
was made already goes into that level, too, as one more row of the cell. So a level has all that
arrived for the cells which the watermark has passed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.model.windows import Window
from muntin.runtime.periodic.node import END
from muntin.runtime.periodic.rollups import combine_into_cells, is_cut
from muntin.runtime.state.level_store import (
    Level,
    LevelStore,
    conform,
    starting_in,
    starts_of,
)
from muntin.runtime.state.segments import Segment, SegmentAllocator
from muntin.runtime.state.spans import Spans
from muntin.runtime.state.stream_tree import Interval, concatenate
from muntin.runtime.storage.layout import Layout


@dataclass(frozen=True, kw_only=True)
class LevelSegments:
    """A level, and the segments in which its rows are."""

    level: Level
    segments: list[Segment]


class Levels:
    """The levels of a tree in the step of a batch; `kept` is what the step before stored."""

    def __init__(
        self,
        allocator: SegmentAllocator,
        layout: Layout,
        levels: Sequence[Level],
        kept: Sequence[LevelSegments],
        *,
        interval: Interval,
        arrived: pa.Table | None,
    ) -> None:
        self._layout, self._levels = layout, levels
        given, self._until = interval.given, interval.until
        # How many rows were combined into cells.
        self.combined = 0
        known = {each.level.cells: each.segments for each in kept}
        self._stores = [
            LevelStore(allocator, layout, level, known.get(level.cells, []), self._until)
            for level in self._levels
        ]
        if kept and [each.level for each in kept] != list(self._levels):
            self._make_anew(allocator, kept, given)
        # What this batch adds to each level.
        self._new: list[pa.Table | None] = [arrived]
        for number in range(1, len(self._levels)):
            self._new.append(self._new_cells(number, given))

    def rows(self, finest: int, begins: Mapping[Window, tuple[int, int]]) -> pa.Table | None:
        """Returns rows that fill windows: of a level, and coarser ones where they lie inside.

        `begins` has the first and the last begin that each window is asked for. There may be other
        rows among them. None if there are none.
        """
        end = max(last + window.size for window, (_, last) in begins.items())
        begin = min(window.start_of(first) for window, (first, _) in begins.items())
        spans = Spans.of(begin, end)
        found = []
        for number in range(len(self._levels) - 1, finest, -1):
            level = self._levels[number]
            # The watermark has passed no other cells.
            table = self._at(number, spans.before(level.start_of(self._until)))
            if table is not None:
                starts = starts_of(table, self._layout)
                cells = np.unique(starts)
                whole = cells[~is_cut(cells, level.width, begins)]
                found.append(table.filter(pa.array(np.isin(starts, whole))))
                spans = spans.without(whole, level.width)
        found.append(self._at(finest, spans))
        return concatenate(found)

    def new_rows(self, number: int, until: int) -> pa.Table | None:
        """Returns what this batch adds to a level before an instant."""
        new = self._new[number]
        return None if new is None else starting_in(Spans.of(-END, until), new, self._layout)

    def keep(self) -> list[LevelSegments]:
        """Drop what has expired, keep what is new, and return where everything is."""
        kept = []
        for level, store, new in zip(self._levels, self._stores, self._new, strict=True):
            first = level.kept_from(self._until)
            store.drop(first)
            if new is not None:
                left = new.filter(pc.greater_equal(new.column(self._layout.start), first))
                if left.num_rows:
                    store.add(left)
            kept.append(LevelSegments(level=level, segments=store.segments))
        return kept

    def _new_cells(self, number: int, given: int) -> pa.Table | None:
        """Returns rows for the cells that the watermark has just passed, and late ones."""
        level = self._levels[number]
        first, end = level.start_of(given), level.start_of(self._until)
        passed = [] if first == end else list(self._stores[number - 1].rows(Spans.of(first, end)))
        new = self._new[number - 1]
        if new is not None:
            passed.append(starting_in(Spans.of(-END, end), new, self._layout))
        rows = concatenate(passed)
        if rows is None:
            return None
        assert level.cells is not None
        self.combined += rows.num_rows
        return combine_into_cells(rows, self._layout, level.cells)

    def _at(self, number: int, spans: Spans) -> pa.Table | None:
        """Returns the rows of a level that start in some spans."""
        if not spans:
            return None
        new = self._new[number]
        tables = list(self._stores[number].rows(spans))
        if new is not None:
            tables.append(starting_in(spans, new, self._layout))
        return concatenate(tables)

    def _make_anew(
        self, allocator: SegmentAllocator, kept: Sequence[LevelSegments], given: int
    ) -> None:
        """Make all levels from those of an earlier plan, as finely as its rows allow.

        Its rows may be wider than the cells of a level. Each counts for the cell that it starts in:
        no window that is complete has an edge inside it.
        """
        finest: list[pa.Table] = []
        end = END
        for old, begin in zip(kept, finest_from([each.level for each in kept], given), strict=True):
            spans = Spans.of(begin, end)
            for segment in old.segments:
                if spans.meet(segment.first, segment.last):
                    table = conform(allocator.read(segment.number), self._layout)
                    finest.append(starting_in(spans, table, self._layout))
            end = begin
        for segment in (segment for old in kept for segment in old.segments):
            allocator.remove(segment.number)
        self._stores = [
            LevelStore(allocator, self._layout, level, [], self._until) for level in self._levels
        ]
        rows = concatenate(finest)
        if rows is None:
            return
        for level, store in zip(self._levels, self._stores, strict=True):
            made: pa.Table | None = rows
            if level.cells is not None:
                made = starting_in(Spans.of(-END, level.start_of(given)), rows, self._layout)
                made = (
                    combine_into_cells(made, self._layout, level.cells) if made.num_rows else None
                )
            if made is not None:
                starts = made.column(self._layout.start)
                made = made.filter(pc.greater_equal(starts, level.kept_from(given)))
                if made.num_rows:
                    store.add(made)


def finest_from(levels: Sequence[Level], watermark: int) -> list[int]:
    """Returns, for each level, the edge from which on it is the finest that has all rows."""
    found = [-END]
    for level, above in reversed(list(pairwise(levels))):
        first = level.kept_from(watermark)
        begin = above.start_of(first)
        found.append(max(found[-1], begin if begin == first else begin + above.width))
    return found[::-1]
