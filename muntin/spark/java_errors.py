"""Says errors of Spark's jobs and of Hadoop's file systems in a line."""

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

# What a job may raise, besides errors of its analysis.
JOB_ERRORS = (PySparkException, Py4JError)
# What may be raised when a file is read and parsed.
FILE_ERRORS = (Py4JJavaError, ValueError, KeyError, TypeError, IndexError, AttributeError)


def said_by_java(error: BaseException) -> str:
    """Returns what an error says, in a line."""
    if isinstance(error, Py4JJavaError):
        java = error.java_exception
        said = str(java.getMessage() or java.toString())
    else:
        said = f"{type(error).__name__}: {error}" if isinstance(error, KeyError) else str(error)
    return said.splitlines()[0] if said else type(error).__name__
