"""Sets a session's settings for a while: in a block, in a later analysis, or for one stream.

A DataFrame has the time zone, ANSI mode and other settings of the moment in which it was made.
Answers are made when they are first used, and must have the settings of the call that promised
them.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock, RLock
from typing import Any

from pyspark.sql import SparkSession

from muntin.spark.engine.folder import absolute_path
from muntin.spark.engine.listeners import java_listener
from muntin.spark.engine.session_kind import is_connect, may_use_internals

# Spark would compute, for every row that it hands to Python, how many bytes the batch has by then:
# a quarter of what all tasks cost. Without that a batch has as many rows as Spark's other limit
# says, which is fine where rows are short, as events with the columns that queries read.
UNLIMITED_BATCH_BYTES = {"spark.sql.execution.arrow.maxBytesPerBatch": str((1 << 31) - 1)}
# Spark skips stored rows by bounds that leave out NaN, so that `x > 0` would lose rows where x is
# NaN. muntin turns this off for good, because rows may be read at any time.
PRUNING = "spark.sql.inMemoryColumnarStorage.partitionPruning"
# Threads that share a session wait for each other: its settings are the same for all of them.
_ANALYSIS = RLock()
# Only one start at a time changes a session's settings.
_START = Lock()


@contextmanager
def temporary_settings(session: SparkSession, values: Mapping[str, str | None]) -> Iterator[None]:
    """Give the session these settings in the block; None unsets one.

    A stream keeps the settings that it started with.
    """
    before = {name: session.conf.get(name, None) for name in values}
    try:
        _set(session, values)
        yield
    finally:
        _set(session, before)


def _set(session: SparkSession, values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            session.conf.unset(name)
        else:
            session.conf.set(name, value)


class SettingsOfAnalysis:
    """The settings of a session at one moment, to analyse under them later.

    A Spark Connect server analyses a DataFrame each time it is used, under the settings of that
    moment. So there nothing is restored.
    """

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        with _ANALYSIS:
            self._values = None if is_connect(session) else _all_settings(session)

    @contextmanager
    def restore(self) -> Iterator[None]:
        """Give the session these settings again in the block.

        Only analyse in the block: other users of the session see its settings.
        """
        with _ANALYSIS:
            now = None if self._values is None else _all_settings(self._session)
            changed: dict[str, str | None] = {}
            if self._values != now:
                before, after = _as_dict(self._values, self._session), _as_dict(now, self._session)
                names = dict.fromkeys([*before, *after])
                changed = {n: before.get(n) for n in names if before.get(n) != after.get(n)}
            with temporary_settings(self._session, changed):
                yield


def _all_settings(session: SparkSession) -> Any:
    """Returns all settings except `PRUNING`: an immutable map of the JVM, which compares them fast,
    or a dictionary."""
    if not may_use_internals(session):
        return {name: value for name, value in session.conf.getAll.items() if name != PRUNING}
    conf = session._jsparkSession.sessionState().conf()
    return conf.getAllConfs().removed(PRUNING)


def _as_dict(values: Any, session: SparkSession) -> dict[str, str]:
    if isinstance(values, dict):
        return values
    jvm: Any = session._jvm
    return dict(jvm.scala.jdk.javaapi.CollectionConverters.asJava(values))


@contextmanager
def settings_of_query(
    session: SparkSession, checkpoint: str, values: Mapping[str, str]
) -> Iterator[None]:
    """Give these settings to the streaming query that the block starts on a checkpoint.

    A query runs in a copy of its session. Spark notifies listeners before it runs the first batch,
    and waits for them; then the copy gets the settings. Public API does not reach the copy, so
    without internal classes the session has them in the block.
    """
    if not may_use_internals(session):
        with _START, temporary_settings(session, values):
            yield
        return
    listener: Any = _Listener(session, absolute_path(session, checkpoint), values)
    session.streams.addListener(listener)
    try:
        yield
    finally:
        session.streams.removeListener(listener)


class _Listener:
    """Called by the JVM; changes the settings of one query when it starts."""

    def __init__(self, session: SparkSession, checkpoint: str, values: Mapping[str, str]) -> None:
        self._streams = session._jsparkSession.streams()
        self._checkpoint = checkpoint
        self._values = values
        # What PySpark hands to the JVM.
        self._jlistener = java_listener(self)

    def onQueryStarted(self, event: Any) -> None:
        query = self._streams.get(event.id()).streamingQuery()
        if query.resolvedCheckpointRoot() == self._checkpoint:
            for name, value in self._values.items():
                query.sparkSessionForStream().conf().set(name, value)

    def onQueryProgress(self, event: Any) -> None:
        pass

    def onQueryIdle(self, event: Any) -> None:
        pass

    def onQueryTerminated(self, event: Any) -> None:
        pass

    class Java:
        implements = ("org.apache.spark.sql.streaming.PythonStreamingQueryListener",)
