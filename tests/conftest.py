"""One Spark session for all tests of a process, and which tests need it."""

import os
from collections.abc import Iterator

import pyspark
import pytest
from hypothesis import HealthCheck, settings
from pyspark.sql import SparkSession

from tests.support.examples import EXAMPLES, FRESH
from tests.support.session import session

# Machines are shared: a slow example is no failure. `make test` generates the same examples in
# every run; `make fuzz` generates more of them, with fresh seeds.
settings.register_profile(
    "muntin",
    max_examples=EXAMPLES,
    derandomize=not FRESH,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("muntin")


def pytest_configure(config: pytest.Config) -> None:
    """PySpark before 4.2 leaves sockets to the garbage collector, which is no error of ours."""
    if pyspark.__version__ < "4.2":
        for warning in ("ResourceWarning", "pytest.PytestUnraisableExceptionWarning"):
            config.addinivalue_line("filterwarnings", f"default::{warning}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests with a session are marked `spark`. The others come first, then those marked `long`.

    Processes take tests from each other's ends of the list, so that short ones are left for last.
    """
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
    items.sort(key=lambda item: (_needs_spark(item), item.get_closest_marker("long") is None))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """A test that is not marked `spark` finds no Java, so that it starts no JVM unnoticed."""
    if _needs_spark(item):
        return (yield)
    before = os.environ.get("JAVA_HOME")
    os.environ["JAVA_HOME"] = "/without-java"
    try:
        return (yield)
    finally:
        os.environ.pop("JAVA_HOME")
        if before is not None:
            os.environ["JAVA_HOME"] = before


def _needs_spark(item: pytest.Item) -> bool:
    return item.get_closest_marker("spark") is not None


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One session for all tests of this process."""
    found = session(more={"spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse"))})
    yield found
    found.stop()


@pytest.fixture
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Benches do not wait for idle processes: tests look at their answers, not at their figures."""
    for module in (
        "muntin.measure.processes",
        "benchmarks.spark.cold_process",
        "benchmarks.spark.factor",
        "benchmarks.spark.stream_state",
    ):
        monkeypatch.setattr(f"{module}.settle", lambda: None)
