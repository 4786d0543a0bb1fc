"""Progress reports of streaming queries: from a listener, or on request."""

import json
from collections.abc import Mapping
from typing import Any

from pyspark import SparkContext
from pyspark.sql.streaming.query import StreamingQuery

_WRAPPER = "org.apache.spark.sql.streaming.PythonStreamingQueryListenerWrapper"
# Spark's progress report of a batch.
Report = Mapping[str, Any]


def java_listener(events: Any) -> Any:
    """Returns the listener that PySpark adds to a session's streams; the JVM calls `events`."""
    assert SparkContext._jvm is not None
    # By its whole name: PySpark imports the short one when the first listener is added.
    return getattr(SparkContext._jvm, _WRAPPER)(events)


def last_report(query: StreamingQuery) -> Report | None:
    """Returns Spark's latest report of a query; None before the first."""
    if not _is_java(query):
        progress = query.lastProgress
        return None if progress is None else report_of_server(json.loads(progress.json))
    # The JVM's reports are text, which PySpark would make objects of.
    report = query._jsq.lastProgress()
    return None if report is None else dict(json.loads(report.json()))


def recent_reports(query: StreamingQuery) -> list[Report]:
    """Returns the reports that Spark remembers of a query, the oldest first."""
    if not _is_java(query):
        return [report_of_server(json.loads(progress.json)) for progress in query.recentProgress]
    return [json.loads(report.json()) for report in query._jsq.recentProgress()]


def report_of_server(report: Report) -> Report:
    """Returns a report in the form that the JVM gives it.

    A server leaves out sums over the sources, and writes rows with their schema and all nulls.
    """
    sources = report["sources"]
    observed = report.get("observedMetrics") or {}
    sums = {
        name: sum(source[name] or 0 for source in sources)
        for name in ("numInputRows", "inputRowsPerSecond", "processedRowsPerSecond")
    }
    metrics = {name: _without_schema(row) for name, row in observed.items()}
    return {**sums, **report, "observedMetrics": metrics}


def _without_schema(value: Any) -> Any:
    """Returns rows as the values of their columns by name, without nulls."""
    if isinstance(value, list):
        return [_without_schema(each) for each in value]
    if not isinstance(value, dict) or value.keys() != {"values", "schema"}:
        return value
    names = (field["name"] for field in value["schema"]["fields"])
    columns = zip(names, value["values"], strict=True)
    return {name: _without_schema(each) for name, each in columns if each is not None}


def _is_java(query: StreamingQuery) -> bool:
    """Whether a query runs in a JVM that this process reaches, and not on Spark Connect."""
    return hasattr(query, "_jsq")
