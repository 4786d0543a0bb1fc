"""The driver's JVM: which process it is, and how much memory its live objects take."""

import time
from functools import cache
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession


def jvm_pid() -> int | None:
    """Returns the process of the JVM that this process is connected to, if there is one."""
    return None if SparkContext._jvm is None else _pid(SparkContext._jvm)


@cache
def _pid(jvm: Any) -> int:
    """Asks the JVM once: memory is sampled ten times a second."""
    return int(getattr(jvm, "java.lang.ProcessHandle").current().pid())


def live_bytes(session: SparkSession, *, collections: int = 20, pause_s: float = 0.2) -> int:
    """Returns the heap of the driver's JVM after a collection, the least of several.

    A stream may run on meanwhile, and each of its tasks holds pages of 64 MB for a moment.
    """
    assert session._jvm is not None
    memory = getattr(session._jvm, "java.lang.management.ManagementFactory").getMemoryMXBean()
    used = []
    for _ in range(collections):
        memory.gc()
        used.append(int(memory.getHeapMemoryUsage().getUsed()))
        time.sleep(pause_s)
    return min(used)
