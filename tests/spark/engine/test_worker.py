"""muntin's code in Spark's Python workers."""

import gc
import pickle

import pyarrow as pa
from pyspark import cloudpickle

from muntin.spark.engine.worker import Task, begin_task


def test_what_a_worker_has_loaded_is_not_looked_at_after_every_task(spark):
    def frozen(batches):
        begin_task()
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"id": [gc.get_freeze_count()] * batch.num_rows})

    counts = spark.range(1).mapInArrow(frozen, "id BIGINT").collect()
    assert counts[0].id > 10_000


def test_what_a_task_is_given_is_the_same_in_every_task_of_a_worker():
    def given(batches, *, users):
        return (users for _ in batches)

    # Kernels are kept by function; one that is defined here is pickled with its code.
    sent = cloudpickle.dumps(Task(given, users=lambda a, b: a + b))
    (first,), (second,) = (pickle.loads(sent)([None]) for _ in range(2))
    assert first(1, 2) == 3
    assert first is second
