"""Spark for tests: the session that a user has, on two cores of this machine."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
# A JVM that lives for minutes does not get back what its second compiler and parallel collectors
# cost. Without that compiler the default code cache is too small for all tests.
JVM = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC"
# The heap and the metaspace would start small and grow by collections, which take one second in
# twenty.
MEMORY = "-Xms1g -Xmn512m -XX:MetaspaceSize=384m"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.driver.extraJavaOptions": f"{JVM} {MEMORY}",
    # Of a cluster's executors.
    "spark.executor.extraJavaOptions": JVM,
    "spark.sql.shuffle.partitions": "2",
    # A zone with gaps and repeated hours.
    "spark.sql.session.timeZone": "America/New_York",
}


def session(master: str = "local[2]", more: Mapping[str, str] | None = None) -> SparkSession:
    """Returns the session of this process; its JVM starts at the first call."""
    # Workers run this Python, and find the tests wherever these are started.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    paths = [str(ROOT), os.environ.get("PYTHONPATH")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    builder = SparkSession.builder.master(master).appName("muntin-tests")
    found = builder.config(map={**SETTINGS, **(more or {})}).getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    return found
