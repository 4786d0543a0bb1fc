"""How muntin's own code runs in Spark's Python workers."""

import gc
import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from itertools import count
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle

from muntin.spark.engine.worker_setup import receive_kernels

if TYPE_CHECKING:
    import pyarrow as pa

# A worker's first tasks load modules, and those in which windows first close load what numba
# compiled; in a stream that takes some batches.
_LOADING_TASKS = 8
_tasks = count()


class Task:
    """A function over the rows of a partition, with its other arguments, as Spark takes it."""

    def __init__(
        self, function: "Callable[..., Iterator[pa.RecordBatch]]", **arguments: object
    ) -> None:
        self._pickled = pickled(partial(function, **arguments))

    def __call__(self, batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        """Called once per task."""
        begin_task()
        receive_kernels()
        rows: Iterator[pa.RecordBatch] = unpickled(self._pickled)(batches)
        return rows


def pickled(value: object) -> bytes:
    """Returns a value as bytes; it may have classes and functions of a user's notebook."""
    return bytes(cloudpickle.dumps(value))  # type: ignore[no-untyped-call]


@lru_cache(maxsize=16)
def unpickled(data: bytes) -> Any:
    """Returns what was pickled, the same objects in every task of a worker.

    Spark unpickles a task's function for each task. Kernels are kept for the functions that they
    were compiled from, so a user's function that is another object each time would be compiled, or
    loaded, for every batch of a stream, and kept.
    """
    return pickle.loads(data)


def begin_task() -> None:
    """Set the loaded modules aside from garbage collection; called first in each task.

    Spark collects a worker's garbage after every task, and modules are a hundred thousand objects
    to look at each time, which costs more than most batches of a stream. What is there when a task
    begins has survived the collection before it, so no garbage is kept.
    """
    if next(_tasks) < _LOADING_TASKS:
        gc.freeze()
