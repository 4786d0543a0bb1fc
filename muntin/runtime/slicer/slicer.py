"""Cuts rows into slices of many groupings at once: each chunk is read once, and all share it."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from muntin.model.passes import EVENTS_TO_FOLD, TREES_TO_FOLD
from muntin.runtime.arrow_batches import chunks
from muntin.runtime.columns.hashing import hash_integers
from muntin.runtime.columns.partials import Column, Int64s
from muntin.runtime.slicer.chunk import BatchChunk, Chunk, uses_by
from muntin.runtime.slicer.finest import FinestSlicing
from muntin.runtime.slicer.packing import PART, by_bucket, pack
from muntin.runtime.slicer.slicer_tree import SlicerTree

# The rows of a chunk, and its bytes if it reaches these first; both roughly.
ROWS_AT_ONCE = 1 << 20
BYTES_AT_ONCE = 1 << 28


class Slicer:
    """Makes the partials of all trees from batches of rows: events, or partials of finer slices.

    `time` names the column of integers with a row's instant, or with the start of its slice. Keys
    are spread over `buckets` by a hash of their values, which is the same everywhere. Nothing is
    kept from one chunk to the next, so there may be several partials of one key and start. Many
    trees are folded from the finest slices of a chunk of events; see `finest`.
    """

    def __init__(
        self,
        trees: Sequence[SlicerTree],
        *,
        time: str,
        buckets: int,
        rows_at_once: int = ROWS_AT_ONCE,
        bytes_at_once: int = BYTES_AT_ONCE,
        trees_to_fold: int = TREES_TO_FOLD,
        events_to_fold: int = EVENTS_TO_FOLD,
    ) -> None:
        # Trees that share results follow each other, so that these are soon dropped.
        self._trees = sorted(trees, key=lambda tree: (tree.layout.key_columns, tree.slicing.edges))
        self._time = time
        self._buckets = buckets
        self._rows_at_once = rows_at_once
        self._bytes_at_once = bytes_at_once
        self._uses = uses_by(trees)
        self._finest = FinestSlicing(trees, trees_at_least=trees_to_fold, events=events_to_fold)

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yields rows of (bucket, tree, packed partials); see `packing`."""
        for batch in chunks(batches, rows=self._rows_at_once, size=self._bytes_at_once):
            # Without an instant a row is in no window.
            times = batch.column(self._time)
            if times.null_count:
                batch = batch.filter(times.is_valid())
            if not batch.num_rows:
                continue
            rows = BatchChunk(batch, self._time, self._uses)
            folded = self._finest.chunks_by_tree(rows)
            for tree in self._trees:
                chunk = folded.get(tree.number, rows)
                made = self._make_partials(chunk, tree)
                chunk.release(tree)
                if made is not None:
                    yield made

    def _make_partials(self, chunk: Chunk, tree: SlicerTree) -> pa.RecordBatch | None:
        """Returns a tree's partials of a chunk, None if it has none."""
        if tree.is_whole:
            rows = chunk.rows(tree)
            firsts = np.arange(len(chunk.times)) if rows is None else rows
            starts = chunk.times[firsts]
            columns: list[Column] = [
                chunk.lift(storage, tree).where(firsts) for storage in tree.layout.storages
            ]
        else:
            groups = chunk.groups(tree)
            firsts = groups.firsts
            starts = chunk.starts(tree.slicing.edges, firsts)
            columns = [
                storage.combine(chunk.lift(storage, tree), groups)
                for storage in tree.layout.storages
            ]
        if not len(firsts):
            return None
        return self._pack(chunk, tree, firsts, starts, columns)

    def _pack(
        self,
        chunk: Chunk,
        tree: SlicerTree,
        firsts: Int64s,
        starts: Int64s,
        columns: Sequence[Column],
    ) -> pa.RecordBatch:
        parts: Int64s | None = None
        rows = np.arange(len(firsts))
        if tree.part_width is not None:
            rows, parts = parts_of(starts, tree.part_width, tree.longest)
        places = self._places(chunk, tree, firsts)[rows]
        if parts is not None:
            places = hash_integers(parts, places)
        order, spans = by_bucket(places % self._buckets)
        rows = rows[order]
        arrays = {name: chunk.key(name, firsts[rows]) for name in tree.layout.key_columns}
        arrays[tree.layout.start] = pa.array(starts[rows])
        for storage, column in zip(tree.layout.storages, columns, strict=True):
            arrays |= storage.write(column.where(rows))
        if isinstance(chunk, BatchChunk):
            for place, name in enumerate(tree.carried):
                # A carried column may be a key, too, so columns are identified by their order.
                arrays[f"carried {place}"] = chunk.column(name).take(pa.array(firsts[rows]))
        if parts is not None:
            arrays[PART] = pa.array(parts[order])
        return pack(pa.RecordBatch.from_pydict(arrays), spans, tree.number)

    def _places(self, chunk: Chunk, tree: SlicerTree, rows: Int64s) -> Int64s:
        """Returns a hash of the keys of some rows, or the number of a tree without keys."""
        if not tree.layout.key_columns:
            return np.full(len(rows), tree.number, np.int64)
        hashed = np.zeros(len(rows), np.int64)
        for name in tree.layout.key_columns:
            hashed = hash_integers(chunk.key_hashes(name, rows), hashed)
        return hashed


def parts_of(starts: Int64s, width: int, longest: int) -> tuple[Int64s, Int64s]:
    """Returns, for every slice and part that reads it, the slice's row and the part's begin.

    A part answers windows that begin in it, so it reads slices up to `longest` after its end.
    """
    last = starts - starts % width
    reach = starts - (longest - 1)
    first = reach - reach % width
    counts = (last - first) // width + 1
    rows = np.repeat(np.arange(len(starts)), counts)
    steps = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows, first[rows] + width * steps
