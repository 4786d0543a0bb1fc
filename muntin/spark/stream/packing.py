"""Packs the slices of a bucket into one row of Arrow bytes for the operator, and unpacks them."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.runtime.periodic.tree import gather
from muntin.runtime.state.segments import from_bytes, to_bytes
from muntin.spark.worker import begin_task

# Columns of slices: the number of their tree, when they end, and the bucket of their key.
LANE = "lane"
END = "end"
BUCKET = "bucket"
# The column with all slices of a bucket.
ROWS = "rows"


def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields the slices of each bucket as one row, with the latest end among them."""
    begin_task()
    for batch in gather(batches):
        table = pa.Table.from_batches([batch])
        buckets = table.column(BUCKET).to_numpy()
        order = np.argsort(buckets, kind="stable")
        table = table.take(pa.array(order))
        labels, firsts = np.unique(buckets[order], return_index=True)
        parts = [
            table.slice(first, next_ - first)
            for first, next_ in zip(firsts, [*firsts[1:], len(order)], strict=True)
        ]
        yield pa.RecordBatch.from_pydict(
            {
                BUCKET: pa.array(labels, pa.int32()),
                END: pa.array(
                    [pc.max(part.column(END)).as_py() for part in parts],
                    table.schema.field(END).type,
                ),
                ROWS: pa.array(
                    [to_bytes(part.drop_columns([BUCKET, END])) for part in parts], pa.binary()
                ),
            }
        )


def unpacked(packed: Sequence[bytes]) -> dict[int, pa.Table]:
    """Returns the slices of a bucket, by lane."""
    if not packed:
        return {}
    table = pa.concat_tables([from_bytes(data) for data in packed])
    lanes = pc.unique(table.column(LANE)).to_pylist()
    return {lane: table.filter(pc.equal(table.column(LANE), lane)) for lane in lanes}
