"""Pipelines on Spark Connect: the server runs batches, and the client asks it for reports.

A client has neither a file system nor a JVM. Spark reads and writes the texts of a checkpoint for
it. Sinks are pickled, since Spark calls `foreachBatch` in a process of the server. Spark sees to it
that one query at a time runs on a checkpoint.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from muntin.errors import RunError
from muntin.runtime.stream_plan.stream_plan import StreamPlan
from muntin.spark.checkpoint.checkpoint import Checkpoint
from muntin.spark.engine.stored_frames import store
from muntin.spark.output.stacking import INDEX, CombinedAnswers, Part, Stack
from muntin.spark.pipeline.outputs import Outputs
from muntin.spark.pipeline.reports import QueryReports
from muntin.spark.pipeline.status import Figures
from muntin.spark.pipeline.stream_engine import Owner
from muntin.spark.pipeline.stream_run import StreamRun
from muntin.spark.sinks.sink import Answer, Answers, Sink, naming_batch
from muntin.spark.stream.source import BoundStream

# The last line of a traceback that the server sends when a sink raises an error.
_ERROR_OF_SINK = re.compile(r"^muntin\.errors\.RunError: (.+)$", re.MULTILINE)


class ConnectEngine:
    """Makes the parts of a pipeline that a session of Spark Connect needs."""

    def owner(
        self, directory: str, *, is_active: Callable[[], bool], on_loss: Callable[[RunError], None]
    ) -> "NoOwner":
        """Returns an owner that leaves it to Spark."""
        return NoOwner()

    def watcher(self, figures: Figures, name: str, on_end: Callable[[], None]) -> "PollingWatcher":
        """Returns a watcher that asks for reports."""
        return PollingWatcher(figures)

    def run(
        self,
        bound: BoundStream,
        running: StreamPlan,
        outputs: Outputs,
        *,
        figures: Figures,
        owner: Owner,
        checkpoint: Checkpoint,
    ) -> "ConnectRun":
        """Returns a run of a plan, not started."""
        assert outputs.late is None
        return ConnectRun(bound, running, sink=outputs.sink, figures=figures)


class ConnectRun(StreamRun):
    """A plan that runs, once, on a server."""

    def failure(self) -> BaseException | None:
        """What ended it, if it failed."""
        error = super().failure()
        said = None if error is None else _ERROR_OF_SINK.search(str(error))
        return error if said is None else RunError(said[1])

    def _writer(self) -> DataStreamWriter:
        return self._stacked.writeStream.foreachBatch(
            WriteOnServer(self._sink, self._stacking.parts)
        )


class NoOwner:
    """Leaves it to Spark that one query at a time runs on a checkpoint.

    A query continues when its client is gone, so a start with the same queries takes it over.
    """

    def refuse_if_owned(self) -> None:
        """Do nothing: Spark refuses to start the query."""

    def acquire(self) -> None:
        """Do nothing."""

    def release(self) -> None:
        """Do nothing."""

    def forget(self) -> None:
        """Do nothing."""

    def check(self) -> None:
        """Do nothing."""


class PollingWatcher:
    """Asks the server for reports: a listener of Spark Connect would keep this process alive."""

    def __init__(self, figures: Figures) -> None:
        self._figures = figures

    def follow(self, run: UUID | str) -> None:
        """Do nothing: `catch_up` has the reports of the run."""

    def catch_up(self, reports: QueryReports) -> None:
        """Read the reports that Spark remembers, if there are new ones."""
        self._figures.note(reports)

    def leave(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class WriteOnServer:
    """Hands each batch to the sink; pickled, so it has no frame and no session."""

    def __init__(self, sink: Sink, parts: Sequence[Part]) -> None:
        self._sink = sink
        self._parts = parts

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Write a batch; an error of the sink's own names the batch."""
        with naming_batch(batch):
            answers = CombinedAnswers(frame=frame, parts=self._parts)
            self._sink.write(batch, ServerBatch(answers))


class ServerBatch(Answers):
    """The answers of a batch, as sinks take them."""

    def __init__(self, whole: CombinedAnswers) -> None:
        self._whole = whole

    @contextmanager
    def each(self) -> Iterator[list[Answer]]:
        """A frame for every query that has answers."""
        with self._stored():
            counted = self._whole.frame.groupBy(INDEX).count().collect()
            rows = {row[INDEX]: row["count"] for row in counted}
            yield [
                Answer(
                    name=name,
                    rows=rows[number],
                    frame=part.of(self._whole.frame).where(f"{INDEX} = {number}").drop(INDEX),
                )
                for part in self._whole.parts
                for number, name in part.names.items()
                if number in rows
            ]

    @contextmanager
    def stacks(self) -> Iterator[list[Stack]]:
        """All answers in a few frames, each of which must be computed once, the first one first."""
        with self._stored():
            yield self._whole.stacks()

    def whole(self) -> CombinedAnswers:
        """All answers in one frame, which must be computed once."""
        return self._whole

    @contextmanager
    def _stored(self) -> Iterator[None]:
        frame = store(self._whole.frame)
        try:
            yield
        finally:
            frame.unpersist()
