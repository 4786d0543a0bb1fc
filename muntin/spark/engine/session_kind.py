"""The kind of a session, with a JVM or of Spark Connect, its cores, and the process of its JVM."""

import os
import re
import time
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

import pyspark
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from muntin.errors import RunError

# The switch for Spark's internal classes, and its values.
_VARIABLE = "MUNTIN_JVM"
_SETTING = "spark.muntin.jvm"
_PUBLIC, _INTERNAL = "public", "internal"
# The setting of each session, which is read once.
_settings: WeakKeyDictionary[SparkSession, str] = WeakKeyDictionary()
# Tasks at a time, if a session does not say how many it runs.
_SOME_CORES = 8


def is_connect(session: SparkSession) -> bool:
    """Whether a session talks to a server of Spark Connect, so that there is no JVM to ask."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def may_use_internals(session: SparkSession) -> bool:
    """Whether muntin may use internal classes of Spark's JVM: its plans, its catalog, its parser.

    It may not on Spark Connect, and if the environment variable `MUNTIN_JVM` or the session's
    setting `spark.muntin.jvm` is `public`. Every caller has a fallback on public API.
    """
    if is_connect(session):
        return False
    chosen = os.environ.get(_VARIABLE)
    if chosen is None:
        if session not in _settings:
            _settings[session] = session.conf.get(_SETTING, None) or _INTERNAL
        chosen = _settings[session]
    if chosen not in (_PUBLIC, _INTERNAL):
        raise RunError(
            f"{_VARIABLE} and {_SETTING} are {_PUBLIC!r} or {_INTERNAL!r}, not {chosen!r}"
        )
    return chosen == _INTERNAL


def is_session_lost(error: BaseException) -> bool:
    """Whether an error says that the JVM or the server is gone."""
    # A Java exception comes from a live JVM. The class of Spark Connect's errors needs packages
    # that only its sessions have, so it is compared by name.
    is_lost = isinstance(error, Py4JError | OSError) and not isinstance(error, Py4JJavaError)
    return is_lost or type(error).__name__ == "SparkConnectGrpcException"


def require_jvm(session: SparkSession, what: str, instead: str) -> None:
    """Refuse what a session of Spark Connect cannot do; the error says what to do instead."""
    if is_connect(session):
        raise RunError(f"{what} does not run on Spark Connect; {instead}")


def check_streams(session: SparkSession) -> None:
    """Refuse a stream if this version of Spark Connect has no operator for it."""
    if is_connect(session):
        # The client and the server may be of different versions.
        for version in (pyspark.__version__, session.version):
            if _numbers(version) < (4, 1):
                raise RunError(
                    f"streams run on Spark Connect from Spark 4.1 on, and this is Spark {version}"
                )


def _numbers(version: str) -> tuple[int, ...]:
    """Returns the first two numbers of a version."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


def cores_of(session: SparkSession) -> int:
    """Returns how many tasks a session runs at a time."""
    if not is_connect(session):
        return session.sparkContext.defaultParallelism
    given = session.conf.get("spark.default.parallelism", None)
    shuffled = int(session.conf.get("spark.sql.shuffle.partitions", None) or _SOME_CORES)
    return int(given) if given else min(_SOME_CORES, shuffled)


def is_local(session: SparkSession) -> bool:
    """Whether a session runs its tasks in this process's own JVM."""
    if is_connect(session):
        return False
    return re.fullmatch(r"local(\[.*\])?", session.sparkContext.master or "") is not None


def jvm_pid() -> int | None:
    """Returns the process of the JVM that this process is connected to, if there is one."""
    return None if SparkContext._jvm is None else _pid(SparkContext._jvm)


@cache
def _pid(jvm: Any) -> int:
    """Returns the process of a JVM; cached, because memory is sampled ten times a second."""
    return int(getattr(jvm, "java.lang.ProcessHandle").current().pid())


def heap_bytes(session: SparkSession, *, collections: int = 20, pause_s: float = 0.2) -> int:
    """Returns the heap of the driver's JVM after a collection, the least of several.

    A stream may run on meanwhile, and each of its tasks holds pages of 64 MB for a moment.
    """
    assert session._jvm is not None
    memory = getattr(session._jvm, "java.lang.management.ManagementFactory").getMemoryMXBean()
    used = []
    for _ in range(collections):
        memory.gc()
        used.append(int(memory.getHeapMemoryUsage().getUsed()))
        time.sleep(pause_s)
    return min(used)
