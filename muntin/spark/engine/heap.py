"""How much memory live objects of the JVM take."""

from pyspark.sql import SparkSession


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
