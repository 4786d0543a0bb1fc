"""Packs the partials of a bucket of keys into rows of Arrow bytes, and unpacks them."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from muntin.runtime.arrow_batches import from_bytes
from muntin.runtime.columns.keys import sort_slices
from muntin.runtime.columns.partials import Int64s
from muntin.runtime.storage.layout import Layout

# Columns of packed rows: the bucket of the keys, the number of the tree, an Arrow stream.
BUCKET, TREE, ROWS = "bucket", "tree", "rows"
# The column of partials with the start of the part of time that reads them.
PART = "muntin_part"

# About the most bytes of partials in a row. Spark hands ten thousand rows at a time to Python, and
# these must stay below a gigabyte.
_MOST_BYTES = 1 << 16
# The end of an Arrow stream.
_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"


# A bucket, and where its rows begin and end.
Span = tuple[int, int, int]


def by_bucket(buckets: Int64s) -> tuple[Int64s, list[Span]]:
    """Returns the rows ordered by bucket, and the span of each bucket in that order."""
    # Of short integers, numpy sorts in linear time.
    narrow = buckets.astype(np.uint16) if buckets.max(initial=0) < 1 << 16 else buckets
    order = np.argsort(narrow, kind="stable")
    labels, firsts = np.unique(buckets[order], return_index=True)
    ends = [*firsts[1:].tolist(), len(order)]
    return order, [
        (label, first, end)
        for label, first, end in zip(labels.tolist(), firsts.tolist(), ends, strict=True)
    ]


def pack(partials: pa.RecordBatch, buckets: list[Span], number: int) -> pa.RecordBatch:
    """Returns the partials of tree `number` as packed rows: one for each bucket, or several for a
    bucket with many partials."""
    at_once = max(1, _MOST_BYTES * partials.num_rows // max(1, partials.nbytes))
    spans = [
        (label, first, min(first + at_once, end))
        for label, begin, end in buckets
        for first in range(begin, end, at_once)
    ]
    # The schema is the same for all, so its message is made once.
    schema = partials.schema.serialize().to_pybytes()
    streams = [
        b"".join((schema, partials.slice(first, end - first).serialize(), _END))
        for _, first, end in spans
    ]
    return pa.RecordBatch.from_pydict(
        {
            BUCKET: pa.array([label for label, _, _ in spans], pa.int32()),
            TREE: pa.array(np.full(len(spans), number), pa.int32()),
            ROWS: pa.array(streams, pa.binary()),
        }
    )


def unpack(streams: Iterable[bytes], layout: Layout) -> pa.RecordBatch:
    """Returns a tree's packed partials of one bucket, ordered by keys, part if any, and start.

    There may be several rows of one key and start; the runtime combines them.
    """
    tables = [from_bytes(data) for data in streams]
    if not tables:
        return pa.RecordBatch.from_pylist([], schema=pa.schema(_fields(layout)))
    table = pa.concat_tables(tables)
    keys = layout.key_columns
    return sort_slices(table, (*keys, PART) if PART in table.schema.names else keys, layout.start)


def _fields(layout: Layout) -> Iterator[pa.Field]:
    """Yields the columns of an empty table of partials; the types of keys are not known."""
    for name in layout.key_columns:
        yield pa.field(name, pa.null())
    yield pa.field(layout.start, pa.int64())
    for storage in layout.storages:
        for name in storage.columns:
            yield pa.field(name, storage.arrow_type)
