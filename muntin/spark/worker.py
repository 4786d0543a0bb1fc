"""How muntin's own code runs in Spark's Python workers."""

import gc
import os
import re
import sys
from itertools import count

from pyspark.sql import SparkSession

# A worker's first tasks load modules, and those in which windows first close load what numba
# compiled; in a stream that takes some batches.
_LOADING_TASKS = 8
_tasks = count()


def same_python(session: SparkSession) -> None:
    """In local mode, have the workers run this interpreter, unless the user chose one.

    Spark's own default is whatever `python3` is first on the path, which need not have muntin.
    """
    context = session.sparkContext
    if re.fullmatch(r"local(\[.*\])?", context.master or ""):
        context.pythonExec = os.environ.get("PYSPARK_PYTHON", sys.executable)


def begin_task() -> None:
    """Set the loaded modules aside from garbage collection; called first in each task.

    Spark collects a worker's garbage after every task, and modules are a hundred thousand objects
    to look at each time, which costs more than most batches of a stream. What is there when a task
    begins has survived the collection before it, so no garbage is kept.
    """
    if next(_tasks) < _LOADING_TASKS:
        gc.freeze()
