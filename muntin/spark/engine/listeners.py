"""What the JVM tells of streaming queries: to a listener of ours, or when it is asked."""

from typing import Any

from pyspark import SparkContext
from pyspark.sql.streaming.query import StreamingQuery


def java_listener(events: Any) -> Any:
    """Returns what PySpark adds to a session's streams for an object that the JVM calls."""
    assert SparkContext._jvm is not None
    return SparkContext._jvm.PythonStreamingQueryListenerWrapper(events)


def java_query(query: StreamingQuery) -> Any:
    """Returns the JVM's own query. Its reports are text, which PySpark would make objects of."""
    return query._jsq
