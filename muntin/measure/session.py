"""A local Spark session for the commands that measure what Spark's processes cost."""

from collections.abc import Mapping

from pyspark.sql import SparkSession

from muntin.console.progress import starting
from muntin.measure.processes import check_installed
from muntin.spark.session import MEMORY, local_session


def measured_session(memory: str = MEMORY, more: Mapping[str, str] | None = None) -> SparkSession:
    """Start Spark, or refuse at once where there is nothing to measure it with."""
    check_installed()
    with starting():
        return local_session(memory, more)
