"""A pipeline on a server of Spark Connect.

A client has neither a file system nor a JVM. Spark reads and writes the texts of a checkpoint for
it, and reports are asked for. Sinks are pickled: Spark calls `foreachBatch` in a process of the
server's. One query at a time runs on a checkpoint there, which Spark sees to.
"""

from collections.abc import Callable
from pathlib import Path
from uuid import UUID

from pyspark.sql import SparkSession

from muntin.errors import RunError
from muntin.runtime.stream_plan.stream_plan import StreamPlan
from muntin.spark.checkpoint.checkpoint import Checkpoint
from muntin.spark.pipeline.reports import QueryReports
from muntin.spark.pipeline.site import Owner
from muntin.spark.pipeline.status import Figures
from muntin.spark.server.folder_on_server import FolderOnServer, KeptOnServer
from muntin.spark.server.server_run import ServerRun
from muntin.spark.sinks.function_sink import FunctionSink
from muntin.spark.sinks.late_rows import LateLike, LateRowsSink
from muntin.spark.sinks.sink import Sink
from muntin.spark.sinks.sink_like import NO_SINK, FileOptions, SinkLike
from muntin.spark.sinks.tables import Tables
from muntin.spark.stream.source import BoundStream


class ServerSite:
    """Makes what a pipeline needs on a server."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def sink(self, sink: SinkLike, files: FileOptions, *, compact: int) -> Sink:
        """Returns the sink for what the user gave."""
        if compact != 1:
            raise RunError(
                "compact does not work on Spark Connect: a client cannot move the files of several "
                "batches; a longer trigger makes fewer files"
            )
        if sink is None:
            return KeptOnServer(self._session, mark=files["mark"], checkpoint=files["checkpoint"])
        if isinstance(sink, str | Path):
            return FolderOnServer(self._session, str(sink), **files)
        if isinstance(sink, Tables):
            raise RunError(
                "mt.Tables does not work on Spark Connect: a client cannot move files into the "
                "place of tables; give a folder, or a function that writes each answer to a table"
            )
        if isinstance(sink, Sink):
            return sink
        if callable(sink) and not isinstance(sink, type):
            return FunctionSink(sink)
        raise RunError(NO_SINK.format(sink))

    def late_sink(self, late: LateLike, files: FileOptions) -> LateRowsSink | None:
        """Refuse late rows."""
        if late is not None:
            raise RunError(
                "late does not work on Spark Connect: which rows are late is told to the tasks by "
                "the process that starts each batch, which is the server; status().late_rows "
                "counts them"
            )
        return None

    def owner(
        self, directory: str, *, is_active: Callable[[], bool], on_loss: Callable[[RunError], None]
    ) -> "SparkOwns":
        """Returns an owner that leaves it to Spark."""
        return SparkOwns()

    def watcher(self, figures: Figures, name: str, ended: Callable[[], None]) -> "Asks":
        """Returns a watcher that asks for reports."""
        return Asks(figures)

    def run(
        self,
        bound: BoundStream,
        running: StreamPlan,
        *,
        sink: Sink,
        late: LateRowsSink | None,
        figures: Figures,
        owner: Owner,
        checkpoint: Checkpoint,
    ) -> ServerRun:
        """Returns a run of a plan, not started."""
        assert late is None
        return ServerRun(bound, running, sink=sink, figures=figures)


class SparkOwns:
    """Leaves it to Spark that one query at a time runs on a checkpoint.

    A query runs on when its client is gone, so a start with the same queries takes it over.
    """

    def refuse_if_owned(self) -> None:
        """Do nothing: the start of the query tells."""

    def acquire(self) -> None:
        """Do nothing."""

    def release(self) -> None:
        """Do nothing."""

    def forget(self) -> None:
        """Do nothing."""

    def check(self) -> None:
        """Do nothing."""


class Asks:
    """Asks the server for reports: a listener of Spark Connect would keep this process alive."""

    def __init__(self, figures: Figures) -> None:
        self._figures = figures

    def follow(self, run: UUID | str) -> None:
        """Do nothing: reports are asked of the run that is watched."""

    def catch_up(self, reports: QueryReports) -> None:
        """Take in the reports that Spark remembers, if there are new ones."""
        self._figures.note(reports)

    def leave(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""
