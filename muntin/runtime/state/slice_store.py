"""The retained slices of one lane: a batch writes new ones, and reads what its windows need.

A batch adds a segment. Eight segments are merged into one, in which a slice of several batches is
one row, and combined into cells (`rollups`).
Eight merged ones are merged again while that stays short beside what is retained. So a window that
closes reads the segments at its begin and its end, and the cells between, whose number does not
depend on how much is retained. Segments whose slices have all expired are dropped whole.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.model.windows.window import Window
from muntin.runtime.periodic.rollups import Rollups, cells_of, combined, is_cut, width_for
from muntin.runtime.state.lane import Lane, conformed
from muntin.runtime.state.segments import Segment, Store, from_bytes, to_bytes

# How many segments of one level are merged into one of the next.
FAN = 8
# The most cells that a merged segment spans, and the most rows that it has.
_CELLS_IN_A_SEGMENT = 2
_MOST_ROWS = 1 << 17


class SliceStore:
    """Segments and cells of a lane in a store; `number` is the next that is free there."""

    def __init__(
        self,
        store: Store,
        lane: Lane,
        *,
        segments: list[Segment],
        cells: Rollups | None,
        number: int,
    ) -> None:
        self._store = store
        self._lane = lane
        self._width = width_for(lane.span)
        self.segments = segments
        self.cells = cells
        self.number = number
        if cells is not None and cells.width != self._width:
            # Slices are kept for longer, or shorter, than before: make new cells.
            self._forget_cells()
            self.segments = [replace(segment, level=0) for segment in segments]

    def rows(self, begins: Mapping[Window, tuple[int, int]]) -> Iterator[pa.Table]:
        """Yields the slices and cells of some windows; there may be others among them.

        `begins` has the first and the last begin that each window is asked for.
        """
        first = min(first for first, last in begins.values() if first <= last)
        reached = [segment for segment in self.segments if segment.last >= first]
        for segment in reached:
            if segment.level == 0:
                table = self._read(segment.number)
                yield table if segment.first >= first else table.filter(self._from(table, first))
        merged = [segment for segment in reached if segment.level > 0]
        if not merged:
            return
        assert self.cells is not None
        cells = self._read(self.cells.number)
        cell_begins, places = np.unique(self._starts(cells), return_inverse=True)
        near, cut = cell_begins + self._width > first, is_cut(cell_begins, self._width, begins)
        yield cells.filter(pa.array((near & ~cut)[places]))
        told_apart = cell_begins[near & cut]
        for segment in merged:
            here = (told_apart <= segment.last) & (told_apart + self._width > segment.first)
            if here.any():
                table = self._read(segment.number)
                inside = np.isin(cells_of(self._starts(table), self._width), told_apart[here])
                yield table.filter(pc.and_(pa.array(inside), self._from(table, first)))

    def add(self, table: pa.Table) -> None:
        """Keep more slices."""
        self._write_segment(table, level=0)
        loose = [segment for segment in self.segments if segment.level == 0]
        if len(loose) >= FAN:
            self._settle(loose)

    def drop(self, before: int) -> None:
        """Forget the segments all of whose slices start before an instant."""
        self._remove([segment for segment in self.segments if segment.last < before])
        if not any(segment.level > 0 for segment in self.segments):
            self._forget_cells()

    def _settle(self, loose: list[Segment]) -> None:
        """Put loose segments into cells, and merge them where that gives short ones."""
        tables = {segment.number: self._read(segment.number) for segment in loose}
        rows = [*tables.values()]
        if self.cells is not None:
            cells = self._read(self.cells.number)
            oldest = min(segment.first for segment in self.segments)
            # Leave out cells whose slices have all expired.
            rows.append(cells.filter(self._from(cells, oldest - self._width + 1)))
            self._forget_cells()
        table = pa.concat_tables(rows, promote_options="permissive")
        self.cells = Rollups(
            number=self._put(combined(table, self._lane.layout, self._width)), width=self._width
        )
        for first in range(0, len(loose), FAN):
            self._merge(loose[first : first + FAN], level=1)
        level = 1
        while self._is_short(
            alike := [segment for segment in self.segments if segment.level == level][-FAN:]
        ):
            self._merge(alike, level=level + 1)
            level += 1

    def _is_short(self, segments: list[Segment]) -> bool:
        """Whether there are enough segments to merge, and together they are short."""
        if len(segments) < FAN:
            return False
        length = max(segment.last for segment in segments) - min(
            segment.first for segment in segments
        )
        is_short = length <= _CELLS_IN_A_SEGMENT * self._width
        return is_short and sum(segment.rows for segment in segments) <= _MOST_ROWS

    def _merge(self, segments: list[Segment], *, level: int) -> None:
        """Merge segments into one of a level, or, if it would be too long, only set their level."""
        if self._is_short(segments):
            tables = [from_bytes(self._store.read(segment.number)) for segment in segments]
            self._remove(segments)
            table = pa.concat_tables(tables, promote_options="default")
            # Columns that earlier plans kept stay, whatever this plan keeps, and are not combined.
            if set(table.column_names) == set(self._lane.columns):
                table = combined(table, self._lane.layout, width=1)
            self._write_segment(table, level=level)
        else:
            self.segments = [
                replace(segment, level=level) if segment in segments else segment
                for segment in self.segments
            ]

    def _write_segment(self, table: pa.Table, *, level: int) -> None:
        ends = pc.min_max(table.column(self._lane.layout.start)).as_py()
        segment = Segment(
            number=self._put(table),
            level=level,
            rows=table.num_rows,
            first=ends["min"],
            last=ends["max"],
        )
        self.segments = [*self.segments, segment]

    def _put(self, table: pa.Table) -> int:
        number = self.number
        self._store.write(number, to_bytes(table))
        self.number += 1
        return number

    def _remove(self, segments: list[Segment]) -> None:
        for segment in segments:
            self._store.remove(segment.number)
        self.segments = [segment for segment in self.segments if segment not in segments]

    def _forget_cells(self) -> None:
        if self.cells is not None:
            self._store.remove(self.cells.number)
            self.cells = None

    def _read(self, number: int) -> pa.Table:
        return conformed(from_bytes(self._store.read(number)), self._lane)

    def _starts(self, table: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return table.column(self._lane.layout.start).to_numpy()  # type: ignore[no-any-return]

    def _from(self, table: pa.Table, start: int) -> pa.ChunkedArray:
        return pc.greater_equal(table.column(self._lane.layout.start), start)
