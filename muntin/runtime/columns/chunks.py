"""Gathers batches into chunks: rows enough to be worth a step, few enough to hold in memory."""

from collections.abc import Iterable, Iterator

import pyarrow as pa


def chunks(
    batches: Iterable[pa.RecordBatch], *, rows: int, size: int | None = None
) -> Iterator[pa.RecordBatch]:
    """Yields the same rows in batches of about `rows` rows, or of `size` bytes if that is fewer.

    Batches that are longer are split, so that what a step takes has a bound.
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
