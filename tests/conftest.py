import os
import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from pyspark.sql import SparkSession

os.environ["PYSPARK_PYTHON"] = sys.executable
# Machines are shared: a slow example is no failure.
settings.register_profile("muntin", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("muntin")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One session for all tests: small, quiet, and in a zone with gaps and repeated hours."""
    session = (
        SparkSession.builder.master("local[2]")
        .appName("muntin-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "2g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "America/New_York")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
