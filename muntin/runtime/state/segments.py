"""Segments: rows as Arrow bytes in a store, and what is remembered of them."""

from typing import NamedTuple, Protocol

import pyarrow as pa

from muntin.runtime.arrow_batches import from_bytes, to_bytes


class Store(Protocol):
    """Stores the bytes of segments by number."""

    def read(self, number: int) -> bytes:
        """Returns the bytes that were written under a number."""

    def write(self, number: int, data: bytes) -> None:
        """Store bytes under a number."""

    def remove(self, number: int) -> None:
        """Delete what is stored under a number."""


class Segment(NamedTuple):
    """Where some rows are stored, and which starts they have."""

    number: int
    # How often it was merged; see `level_store`.
    rank: int
    rows: int
    bytes: int
    first: int
    last: int


class SegmentAllocator:
    """Writes tables to a store under new numbers, and reads each of them once in a batch.

    `number` is the next free one.
    """

    def __init__(self, store: Store, number: int) -> None:
        self._store = store
        self._tables: dict[int, pa.Table] = {}
        self.number = number

    def put(self, table: pa.Table, starts: str, *, rank: int) -> Segment:
        """Write a table, which is not empty, and return its segment; `starts` is the column with
        the start of each row."""
        data = to_bytes(table)
        number = self.write(data)
        self._tables[number] = table
        instants = table.column(starts).to_numpy()
        first, last = int(instants.min()), int(instants.max())
        return Segment(number, rank, table.num_rows, len(data), first, last)

    def write(self, data: bytes) -> int:
        """Write bytes, and return their number."""
        number = self.number
        self._store.write(number, data)
        self.number += 1
        return number

    def bytes(self, number: int) -> bytes:
        """Returns the bytes that are stored under a number."""
        return self._store.read(number)

    def read(self, number: int) -> pa.Table:
        """Returns a table that was written in this batch or an earlier one."""
        if number not in self._tables:
            self._tables[number] = from_bytes(self.bytes(number))
        return self._tables[number]

    def remove(self, number: int) -> None:
        """Delete a table."""
        self._tables.pop(number, None)
        self._store.remove(number)
