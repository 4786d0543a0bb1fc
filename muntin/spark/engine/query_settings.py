"""Starts a streaming query with settings that its session does not have."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from muntin.spark.engine.file_system import whole_path
from muntin.spark.engine.listeners import java_listener
from muntin.spark.engine.session_kind import may_use_internals
from muntin.spark.settings import settings

# A session has its settings changed by one start at a time.
_STARTING = threading.Lock()


@contextmanager
def settings_of_query(
    session: SparkSession, checkpoint: str, values: Mapping[str, str]
) -> Iterator[None]:
    """Gives these settings to the query that the block starts on a checkpoint.

    A query runs in a copy of its session. Spark tells listeners of a query before it runs the
    first batch, and waits for them; then the copy gets the settings. Public API does not reach the
    copy, so without internal classes the session has them in the block.
    """
    if not may_use_internals(session):
        with _STARTING, settings(session, values):
            yield
        return
    listener: Any = _Listener(session, whole_path(session, checkpoint), values)
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
