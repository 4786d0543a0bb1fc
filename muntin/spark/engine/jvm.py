"""The driver's JVM: which process it is, and how much memory its live objects take."""

from pyspark import SparkContext
from pyspark.sql import SparkSession


def jvm_pid() -> int | None:
    """Returns the process of the JVM that this process is connected to, if there is one."""
    if SparkContext._jvm is None:
        return None
    return int(getattr(SparkContext._jvm, "java.lang.ProcessHandle").current().pid())


def live_bytes(session: SparkSession, *, collections: int = 7) -> int:
    """Returns the heap of the driver's JVM after a collection, the least of several: a stream may
    run on meanwhile."""
    assert session._jvm is not None
    memory = getattr(session._jvm, "java.lang.management.ManagementFactory").getMemoryMXBean()
    found = []
    for _ in range(collections):
        memory.gc()
        found.append(int(memory.getHeapMemoryUsage().getUsed()))
    return min(found)
