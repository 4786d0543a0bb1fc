"""Two stacks of a window, from batch to batch: an answer reads two rows of a key.

Time is cut into blocks, where some intervals of the window begin; a block is as long as one. When
the watermark passes the end of a block, its slices are combined into its suffixes, one for each
interval that begins in it: the older stack. What follows the block is one row, which grows: the
newer stack. An interval is a suffix and that row.

```
block           block
[---------------)[--------------)
      a                a + size
      [ older   )[newer)            the interval [a, a + size)
```

A suffix is read once, when its interval ends, so each is a segment of its own. A late slice behind
the end of the older block goes into the newer row. One of the older block is kept apart, and added
to the intervals that hold it.

Where a block has very many intervals, its suffixes are made in two steps, so that no batch makes
all of them: when the block is over, those at the begins of some cells; and when intervals begin in
a cell, those in it, from its slices and the suffix behind it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from muntin.model.windows import Window
from muntin.runtime.periodic.rollups import INSTANTS, combine_into_cells
from muntin.runtime.periodic.suffixes import suffixes
from muntin.runtime.state.level_store import columns_of
from muntin.runtime.state.levels import Levels
from muntin.runtime.state.segments import Segment, SegmentAllocator
from muntin.runtime.state.stream_tree import Interval, concatenate
from muntin.runtime.storage.layout import Layout

# Rows, or where they are stored.
_Rows: TypeAlias = pa.Table | Segment
# If more than a third of the intervals of a block end in a batch, it is cheaper to read slices.
_SHARE_OF_BLOCK = 3


@dataclass(frozen=True, kw_only=True)
class StacksState:
    """The two stacks of a window between two batches."""

    window: Window
    # The columns of its rows.
    columns: tuple[str, ...]
    # The newer row has what starts from the begin of its block up to an end of the window's.
    block: int
    reached: int
    newer: Segment | None = None
    # Late slices of the older block.
    late: Segment | None = None
    # The suffixes of the older block, for the intervals that begin before `made`; and those at the
    # begins of the cells from there on. The start of a segment is that of its suffixes.
    older: tuple[Segment, ...] = ()
    made: int = 0
    cells: tuple[Segment, ...] = ()

    @property
    def segments(self) -> list[Segment]:
        """All its segments."""
        single = (each for each in (self.newer, self.late) if each is not None)
        return [*single, *self.older, *self.cells]

    def to_json(self) -> list[Any]:
        """Returns the state as data for `json.dumps`."""
        window = self.window
        return [
            [window.size, window.slide, window.offset],
            self.columns,
            self.block,
            self.reached,
            self.newer,
            self.late,
            self.older,
            self.made,
            self.cells,
        ]

    @staticmethod
    def from_json(data: Sequence[Any]) -> "StacksState":
        """Returns the state that `to_json` wrote."""
        (size, slide, offset), columns, block, reached, newer, late, older, made, cells = data
        return StacksState(
            window=Window(size=size, slide=slide, offset=offset),
            columns=tuple(columns),
            block=block,
            reached=reached,
            newer=newer and Segment(*newer),
            late=late and Segment(*late),
            older=tuple(Segment(*each) for each in older),
            made=made,
            cells=tuple(Segment(*each) for each in cells),
        )


class WindowStacks:
    """The two stacks of a window in the step of a batch; call `answers`, then `keep`.

    What they have follows from the slices. So they are made anew where there are none, and dropped
    where very many intervals end in a batch.
    """

    def __init__(
        self,
        window: Window,
        layout: Layout,
        allocator: SegmentAllocator,
        known: StacksState | None,
        *,
        levels: Levels,
        level: int,
        cell: int | None,
        interval: Interval,
    ) -> None:
        """`layout` has the components of the window, and `level` is the finest that it reads.
        `cell` is the width of cells if suffixes are made in two steps."""
        self._window, self._layout, self._allocator = window, layout, allocator
        self._levels, self._level = levels, level
        # The first interval that is open before the batch, and those that end in it.
        self._first_open = window.first_after(interval.given - window.size)
        self._ended = range(self._first_open, interval.until - window.size + 1, window.slide)
        # A whole number of slides, so that an interval has parts of two blocks at most.
        self._length = -(-window.size // window.slide) * window.slide
        self._cell = cell or self._length
        self._stored = [] if known is None else known.segments
        is_usable = known is not None and known.columns == columns_of(layout)
        self._known = known if is_usable and self._are_few else None
        self._is_read = False
        self._block = self._reached = self._made = 0
        self._newer: pa.Table | None = None
        self._late: pa.Table | None = None
        # Suffixes, by where they start: for intervals, and at the begins of cells.
        self._older: dict[int, _Rows] = {}
        self._cells: dict[int, _Rows] = {}
        # How many partials were combined into others.
        self.combined = 0

    @property
    def can_answer(self) -> bool:
        """Whether `answers` gives the intervals that end; if not, they are made of slices."""
        return self._known is not None

    @property
    def _are_few(self) -> bool:
        """Whether so few intervals end that the stacks are worth their upkeep."""
        return _SHARE_OF_BLOCK * len(self._ended) * self._window.slide <= self._length

    def answers(self) -> Iterator[pa.Table]:
        """Yields the partials of each interval that ends, a row for each key."""
        assert self._known is not None
        late = self._levels.new_rows(self._level, self._known.reached)
        has_late = late is not None and late.num_rows > 0
        if not self._ended and not has_late:
            return
        self._read(self._known)
        if late is not None and has_late:
            self._add_late(late)
        size = self._window.size
        for begin in self._ended:
            if begin + size > self._block + self._length:
                self._flip(begin)
            elif self._made <= begin < self._block:
                self._make_suffixes(begin)
            self._reach(begin + size)
            older = self._rows_of(self._older.get(begin))
            parts = [older, self._late_from(begin), self._newer]
            found = self._combine(parts, Window(size=size, slide=size, offset=begin))
            if found is not None:
                yield found

    def keep(self) -> StacksState | None:
        """Store what later intervals need, and return where it is; None if there is nothing."""
        state = self._next_state()
        left = [] if state is None else state.segments
        for segment in self._stored:
            if segment not in left:
                self._allocator.remove(segment.number)
        return state

    def _next_state(self) -> StacksState | None:
        if self._known is not None and not self._is_read:
            return self._known
        if self._ended:
            self._first_open = self._ended[-1] + self._window.slide
            if self._known is None and self._are_few:
                self._start(self._ended[-1] + self._window.size)
                self._is_read = True
        if not self._is_read:
            return None
        return StacksState(
            window=self._window,
            columns=columns_of(self._layout),
            block=self._block,
            reached=self._reached,
            newer=self._put(self._newer),
            late=self._put(self._late_from(self._first_open)),
            older=self._put_from(self._older, self._first_open),
            made=self._made,
            cells=self._put_from(self._cells, self._made),
        )

    def _put_from(self, suffixes: Mapping[int, _Rows], first: int) -> tuple[Segment, ...]:
        """Store the suffixes that start at an instant or later, and return where they are."""
        put = (
            rows if isinstance(rows, Segment) else self._put(rows)
            for start, rows in suffixes.items()
            if start >= first
        )
        return tuple(segment for segment in put if segment is not None)

    def _put(self, table: pa.Table | None) -> Segment | None:
        if table is None or not table.num_rows:
            return None
        return self._allocator.put(table, self._layout.start, rank=0)

    def _read(self, known: StacksState) -> None:
        self._is_read = True
        self._block, self._reached, self._made = known.block, known.reached, known.made
        self._older = {segment.first: segment for segment in known.older}
        self._cells = {segment.first: segment for segment in known.cells}
        self._newer, self._late = self._rows_of(known.newer), self._rows_of(known.late)

    def _rows_of(self, rows: _Rows | None) -> pa.Table | None:
        return self._allocator.read(rows.number) if isinstance(rows, Segment) else rows

    def _start(self, reached: int) -> None:
        """Make both stacks of slices, up to an end of the window."""
        block = reached - 1 - (reached - 1 - self._window.offset) % self._length
        self._block, self._reached = block, block
        if self._first_open < block:
            self._block -= self._length
            self._flip(self._first_open)
        self._reach(reached)

    def _add_late(self, late: pa.Table) -> None:
        """Add slices that start before what the newer row has reached."""
        starts = late.column(self._layout.start)
        newer = late.filter(pc.greater_equal(starts, self._block))
        self._newer = self._combine([self._newer, newer], self._block_cell)
        is_open = pc.greater_equal(starts, self._first_open)
        older = late.filter(pc.and_(is_open, pc.less(starts, self._block)))
        self._late = self._combine([self._late, older], INSTANTS)

    def _flip(self, begin: int) -> None:
        """Go on to the next block, and make the suffixes of this one from an instant on."""
        first = begin + self._cell - (begin - self._block) % self._cell
        self._block += self._length
        self._reached, self._newer, self._late = self._block, None, None
        self._cells = self._suffixes(first, self._block, width=self._cell)
        self._make_suffixes(begin)

    def _make_suffixes(self, begin: int) -> None:
        """Make the suffixes of the cell in which an interval begins, from there on."""
        self._made = min((start for start in self._cells if start > begin), default=self._block)
        behind = self._rows_of(self._cells.get(self._made))
        slide = self._window.slide
        self._older = self._suffixes(begin, self._made, width=slide, behind=behind)
        # Late slices before are among the slices that these were made of.
        self._late = self._late_from(self._made)

    def _suffixes(
        self, begin: int, end: int, *, width: int, behind: pa.Table | None = None
    ) -> dict[int, _Rows]:
        """Returns the suffixes at instants a width apart, of slices between two instants and of
        the suffix behind them."""
        rows = concatenate([self._slices(begin, end, width=width), behind])
        if rows is None:
            return {}
        found = dict(suffixes(rows, self._layout, begin, width))
        # The first suffix of a key has all its rows.
        self.combined += rows.num_rows - found[begin].num_rows
        return {start: table for start, table in found.items() if start < end}

    def _reach(self, end: int) -> None:
        """Add the slices up to an end of the window to the newer row."""
        if self._reached < end:
            rows = self._slices(self._reached, end, width=end - self._reached)
            self._newer = self._combine([self._newer, rows], self._block_cell)
            self._reached = end

    @property
    def _block_cell(self) -> Window:
        return Window(size=self._length, slide=self._length, offset=self._block)

    def _slices(self, begin: int, end: int, *, width: int) -> pa.Table | None:
        """Returns slices between instants, or cells of levels that are inside steps of a width.

        The last step may be shorter.
        """
        if begin >= end:
            return None
        step = Window(size=width, slide=width, offset=begin)
        steps = {step: (begin, end - width)} if begin + width <= end else {}
        rest = (end - begin) % width
        if rest:
            steps[Window(size=rest, slide=rest, offset=end)] = (end - rest, end - rest)
        rows = self._levels.rows(self._level, steps)
        return None if rows is None else rows.select(columns_of(self._layout))

    def _late_from(self, begin: int) -> pa.Table | None:
        if self._late is None:
            return None
        return self._late.filter(pc.greater_equal(self._late.column(self._layout.start), begin))

    def _combine(self, parts: Sequence[pa.Table | None], cells: Window) -> pa.Table | None:
        """Returns a row for each key and cell; None without any."""
        names = list(columns_of(self._layout))
        rows = concatenate([part and part.select(names) for part in parts])
        if rows is None:
            return None
        found = combine_into_cells(rows, self._layout, cells)
        self.combined += rows.num_rows - found.num_rows
        return found
