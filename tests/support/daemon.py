"""Spark's parent of Python workers, with all loaded that they come to need.

Each worker is forked from it. A worker by itself takes seconds to load numba, pandas and pyarrow
and to set up the compiler, and tests start many.
"""

import numpy as np
from pyspark.daemon import manager

import muntin.spark.batch.compiled_answers
import muntin.spark.batch.records
import muntin.spark.stream.bucket_step  # noqa: F401
from muntin.model.aggregates.monoids import MAX
from muntin.techniques import recalc
from muntin.techniques.compiled.compile import bind
from tests.support.driver_workers import serve


def load_a_kernel() -> None:
    """The first kernel of a process sets up the compiler."""
    one = np.ones(1)
    bind(recalc.fold, MAX)(one, np.array([0]), np.array([1]), one)


if __name__ == "__main__":
    serve()
    load_a_kernel()
    manager()
