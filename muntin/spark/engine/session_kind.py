"""What muntin may ask of a session: it has a JVM at hand or is of Spark Connect, and a user may
keep muntin away from the JVM's internal classes."""

import os
import re
from weakref import WeakKeyDictionary

import pyspark
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from muntin.errors import RunError

# Where a user turns off the use of Spark's internal classes, and the values that are allowed.
_VARIABLE = "MUNTIN_JVM"
_SETTING = "spark.muntin.jvm"
_PUBLIC, _INTERNAL = "public", "internal"
# The setting of each session, which is read once.
_chosen: WeakKeyDictionary[SparkSession, str] = WeakKeyDictionary()
# Tasks at a time, if a session does not say how many it runs.
_SOME_CORES = 8


def is_connect(session: SparkSession) -> bool:
    """Whether a session talks to a server of Spark Connect, so that there is no JVM to ask."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def may_use_internals(session: SparkSession) -> bool:
    """Whether muntin may use internal classes of Spark's JVM: its plans, its catalog, its parser.

    Whoever does so has another way where it may not: on Spark Connect, and where the environment
    variable `MUNTIN_JVM` or the session's setting `spark.muntin.jvm` is `public`.
    """
    if is_connect(session):
        return False
    chosen = os.environ.get(_VARIABLE)
    if chosen is None:
        if session not in _chosen:
            _chosen[session] = session.conf.get(_SETTING, None) or _INTERNAL
        chosen = _chosen[session]
    if chosen not in (_PUBLIC, _INTERNAL):
        raise RunError(
            f"{_VARIABLE} and {_SETTING} are {_PUBLIC!r} or {_INTERNAL!r}, not {chosen!r}"
        )
    return chosen == _INTERNAL


def is_gone(error: BaseException) -> bool:
    """Whether an error says that there is no JVM, or no server, to talk to any more."""
    # What Java raises comes from a JVM that is there. Only a session of Spark Connect has what the
    # class of its errors needs installed.
    is_lost = isinstance(error, Py4JError | OSError) and not isinstance(error, Py4JJavaError)
    return is_lost or type(error).__name__ == "SparkConnectGrpcException"


def needs_jvm(session: SparkSession, what: str, instead: str) -> None:
    """Refuse what a session of Spark Connect cannot do, and say what to do instead."""
    if is_connect(session):
        raise RunError(f"{what} does not run on Spark Connect; {instead}")


def check_streams(session: SparkSession) -> None:
    """Refuse a stream where Spark has no operator for it."""
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
