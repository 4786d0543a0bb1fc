"""muntin's code in Spark's Python workers."""

import gc

import pyarrow as pa

from muntin.spark.worker import begin_task


def test_what_a_worker_has_loaded_is_not_looked_at_after_every_task(spark):
    def frozen(batches):
        begin_task()
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"id": [gc.get_freeze_count()] * batch.num_rows})

    counts = spark.range(1).mapInArrow(frozen, "id BIGINT").collect()
    assert counts[0].id > 10_000
