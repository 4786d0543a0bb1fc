"""Errors of Spark's analysis, its jobs and Hadoop's file systems, as one line of text."""

import re

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

# What a job may raise, besides errors of its analysis.
JOB_ERRORS = (PySparkException, Py4JError)
# What may be raised when a file is read and parsed.
FILE_ERRORS = (Py4JJavaError, ValueError, KeyError, TypeError, IndexError, AttributeError)
# What the errors of file systems contain when a disk is full.
_FULL = ("No space left on device", "Disk quota exceeded", "DSQuotaExceededException")
# The temporary name of a DataFrame in a statement, before the name of its column.
_OWN_NAME = re.compile(r"`?muntin_[0-9a-f]{32}`?\.")
# Advice for errors of Spark's, by their conditions.
_HINTS = {
    "UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE": ("; write parquet or json, or leave that column out"),
}


def full_disk_text(error: BaseException) -> str | None:
    """Returns a line that says that a disk is full, if an error comes from that; otherwise None."""
    said = str(error)
    words = next((words for words in _FULL if words in said), None)
    return None if words is None else f"the disk is full ({words})"


def job_error_text(error: BaseException) -> str:
    """Returns the first line of a job's error, or that a disk is full."""
    full = full_disk_text(error)
    if full is not None:
        return full
    if isinstance(error, Py4JJavaError):
        java = error.java_exception
        said = str(java.getMessage() or java.toString())
    else:
        said = f"{type(error).__name__}: {error}" if isinstance(error, KeyError) else str(error)
    return said.splitlines()[0] if said else type(error).__name__


def first_line(error: PySparkException) -> str:
    """Returns Spark's message without the plan, the statement and muntin's own names."""
    text = str(error).split(";\n")[0].split("\n\nJVM stacktrace")[0].strip()
    return " ".join(_OWN_NAME.sub("", text.split("\n== SQL")[0]).split())


def error_line(error: BaseException) -> str | None:
    """Returns an error of Spark's, or of a full disk, as one line; None for any other error."""
    full = full_disk_text(error)
    if full is not None:
        return full
    if isinstance(error, PySparkException):
        text = first_line(error)
        if "Traceback (most recent call last)" in text:
            # The last line of a Python worker's traceback says what failed.
            lines = str(error).split("\n\nJVM stacktrace")[0].strip().splitlines()
            return lines[-1].strip()
        return text + _HINTS.get(error.getCondition() or "", "")
    if isinstance(error, Py4JJavaError):
        return str(error.java_exception.toString()).splitlines()[0]
    return "Spark has ended unexpectedly" if isinstance(error, Py4JError) else None
