"""Runs muntin's code in Spark's Python workers: their interpreter, compiled kernels and tasks.

It imports little: Spark starts a process that loads it to ask for the states of a stream.
"""

import gc
import logging
import os
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache, partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from py4j.protocol import Py4JError
from pyspark import SparkContext, SparkFiles, TaskContext, cloudpickle
from pyspark.sql import SparkSession

from muntin.spark.engine.session_kind import is_connect, is_local

if TYPE_CHECKING:
    import pyarrow as pa

_LOG = logging.getLogger("muntin")
_ARCHIVE = "muntin-kernels.zip"
# The folder of each context's archive, which executors that start later read, too.
_folders: WeakKeyDictionary[SparkContext, TemporaryDirectory[str]] = WeakKeyDictionary()
_sending = Lock()
# A worker's first tasks load modules, and those in which windows first close load what numba
# compiled; in a stream that takes some batches.
_LOADING_TASKS = 8
_tasks = count()


def prepare_workers(session: SparkSession) -> None:
    """Call this before a function is put into a plan.

    In local mode the workers run this interpreter, unless the user chose one: Spark's own default
    is the first `python3` on the path, which need not have muntin. On a cluster, executors get the
    kernels that are on the driver's machine, once per application. Nothing is done for Spark
    Connect, where the driver is elsewhere.
    """
    if is_local(session):
        session.sparkContext.pythonExec = os.environ.get("PYSPARK_PYTHON", sys.executable)
    elif not is_connect(session):
        _send_kernels(session.sparkContext)


def _send_kernels(context: SparkContext) -> None:
    # numba takes a second to load, which a driver of local mode does not need.
    from muntin.techniques.kernels.kernel_cache import pack_kernels

    with _sending:
        if context in _folders:
            return
        try:
            folder = _folders[context] = TemporaryDirectory(prefix="muntin-kernels-")
            archive = Path(folder.name, _ARCHIVE)
            if pack_kernels(archive):
                context.addFile(str(archive))
        except (OSError, Py4JError) as error:
            _LOG.warning("executors compile kernels, since the driver's cannot be sent: %s", error)


@cache
def receive_kernels() -> None:
    """Load the kernels that the driver has sent; called in a worker before it needs the first."""
    if TaskContext.get() is None:
        return
    archive = Path(SparkFiles.get(_ARCHIVE))
    if archive.exists():
        from muntin.techniques.kernels.kernel_cache import unpack_kernels

        unpack_kernels(archive)


class Task:
    """A function over the rows of a partition, with its other arguments, for `mapInArrow`."""

    def __init__(
        self, function: "Callable[..., Iterator[pa.RecordBatch]]", **arguments: object
    ) -> None:
        self._pickled = pickle_value(partial(function, **arguments))

    def __call__(self, batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        """Called once per task."""
        begin_task()
        receive_kernels()
        rows: Iterator[pa.RecordBatch] = unpickle_value(self._pickled)(batches)
        return rows


def pickle_value(value: object) -> bytes:
    """Returns a value as bytes; it may have classes and functions of a user's notebook."""
    return bytes(cloudpickle.dumps(value))  # type: ignore[no-untyped-call]


@lru_cache(maxsize=16)
def unpickle_value(data: bytes) -> Any:
    """Returns what was pickled, the same objects in every task of a worker.

    Spark unpickles a task's function for each task. Kernels are cached by the functions that they
    were compiled from. If a user's function were another object each time, it would be compiled or
    loaded for every batch of a stream.
    """
    return pickle.loads(data)


def begin_task() -> None:
    """Exclude the loaded modules from garbage collection; called first in each task.

    Spark collects a worker's garbage after every task. Modules have a hundred thousand objects to
    visit, which costs more than most batches of a stream. What exists when a task begins has
    survived the previous collection, so no garbage is excluded.
    """
    if next(_tasks) < _LOADING_TASKS:
        gc.freeze()
