"""Makes a quiet session for the terminal: on this machine, a cluster or a Spark Connect server."""

import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException, PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from muntin.errors import RunError
from muntin.spark.engine.settings import UNLIMITED_BATCH_BYTES
from muntin.spark.error_text import first_line

# The heap of a new session.
MEMORY = "4g"
# Spark remembers a thousand SQL executions, jobs and stages for its web page, also without one: a
# tenth of a megabyte for each batch of a stream. So many are enough for a progress bar.
_SHORT_HISTORY = {
    "spark.sql.ui.retainedExecutions": "20",
    "spark.ui.retainedJobs": "100",
    "spark.ui.retainedStages": "200",
    "spark.ui.retainedTasks": "2000",
}
# Where the driver is, if all of Spark is on this machine.
_HERE = "127.0.0.1"
_PACKAGES = "spark.jars.packages"
_INSTALL_JAVA = (
    "Spark needs Java 17 or newer: install it (Debian: apt install openjdk-17-jre-headless; "
    "macOS: brew install openjdk@17) and have `java` on the PATH, or set JAVA_HOME"
)


@dataclass(frozen=True, kw_only=True)
class SparkOptions:
    """Where the Spark of a command runs, and its settings."""

    # The address of a server of Spark Connect, on whose machine the files are; None: no server.
    remote: str | None = None
    # The address of a cluster; None: all cores of this machine.
    master: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def of(
        *, remote: str | None, master: str | None, conf: Iterable[str], packages: Iterable[str]
    ) -> "SparkOptions":
        """Returns the options of a command line; raises an error where they contradict."""
        settings: dict[str, str] = {}
        for text in conf:
            key, sign, value = text.partition("=")
            if not sign or not key:
                raise RunError(f"--conf takes KEY=VALUE, not {text!r}")
            settings[key] = value
        together = ",".join(filter(None, [settings.get(_PACKAGES), *packages]))
        if together:
            settings[_PACKAGES] = together
        if remote is not None and (master is not None or together):
            option = "--packages" if master is None else "--master"
            raise RunError(f"{option} does not go with --remote: the server decides that")
        return SparkOptions(remote=remote, master=master, settings=settings)

    def all_settings(self, memory: str) -> dict[str, str]:
        """Returns the settings of a new session that is quiet on a terminal."""
        master = self.master or self.settings.get("spark.master", "local[*]")
        # A laptop's host name may not resolve. The machines of a cluster have to reach it, though.
        local = {
            "spark.driver.host": _HERE,
            "spark.driver.bindAddress": _HERE,
            "spark.ui.enabled": "false",
        }
        return {
            "spark.master": master,
            "spark.app.name": "muntin",
            "spark.driver.memory": memory,
            **(local if master.startswith("local") else {}),
            "spark.ui.showConsoleProgress": "false",
            **_SHORT_HISTORY,
            **UNLIMITED_BATCH_BYTES,
            **self.settings,
            **({"spark.master": self.master} if self.master else {}),
        }


def local_session(memory: str = MEMORY, more: Mapping[str, str] | None = None) -> SparkSession:
    """Returns the active session, or else a new one on all cores of this machine.

    A new one has a heap of `memory`; `more` are further settings of it.
    """
    return _session(SparkOptions(settings=more or {}), memory)


def _session(options: SparkOptions, memory: str = MEMORY) -> SparkSession:
    """Returns the active session, or else a new one.

    A new one has no progress bar and keeps its log off the terminal; on this machine it has no web
    page. Raises `RunError` where there is no Java to run it on.
    """
    # pyspark logs the errors it raises as JSON, too; the terminal says them once, in a line.
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    _check_java()
    conf = SparkConf()
    for key, value in options.all_settings(memory).items():
        conf.set(key, value)
    if conf.get("spark.master", "").startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # The log is a file without a name: read if Spark does not start, gone when it ends. Options
    # of log4j would come too late for what the JVM itself prints.
    with tempfile.TemporaryFile() as log, _delay_ctrl_c():
        try:
            gateway = launch_gateway(conf, {"stdout": log, "stderr": log})  # type: ignore[no-untyped-call]
        except PySparkRuntimeError as error:
            log.seek(0)
            raise RunError(_start_failure(log.read().decode(errors="replace"), error)) from None
    with _restore_ctrl_c_handler():
        return SparkSession(SparkContext(conf=conf, gateway=gateway))


def session_at(options: SparkOptions) -> SparkSession:
    """Returns a session of a Spark Connect server, of a cluster, or of this machine."""
    if options.remote is None:
        return _session(options)
    try:
        builder = SparkSession.builder.remote(options.remote)
        for key, value in options.settings.items():
            builder = builder.config(key, value)
        return builder.getOrCreate()
    except PySparkException as error:
        raise RunError(f"no session at {options.remote}: {first_line(error)}") from None
    except ImportError as error:
        raise RunError(f"--remote needs pip install 'muntin[connect]': {error}") from None


@contextmanager
def _delay_ctrl_c() -> Iterator[None]:
    """Delays Ctrl-C until after the block, so that Spark is not left half started.

    A JVM does not notice that its Python process ends while it starts, and stays.
    """
    interrupted = threading.Event()
    with _restore_ctrl_c_handler():
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, lambda *_: interrupted.set())
        yield
    if interrupted.is_set():
        signal.raise_signal(signal.SIGINT)


@contextmanager
def _restore_ctrl_c_handler() -> Iterator[None]:
    """Restores the handler of Ctrl-C, which Spark replaces in the block."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else "java"
    if shutil.which(java) is None:
        where = f"there is no {java}" if home else "there is no `java` on the PATH"
        raise RunError(f"{where}. {_INSTALL_JAVA}")


def _start_failure(log: str, error: PySparkRuntimeError) -> str:
    if "UnsupportedClassVersionError" in log:
        return f"the Java that was found is too old. {_INSTALL_JAVA}"
    said = [line.strip() for line in log.splitlines() if line.strip()]
    return f"Spark did not start: {said[-1] if said else first_line(error)}"
