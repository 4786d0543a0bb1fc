"""One Spark session for all tests of a process, and which tests need it."""

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyspark
import pytest
from hypothesis import HealthCheck, settings
from pyspark.sql import SparkSession

from muntin.spark.settings import settings as configured
from tests.support.examples import EXAMPLES, FRESH
from tests.support.session import AS_USERS_HAVE_IT, checksums, session
from tests.support.shared_jvm import attach, start_when_wanted, want

_SHARED_JVM = "shared_jvm"
_FOLDER = pytest.StashKey[TemporaryDirectory[str]]()

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


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Processes that share the tests share a JVM, too, which this process starts."""
    folder = node.config.stash.get(_FOLDER, None)
    if folder is None:
        folder = node.config.stash[_FOLDER] = TemporaryDirectory(ignore_cleanup_errors=True)
        start_when_wanted(Path(folder.name), _settings(Path(folder.name, "warehouse")))
    node.workerinput[_SHARED_JVM] = folder.name


def pytest_collection_finish(session: pytest.Session) -> None:
    """The JVM starts while tests run that need none."""
    shared = _shared_jvm(session.config)
    if shared and any(map(_needs_spark, session.items)):
        want(shared)


def _shared_jvm(config: pytest.Config) -> Path | None:
    """The folder by which a process that shares the tests with others finds their JVM."""
    folder = getattr(config, "workerinput", {}).get(_SHARED_JVM)
    return Path(folder) if folder else None


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
def spark(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    """One session for all tests of this process."""
    shared = _shared_jvm(request.config)
    if shared:
        yield attach(shared)
    else:
        found = session(more=_settings(tmp_path_factory.mktemp("warehouse")))
        yield found
        found.stop()


def _settings(warehouse: Path) -> dict[str, str]:
    return {
        # Snapshots of state are written often, so that what is wrong with one is seen.
        "spark.sql.streaming.stateStore.maintenanceInterval": "300ms",
        "spark.sql.streaming.stateStore.minDeltasForSnapshot": "1",
        "spark.sql.warehouse.dir": str(warehouse),
    }


@pytest.fixture
def codegen(spark: SparkSession) -> Iterator[None]:
    """Spark generates code and has checksums of files, as it does for users."""
    with configured(spark, AS_USERS_HAVE_IT), checksums(spark):
        yield


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
