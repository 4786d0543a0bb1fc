"""Reads Spark's reports of a stream's batches, as the JSON that Spark writes.

PySpark reads each report by hundreds of calls to the JVM, many of which search all its jars: a
fifth of a second of CPU for each batch and listener.
"""

import json
from datetime import datetime
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)
from pyspark.sql.streaming.query import StreamingQuery

from muntin.model.time import MILLISECOND
from muntin.spark.engine.listeners import Report, java_listener, last_report, recent_reports
from muntin.spark.engine.session_kind import may_use_internals


class QueryReports:
    """The reports that Spark remembers of one query's batches."""

    def __init__(self, query: StreamingQuery) -> None:
        self._query = query

    def last(self) -> Report | None:
        """Returns the latest report; None before the first."""
        return last_report(self._query)

    def recent(self) -> list[Report]:
        """The latest hundred reports, the oldest first."""
        return recent_reports(self._query)


class ReportListener(StreamingQueryListener):
    """Calls `on_report` and `on_end` for all streams of the session that it is added to."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def on_report(self, report: Report) -> None:
        """Called after a batch."""

    def on_end(self, run: str, error: str | None) -> None:
        """Called at the end of a run, after its reports; `error` is what it failed with."""

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Not called."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Called instead of `_Events` where internal classes are not used."""
        self.on_report(json.loads(event.progress.json))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Not called."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Called instead of `_Events` where internal classes are not used."""
        self.on_end(str(event.runId), event.exception)

    @property
    def _jlistener(self) -> Any:
        """What PySpark hands to the JVM."""
        if not may_use_internals(self._session):
            return super()._jlistener
        if not hasattr(self, "_wrapper"):
            self._wrapper = java_listener(_Events(self))
        return self._wrapper


class _Events:
    """Called by the JVM, with its own objects."""

    def __init__(self, listener: ReportListener) -> None:
        self._listener = listener

    def onQueryStarted(self, event: Any) -> None:
        pass

    def onQueryProgress(self, event: Any) -> None:
        self._listener.on_report(json.loads(event.progress().json()))

    def onQueryIdle(self, event: Any) -> None:
        pass

    def onQueryTerminated(self, event: Any) -> None:
        error = event.exception()
        said = str(error.get()) if error.isDefined() else None
        self._listener.on_end(event.runId().toString(), said)

    class Java:
        implements = ("org.apache.spark.sql.streaming.PythonStreamingQueryListener",)


def emitted_watermark(report: Report | None) -> int | None:
    """Returns the watermark of a reported batch in microseconds; None if it reports no batch.

    Windows that end by this watermark have been answered.
    """
    if report is None or "addBatch" not in report["durationMs"]:
        return None
    text = report.get("eventTime", {}).get("watermark")
    return None if text is None else instant_of(text)


def instant_of(text: str) -> int:
    """Returns an instant as Spark reports it, in microseconds."""
    return round(datetime.fromisoformat(text).timestamp() * 1000) * MILLISECOND
