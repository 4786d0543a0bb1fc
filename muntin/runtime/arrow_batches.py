"""Batches of Arrow rows: gathered into chunks, and as bytes, compressed where that pays."""

from collections.abc import Iterable, Iterator

import pyarrow as pa

# Fewer bytes than these are not compressed.
_MANY_BYTES = 1 << 12


def chunks(
    batches: Iterable[pa.RecordBatch], *, rows: int, size: int | None = None
) -> Iterator[pa.RecordBatch]:
    """Yields the same rows in batches of about `rows` rows, or of `size` bytes if that is fewer.

    So there are rows enough to be worth a step, and few enough to hold in memory.
    """
    waiting: list[pa.RecordBatch] = []
    held = bytes_held = 0
    for batch in batches:
        for piece in _pieces(batch, rows, size):
            waiting.append(piece)
            held += piece.num_rows
            bytes_held += 0 if size is None else piece.nbytes
            if held >= rows or (size is not None and bytes_held >= size):
                yield from _merge(waiting)
                waiting, held, bytes_held = [], 0, 0
    yield from _merge(waiting)


def _pieces(batch: pa.RecordBatch, rows: int, size: int | None) -> Iterator[pa.RecordBatch]:
    """The rows of a batch in pieces of equal length, none above the bounds if rows are alike."""
    parts = -(-batch.num_rows // rows)
    if size is not None:
        parts = max(parts, min(-(-batch.nbytes // size), batch.num_rows))
    if parts <= 1:
        yield batch
        return
    length = -(-batch.num_rows // parts)
    for first in range(0, batch.num_rows, length):
        yield batch.slice(first, length)


def _merge(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    if len(batches) == 1:
        yield from batches
    elif batches:
        yield from pa.Table.from_batches(batches).combine_chunks().to_batches()


def to_bytes(table: pa.Table) -> bytes:
    """Returns rows as an Arrow stream, compressed if they are many."""
    sink = pa.BufferOutputStream()
    # Keys and starts repeat: LZ4 leaves less than half of them in the time of a copy.
    codec = "lz4" if table.nbytes > _MANY_BYTES else None
    options = pa.ipc.IpcWriteOptions(compression=codec, use_threads=False)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue().to_pybytes())


def from_bytes(data: bytes) -> pa.Table:
    """Returns the rows of an Arrow stream."""
    options = pa.ipc.IpcReadOptions(use_threads=False)
    return pa.ipc.open_stream(pa.py_buffer(data), options=options).read_all()
