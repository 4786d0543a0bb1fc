"""Stores frames in memory and on disk, so that Spark computes them once."""

import logging

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from muntin.spark.engine.settings import PRUNING, settings
from muntin.spark.error_text import JOB_ERRORS, job_error_text

log = logging.getLogger("muntin")

# Without it, Spark stores a frame with all of its shuffle partitions, however little is in them,
# and every reader starts as many Python tasks.
_ADAPTIVE = "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning"


def store(frame: DataFrame) -> DataFrame:
    """Have Spark store a frame when it is first computed; returns the frame."""
    frame.sparkSession.conf.set(PRUNING, "false")
    with settings(frame.sparkSession, {_ADAPTIVE: "true"}):
        return frame.persist(StorageLevel.MEMORY_AND_DISK)


def is_computable(frame: DataFrame) -> bool:
    """Compute a stored frame now; returns whether that succeeded. If not, it is not stored."""
    try:
        frame.count()
    except JOB_ERRORS as error:
        log.warning(
            "queries are answered one by one, since one of them fails: %s", job_error_text(error)
        )
        frame.unpersist()
        return False
    return True
