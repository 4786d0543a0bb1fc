"""Segments: rows of partials as Arrow bytes in a store, and what is remembered of them."""

from typing import NamedTuple, Protocol

import pyarrow as pa

# Fewer bytes than these are not compressed.
_MANY_BYTES = 1 << 12


class Store(Protocol):
    """Where the bytes of segments are kept, by number."""

    def read(self, number: int) -> bytes:
        """The bytes that were written under a number."""

    def write(self, number: int, data: bytes) -> None:
        """Keep bytes under a number."""

    def remove(self, number: int) -> None:
        """Forget a number."""


class Segment(NamedTuple):
    """Where some partials are, and which starts they have."""

    number: int
    # How often it was merged; see `level_store`.
    rank: int
    rows: int
    bytes: int
    first: int
    last: int


class Shelf:
    """Puts tables into a store under new numbers, and reads each of them once.

    `number` is the next that is free.
    """

    def __init__(self, store: Store, number: int) -> None:
        self._store = store
        self._known: dict[int, pa.Table] = {}
        self.number = number

    def put(self, table: pa.Table) -> tuple[int, int]:
        """Keep a table; returns its number and its bytes."""
        data = to_bytes(table)
        number = self.write(data)
        self._known[number] = table
        return number, len(data)

    def write(self, data: bytes) -> int:
        """Keep bytes; returns their number."""
        number = self.number
        self._store.write(number, data)
        self.number += 1
        return number

    def bytes(self, number: int) -> bytes:
        """Returns the bytes that are kept under a number."""
        return self._store.read(number)

    def read(self, number: int) -> pa.Table:
        """Returns a table that was put here, in this batch or an earlier one."""
        if number not in self._known:
            self._known[number] = from_bytes(self.bytes(number))
        return self._known[number]

    def remove(self, number: int) -> None:
        """Forget a table."""
        self._known.pop(number, None)
        self._store.remove(number)


def to_bytes(table: pa.Table) -> bytes:
    """Rows as an Arrow stream, compressed if they are many."""
    sink = pa.BufferOutputStream()
    # Keys and starts repeat: LZ4 leaves less than half of them in the time of a copy.
    codec = "lz4" if table.nbytes > _MANY_BYTES else None
    options = pa.ipc.IpcWriteOptions(compression=codec, use_threads=False)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue().to_pybytes())


def from_bytes(data: bytes) -> pa.Table:
    """The rows of an Arrow stream."""
    options = pa.ipc.IpcReadOptions(use_threads=False)
    return pa.ipc.open_stream(pa.py_buffer(data), options=options).read_all()
