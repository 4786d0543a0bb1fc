"""Stores the records of open windows, which late records may have to be sorted into."""

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from muntin.runtime.state.segments import Segment, SegmentAllocator
from muntin.runtime.state.stream_tree import START

# How many segments, at least, make up all records that are kept.
_PARTS = 8


class RecordStore:
    """Records in segments; each is kept for `keep` behind the watermark."""

    def __init__(
        self, allocator: SegmentAllocator, segments: Sequence[Segment], *, keep: int
    ) -> None:
        self._allocator, self._keep = allocator, keep
        self._segments = list(segments)

    def records_to_keep(self, records: pa.Table, watermark: int) -> pa.Table | None:
        """Returns the records that a window may hold which was not given out; None without any."""
        left = records.filter(pc.greater(records.column(START), watermark - self._keep))
        return left if left.num_rows else None

    def all(self) -> Iterator[pa.Table]:
        """Yields all that was kept before."""
        for segment in self._segments:
            yield self._allocator.read(segment.number)

    def keep(self, new: Iterable[pa.Table | None], watermark: int) -> list[Segment]:
        """Add records, and delete those that no open window contains; returns all segments."""
        for segment in list(self._segments):
            if segment.last <= watermark - self._keep:
                self._remove(segment)
        for table in new:
            left = None if table is None else self.records_to_keep(table, watermark)
            if left is not None:
                self._add(left, rank=0)
        while len(self._segments) > 1 and self._merges(*self._segments[-2:]):
            self._merge(*self._segments[-2:])
        return self._segments

    def _merges(self, older: Segment, newer: Segment) -> bool:
        """Whether two segments are better one: they are about as large, and it stays short."""
        length = max(older.last, newer.last) - min(older.first, newer.first)
        return older.rows <= 2 * newer.rows and length <= self._keep // _PARTS

    def _merge(self, older: Segment, newer: Segment) -> None:
        tables = [self._allocator.read(segment.number) for segment in (older, newer)]
        self._remove(older)
        self._remove(newer)
        self._add(pa.concat_tables(tables, promote_options="permissive"), rank=older.rank + 1)

    def _add(self, table: pa.Table, *, rank: int) -> None:
        self._segments.append(self._allocator.put(table, START, rank=rank))

    def _remove(self, segment: Segment) -> None:
        self._allocator.remove(segment.number)
        self._segments.remove(segment)
