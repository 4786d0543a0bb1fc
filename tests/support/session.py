"""Spark for tests: small, quiet, cheap for plans that see a few rows once."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
# Code for a plan takes far longer to generate and compile than a few rows take without it.
# The fixture `codegen` is for tests that run as users do.
INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
AS_USERS_HAVE_IT = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
}
JAVA_OPTIONS = [
    # A JVM that lives for minutes does not get back what its second compiler costs.
    "-XX:TieredStopAtLevel=1",
    # With one compiler it would have 48 MB for code, which is soon full: then code is thrown away
    # and compiled again, without end.
    "-XX:ReservedCodeCacheSize=240m",
    "-XX:+UseSerialGC",
    # Hadoop starts a process for the permissions of every file, and by default Java starts two.
    "-Djdk.lang.Process.launchMechanism=VFORK",
]
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.driver.extraJavaOptions": " ".join(JAVA_OPTIONS),
    # Python workers are forked from a process that has loaded what they need.
    "spark.python.daemon.module": "tests.support.daemon",
    "spark.sql.shuffle.partitions": "2",
    # A zone with gaps and repeated hours.
    "spark.sql.session.timeZone": "America/New_York",
    **INTERPRETED,
}


def session(master: str = "local[2]", more: Mapping[str, str] | None = None) -> SparkSession:
    """A session of this process; its JVM starts at the first call."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # For the workers' parent, wherever the tests are started.
    paths = [str(ROOT / "tests" / "support" / "site"), str(ROOT), os.environ.get("PYTHONPATH")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    builder = SparkSession.builder.master(master).appName("muntin-tests")
    found = builder.config(map={**SETTINGS, **(more or {})}).getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    return found
