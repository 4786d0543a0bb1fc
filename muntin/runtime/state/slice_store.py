"""The retained slices of one lane: a batch writes what is new, and reads what its windows cut.

A batch adds a run. Eight of them are settled together: merged into one run, and combined into cells
(`cells`). Eight merged ones are merged again while that stays short beside what is retained. So a
window that closes reads the runs at its begin and its end, and cells between, of which there are as
many however much is retained. Runs whose slices have all expired are dropped whole.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.model.windows.window import Window
from muntin.runtime.periodic.rollups import Cells, cells_of, combined, is_cut, width_for
from muntin.runtime.state.lane import Lane, conformed
from muntin.runtime.state.segments import Run, Store, from_bytes, to_bytes

# So many runs of one level become one of the next.
FAN = 8
# A merged run is at most so many cells long, and has at most so many rows.
_CELLS_IN_A_RUN = 2
_MOST_ROWS = 1 << 17


class Retained:
    """Runs and cells of a lane in a store; `number` is the next that is free there."""

    def __init__(
        self, store: Store, lane: Lane, *, runs: list[Run], cells: Cells | None, number: int
    ) -> None:
        self._store = store
        self._lane = lane
        self._width = width_for(lane.span)
        self.runs = runs
        self.cells = cells
        self.number = number
        if cells is not None and cells.width != self._width:
            # Slices are kept for longer, or shorter, than before: cells are made anew.
            self._forget_cells()
            self.runs = [replace(run, level=0) for run in runs]

    def rows(self, begins: Mapping[Window, tuple[int, int]]) -> Iterator[pa.Table]:
        """All that some windows hold, as slices and cells; there may be more among them.

        `begins` has the first and the last begin that each window is asked for.
        """
        first = min(first for first, last in begins.values() if first <= last)
        reached = [run for run in self.runs if run.last >= first]
        for run in reached:
            if run.level == 0:
                table = self._read(run.number)
                yield table if run.first >= first else table.filter(self._from(table, first))
        settled = [run for run in reached if run.level > 0]
        if not settled:
            return
        assert self.cells is not None
        cells = self._read(self.cells.number)
        found, places = np.unique(self._starts(cells), return_inverse=True)
        near, cut = found + self._width > first, is_cut(found, self._width, begins)
        yield cells.filter(pa.array((near & ~cut)[places]))
        told_apart = found[near & cut]
        for run in settled:
            here = (told_apart <= run.last) & (told_apart + self._width > run.first)
            if here.any():
                table = self._read(run.number)
                inside = np.isin(cells_of(self._starts(table), self._width), told_apart[here])
                yield table.filter(pc.and_(pa.array(inside), self._from(table, first)))

    def add(self, table: pa.Table) -> None:
        """Keep more slices."""
        self._write_run(table, level=0)
        loose = [run for run in self.runs if run.level == 0]
        if len(loose) >= FAN:
            self._settle(loose)

    def drop(self, before: int) -> None:
        """Forget the runs all of whose slices start before an instant."""
        self._remove([run for run in self.runs if run.last < before])
        if not any(run.level > 0 for run in self.runs):
            self._forget_cells()

    def _settle(self, loose: list[Run]) -> None:
        """Put loose runs into cells, and merge them where that gives short ones."""
        tables = {run.number: self._read(run.number) for run in loose}
        rows = [*tables.values()]
        if self.cells is not None:
            cells = self._read(self.cells.number)
            oldest = min(run.first for run in self.runs)
            # Cells all of whose slices have expired are left out.
            rows.append(cells.filter(self._from(cells, oldest - self._width + 1)))
            self._forget_cells()
        table = pa.concat_tables(rows, promote_options="permissive")
        self.cells = Cells(
            number=self._put(combined(table, self._lane.layout, self._width)), width=self._width
        )
        for first in range(0, len(loose), FAN):
            self._merge(loose[first : first + FAN], level=1)
        level = 1
        while self._is_short(alike := [run for run in self.runs if run.level == level][-FAN:]):
            self._merge(alike, level=level + 1)
            level += 1

    def _is_short(self, runs: list[Run]) -> bool:
        """Whether runs are enough to be merged, and not too much."""
        if len(runs) < FAN:
            return False
        length = max(run.last for run in runs) - min(run.first for run in runs)
        is_short = length <= _CELLS_IN_A_RUN * self._width
        return is_short and sum(run.rows for run in runs) <= _MOST_ROWS

    def _merge(self, runs: list[Run], *, level: int) -> None:
        """One run of a level in the place of some, or the same ones at that level."""
        if self._is_short(runs):
            # What earlier plans kept stays, whatever this one keeps.
            tables = [from_bytes(self._store.read(run.number)) for run in runs]
            self._remove(runs)
            self._write_run(pa.concat_tables(tables, promote_options="default"), level=level)
        else:
            self.runs = [replace(run, level=level) if run in runs else run for run in self.runs]

    def _write_run(self, table: pa.Table, *, level: int) -> None:
        ends = pc.min_max(table.column(self._lane.layout.start)).as_py()
        run = Run(
            number=self._put(table),
            level=level,
            rows=table.num_rows,
            first=ends["min"],
            last=ends["max"],
        )
        self.runs = [*self.runs, run]

    def _put(self, table: pa.Table) -> int:
        number = self.number
        self._store.write(number, to_bytes(table))
        self.number += 1
        return number

    def _remove(self, runs: list[Run]) -> None:
        for run in runs:
            self._store.remove(run.number)
        self.runs = [run for run in self.runs if run not in runs]

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
