"""Identifies transient errors that are worth a retry, and errors of a query that was stopped."""

import time
from collections.abc import Iterator, Sequence

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from muntin.errors import RunError

# How many restarts are allowed until another batch is finished, and the wait before the first.
_RESTARTS = 3
_WAITS_S = 1.0
# What Spark, the JVM and Hadoop say when a process or a machine could not be reached.
_TRANSIENT = (
    "Python worker failed to connect back",
    "Python worker exited unexpectedly",
    "Python worker did not connect",
    "[CANNOT_OPEN_SOCKET]",
    "[STREAMING_PYTHON_RUNNER_INITIALIZATION_COMMUNICATION_FAILURE]",
    "ExecutorLostFailure",
    "ExecutorDeadException",
    "FetchFailed",
    "MetadataFetchFailedException",
    "Could not find valid location to get block",
    "RpcTimeoutException",
    "java.util.concurrent.TimeoutException",
    "java.net.SocketTimeoutException",
    "java.net.SocketException",
    "java.net.ConnectException",
    "java.net.NoRouteToHostException",
    "java.net.UnknownHostException",
    "java.nio.channels.ClosedChannelException",
    "Connection reset by peer",
    "org.apache.hadoop.ipc.StandbyException",
    "org.apache.hadoop.ipc.RetriableException",
    "org.apache.hadoop.hdfs.server.namenode.SafeModeException",
    "BlockMissingException",
    "Filesystem closed",
)
# What they say when Spark's query or one of its jobs was stopped.
_STOPPED = (
    "java.lang.InterruptedException",
    "java.io.InterruptedIOException",
    "java.nio.channels.ClosedByInterruptException",
    "SPARK_JOB_CANCELLED",
    "cancelled job group",
)


class RetryPolicy:
    """Allows a few retries between two finished batches, each after a longer wait."""

    def __init__(self) -> None:
        self._tries = 0
        self._finished: int | None = None

    def allows(self, failure: BaseException, *, finished: int | None = None) -> bool:
        """Whether to try again; `finished` is the number of the last finished batch, if known."""
        if finished is not None and finished != self._finished:
            self._tries, self._finished = 0, finished
        self._tries += 1
        return self._tries <= _RESTARTS and is_transient(failure)

    def wait(self) -> None:
        """Wait before the next try, each time twice as long."""
        time.sleep(_WAITS_S * 2 ** (self._tries - 1))


def is_transient(error: BaseException) -> bool:
    """Whether Spark failed because it could not reach a worker, an executor or a file system.

    An error of a query, of the data or of a user's function is never transient, whatever it says.
    """
    return _contains_text(error, _TRANSIENT)


def was_stopped(error: BaseException) -> bool:
    """Whether Spark failed because somebody stopped its query or its job in the middle."""
    return _contains_text(error, _STOPPED)


def _contains_text(error: BaseException, words: Sequence[str]) -> bool:
    """Whether an error of Spark's contains one of these texts; an error of a sink never does."""
    chain = list(_error_and_causes(error))
    if isinstance(chain[-1], RunError) or not isinstance(
        chain[-1], PySparkException | Py4JJavaError
    ):
        return False
    said = "\n".join(map(str, chain))
    return any(word in said for word in words)


def _error_and_causes(error: BaseException) -> Iterator[BaseException]:
    """Yields an error and its causes, the root last."""
    failure: BaseException | None = error
    while failure is not None:
        yield failure
        cause = failure.__cause__
        # PySpark keeps the JVM's error behind its own.
        failure = None if isinstance(failure, PySparkException) else cause
