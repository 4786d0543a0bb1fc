"""Spark for tests: small, quiet, cheap for plans that see a few rows once."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from tests.support.class_archive import driver_settings
from tests.support.gateway import remember_names

ROOT = Path(__file__).parents[2]
# Code for a plan takes far longer to generate and compile than a few rows take without it.
# The fixture `codegen` is for tests that run as users do.
INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Adaptive, Spark plans a query again after each of its stages.
    "spark.sql.adaptive.enabled": "false",
    # Spark checks a plan after each rule that changes it, and looks at the stack for each column.
    "spark.sql.lightweightPlanChangeValidation": "false",
    "spark.sql.dataFrameQueryContext.enabled": "false",
}
# Without Hadoop's native library each rename of a checkpoint's file starts several processes that
# look for links, and Spark has a file with a checksum beside each: that is a third of what a small
# stream costs.
_MANAGERS = "org.apache.spark.sql.execution.streaming"
if not pyspark.__version__.startswith("4.0."):
    _MANAGERS += ".checkpointing"
CHEAP_CHECKPOINTS = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        f"{_MANAGERS}.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}
CHECKPOINTS_AS_USERS_HAVE_THEM = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        f"{_MANAGERS}.FileContextBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "true",
}
AS_USERS_HAVE_IT = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.lightweightPlanChangeValidation": "true",
    "spark.sql.dataFrameQueryContext.enabled": "true",
    **CHECKPOINTS_AS_USERS_HAVE_THEM,
}
JVM = [
    # A JVM that lives for minutes does not get back what its second compiler costs. Without that
    # compiler the default code cache is 48 MB; all tests need more, and a full cache makes the JVM
    # drop compiled methods and compile them again.
    "-XX:TieredStopAtLevel=1",
    "-XX:ReservedCodeCacheSize=256m",
    # Spark's own classes need no verification, which is half the time of loading them.
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:-BytecodeVerificationRemote",
    "-XX:+UseSerialGC",
    # Else all is collected whenever more classes are loaded.
    "-XX:MetaspaceSize=256m",
    # Hadoop starts a process for the permissions of every file, and by default Java starts two.
    "-Djdk.lang.Process.launchMechanism=VFORK",
]
# A heap that begins small is collected as a whole whenever it grows.
DRIVER = [*JVM, "-Xms1500m", "-Xmn800m"]
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "2g",
    # Of a cluster's executors, whose heaps are smaller.
    "spark.executor.extraJavaOptions": " ".join(JVM),
    # pyspark tells the JVM for each column on which line it was made, for messages.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # Spark describes each plan at length, for its pages in a browser.
    "spark.sql.ui.explainMode": "simple",
    # Python workers are forked from a process that has loaded what they need.
    "spark.python.daemon.module": "tests.support.daemon",
    "spark.sql.shuffle.partitions": "2",
    # A zone with gaps and repeated hours.
    "spark.sql.session.timeZone": "America/New_York",
    **INTERPRETED,
    **CHEAP_CHECKPOINTS,
}


def session(master: str = "local[2]", more: Mapping[str, str] | None = None) -> SparkSession:
    """A session of this process; its JVM starts at the first call."""
    remember_names()
    name_python()
    builder = SparkSession.builder.master(master).appName("muntin-tests")
    found = builder.config(map=settings(more)).getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    _write_checksums(found, False)
    return found


def settings(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Settings of a session and of its JVM."""
    return {**driver_settings(DRIVER), **SETTINGS, **(more or {})}


def name_python() -> None:
    """Sets which Python the workers run, and what it finds, wherever the tests are started."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    paths = [str(ROOT / "tests" / "support" / "site"), str(ROOT), os.environ.get("PYTHONPATH")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))


@contextmanager
def checksums(spark: SparkSession) -> Iterator[None]:
    """While the block runs, Hadoop has a file with a checksum beside each, as it has for users.

    For each of these files it starts processes, which set its permissions.
    """
    _write_checksums(spark, True)
    try:
        yield
    finally:
        _write_checksums(spark, False)


def _write_checksums(spark: SparkSession, write: bool) -> None:
    # One object for all that this JVM reads and writes.
    files = spark._jvm.org.apache.hadoop.fs.FileSystem.get(spark._jsc.hadoopConfiguration())
    files.setWriteChecksum(write)
