"""Stores frames, so that Spark computes them once, in memory and on disk."""

import logging

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from muntin.spark.java_errors import JOB_ERRORS, said_by_java
from muntin.spark.settings import settings

log = logging.getLogger("muntin")

# Without it, Spark stores a frame with all of its shuffle partitions, however little is in them,
# and every reader starts as many Python tasks.
_ADAPTIVE = "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning"
# Spark passes over stored rows by bounds that leave out NaN, so that `x > 0` would lose rows where
# x is NaN. It asks for this when rows are read, which may be at any time.
PRUNING = "spark.sql.inMemoryColumnarStorage.partitionPruning"


def stored(frame: DataFrame) -> DataFrame:
    """Returns the frame, which Spark stores when it is first computed.

    The session reads all rows of what is stored from now on, not only those within bounds.
    """
    frame.sparkSession.conf.set(PRUNING, "false")
    with settings(frame.sparkSession, {_ADAPTIVE: "true"}):
        return frame.persist(StorageLevel.MEMORY_AND_DISK)


def is_computable(frame: DataFrame) -> bool:
    """Computes a stored frame now, and returns whether that succeeded; if not, it is not stored."""
    try:
        frame.count()
    except JOB_ERRORS as error:
        log.warning("queries are answered apart, since one of them fails: %s", said_by_java(error))
        frame.unpersist()
        return False
    return True
