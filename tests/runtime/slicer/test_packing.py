"""Packed partials: rows of bytes by bucket, none of them long."""

import numpy as np
import pyarrow as pa

from muntin.runtime.arrow_batches import from_bytes
from muntin.runtime.slicer.packing import BUCKET, ROWS, TREE, by_bucket, pack


def test_many_partials_of_a_bucket_are_several_rows():
    count = 30_000
    partials = pa.RecordBatch.from_pydict(
        {"k": [f"key {number}" for number in range(count)], "c": pa.array(range(count), pa.int64())}
    )
    buckets = np.arange(count, dtype=np.int64) % 3
    order, spans = by_bucket(buckets)
    rows = pack(partials.take(pa.array(order)), spans, 7)
    assert rows.column(TREE).to_pylist() == [7] * rows.num_rows
    assert max(map(len, rows.column(ROWS).to_pylist())) < 2 * (1 << 16)
    assert 3 < rows.num_rows < 40
    found = {0: [], 1: [], 2: []}
    for bucket, data in zip(rows.column(BUCKET).to_pylist(), rows.column(ROWS), strict=True):
        found[bucket] += from_bytes(data.as_py()).column("c").to_pylist()
    assert found == {bucket: list(range(bucket, count, 3)) for bucket in range(3)}


def test_a_partial_is_never_split():
    partials = pa.RecordBatch.from_pydict({"k": ["x" * 300_000, "y" * 300_000]})
    rows = pack(partials, [(0, 0, 2)], 0)
    tables = [from_bytes(data) for data in rows.column(ROWS).to_pylist()]
    assert [table.num_rows for table in tables] == [1, 1]
