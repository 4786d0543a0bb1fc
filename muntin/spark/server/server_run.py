"""A run whose batches reach their sink in a process of the server's."""

import re

from pyspark.sql.streaming.readwriter import DataStreamWriter

from muntin.errors import RunError
from muntin.spark.pipeline.stream_run import StreamRun
from muntin.spark.server.server_batch import GiveToSink

# How an error of a sink ends the traceback that Spark hands on.
_SAID_THERE = re.compile(r"^muntin\.errors\.RunError: (.+)$", re.MULTILINE)


class ServerRun(StreamRun):
    """A plan that runs, once, on a server."""

    def failure(self) -> BaseException | None:
        """What ended it, if it failed."""
        error = super().failure()
        said = None if error is None else _SAID_THERE.search(str(error))
        return error if said is None else RunError(said[1])

    def _writer(self) -> DataStreamWriter:
        return self._stacked.writeStream.foreachBatch(GiveToSink(self._sink, self._stacking.parts))
