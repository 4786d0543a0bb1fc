"""Pipelines on Spark Connect: the server runs batches, and the client asks it for reports.

A client has neither a file system nor a JVM, so Spark reads and writes the files of a checkpoint.
Sinks are pickled, because Spark calls `foreachBatch` in a process of the server. Spark sees to it
that only one query at a time runs on a checkpoint.
"""

import re
from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from muntin.errors import RunError
from muntin.spark.output.stacking import Part
from muntin.spark.pipeline.reports import QueryReports
from muntin.spark.pipeline.status import Figures
from muntin.spark.pipeline.stream_engine import StreamEngine, StreamRun, Watcher
from muntin.spark.sinks.sink import Answers, Sink, name_batch_in_errors

# The last line of a traceback that the server sends when a sink raises an error.
_ERROR_OF_SINK = re.compile(r"^muntin\.errors\.RunError: (.+)$", re.MULTILINE)


class ConnectRun(StreamRun):
    """A run on a Spark Connect server."""

    def failure(self) -> BaseException | None:
        """What ended it, if it failed."""
        error = super().failure()
        said = None if error is None else _ERROR_OF_SINK.search(str(error))
        return error if said is None else RunError(said[1])

    def _writer(self) -> DataStreamWriter:
        return self._stacked.writeStream.foreachBatch(
            WriteOnServer(self._sink, self._stacking.parts)
        )


class PollingWatcher(Watcher):
    """Asks the server for reports: a listener of Spark Connect would keep this process alive."""

    def __init__(self, figures: Figures) -> None:
        self._figures = figures

    def catch_up(self, reports: QueryReports) -> None:
        """Read the reports that Spark remembers, if there are new ones."""
        self._figures.add_reports(reports)


class ConnectEngine(StreamEngine):
    """The classes of a pipeline on Spark Connect.

    A query continues when its client is gone, so a start with the same queries takes it over.
    """

    run_class = ConnectRun

    def watcher(self, figures: Figures, name: str, on_end: Callable[[], None]) -> PollingWatcher:
        """Returns a watcher that asks for reports."""
        return PollingWatcher(figures)


class WriteOnServer:
    """Hands each batch to the sink; pickled, so it has no frame and no session."""

    def __init__(self, sink: Sink, parts: Sequence[Part]) -> None:
        self._sink = sink
        self._parts = parts

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Write a batch; an error of the sink's own names the batch."""
        with name_batch_in_errors(batch):
            self._sink.write(batch, Answers(frame, self._parts))
