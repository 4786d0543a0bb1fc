"""Says errors of Spark's jobs and of Hadoop's file systems in a line."""

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

# What a job may raise, besides errors of its analysis.
JOB_ERRORS = (PySparkException, Py4JError)
# What may be raised when a file is read and parsed.
FILE_ERRORS = (Py4JJavaError, ValueError, KeyError, TypeError, IndexError, AttributeError)


# What file systems say when there is no room for another byte.
_FULL = ("No space left on device", "Disk quota exceeded", "DSQuotaExceededException")


def said_of_full_disk(error: BaseException) -> str | None:
    """Returns that a disk is full, in a line, if that is what an error of any kind comes from."""
    said = str(error)
    words = next((words for words in _FULL if words in said), None)
    return None if words is None else f"the disk is full ({words})"


def said_by_java(error: BaseException) -> str:
    """Returns what an error says, in a line."""
    full = said_of_full_disk(error)
    if full is not None:
        return full
    if isinstance(error, Py4JJavaError):
        java = error.java_exception
        said = str(java.getMessage() or java.toString())
    else:
        said = f"{type(error).__name__}: {error}" if isinstance(error, KeyError) else str(error)
    return said.splitlines()[0] if said else type(error).__name__
