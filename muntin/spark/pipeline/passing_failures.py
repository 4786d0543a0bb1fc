"""Which failures of a stream pass, so that the same batch may succeed when it is tried again."""

import time
from collections.abc import Iterator

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from muntin.errors import RunError

# How often a stream is restarted before another batch is finished, and how long it waits first.
_RESTARTS = 3
_WAITS_S = 1.0
# What Spark, the JVM and Hadoop say when a process or a machine could not be reached.
_PASSING = (
    "Python worker failed to connect back",
    "Python worker exited unexpectedly",
    "Python worker did not connect",
    "[CANNOT_OPEN_SOCKET]",
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


class Patience:
    """How often a stream has been tried again since it last finished a batch."""

    def __init__(self) -> None:
        self._tries = 0
        self._finished: int | None = None

    def allows(self, failure: BaseException, *, finished: int) -> bool:
        """Whether to try again; `finished` is the number of the last batch that was finished."""
        if finished != self._finished:
            self._tries, self._finished = 0, finished
        self._tries += 1
        return self._tries <= _RESTARTS and is_passing(failure)

    def wait(self) -> None:
        """Wait before the next try, each time twice as long."""
        time.sleep(_WAITS_S * 2 ** (self._tries - 1))


def is_passing(error: BaseException) -> bool:
    """Whether Spark failed for want of a worker, an executor or a file system that may come back.

    An error of a query, of the data or of a user's function is none, whatever it says.
    """
    chain = list(_chain(error))
    # What a sink raises of its own is no failure of Spark's.
    if isinstance(chain[-1], RunError) or not isinstance(
        chain[-1], PySparkException | Py4JJavaError
    ):
        return False
    said = "\n".join(map(str, chain))
    return any(words in said for words in _PASSING)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and what caused it, the root last."""
    found: BaseException | None = error
    while found is not None:
        yield found
        cause = found.__cause__
        # PySpark keeps the JVM's error behind its own.
        found = None if isinstance(found, PySparkException) else cause
