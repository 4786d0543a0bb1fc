"""Hands a listener of ours to the JVM."""

from typing import Any

from pyspark import SparkContext


def java_listener(events: Any) -> Any:
    """Returns what PySpark adds to a session's streams for an object that the JVM calls."""
    assert SparkContext._jvm is not None
    return SparkContext._jvm.PythonStreamingQueryListenerWrapper(events)
