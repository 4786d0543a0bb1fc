"""How muntin's own code runs in Spark's Python workers."""

import gc
from itertools import count

# A worker's first tasks load modules, and those in which windows first close load what numba
# compiled; in a stream that takes some batches.
_LOADING_TASKS = 8
_tasks = count()


def begin_task() -> None:
    """Set the loaded modules aside from garbage collection; called first in each task.

    Spark collects a worker's garbage after every task, and modules are a hundred thousand objects
    to look at each time, which costs more than most batches of a stream. What is there when a task
    begins has survived the collection before it, so no garbage is kept.
    """
    if next(_tasks) < _LOADING_TASKS:
        gc.freeze()
