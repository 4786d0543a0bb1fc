"""Pipelines in a classic session: Spark hands batches and reports to this process."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from uuid import UUID

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StructType

from muntin.errors import RunError
from muntin.runtime.slicer.packing import ROWS
from muntin.runtime.stream_plan.stream_plan import StreamPlan
from muntin.spark.checkpoint.checkpoint_owner import CheckpointOwner
from muntin.spark.engine.folder import Folder
from muntin.spark.engine.listeners import Report
from muntin.spark.output.stacking import INDEX, CombinedAnswers, Stacking
from muntin.spark.pipeline.reports import ReportListener
from muntin.spark.pipeline.status import Figures
from muntin.spark.pipeline.stream_engine import RunContext, StreamEngine, StreamRun, Watcher
from muntin.spark.sinks.late_rows import LateRowsSink
from muntin.spark.sinks.sink import Answer, Answers, name_batch_in_errors
from muntin.spark.stream.event_slices import GIVEN
from muntin.spark.stream.source import BoundStream
from muntin.spark.stream.stream_answers import LATE_ROWS, StreamAnswers

log = logging.getLogger("muntin")


class MicroBatch(Answers):
    """The answers of a batch; its frame may also contain late rows."""

    def __init__(
        self, projected: StreamAnswers, stacking: Stacking, frame: DataFrame, *, is_stacked: bool
    ) -> None:
        """`frame` has numbered rows of answers or, for a stacked sink, those of `stacking`."""
        late = [part for part in stacking.parts if LATE_ROWS in part.names.values()]
        super().__init__(frame, [part for part in stacking.parts if part not in late])
        self._projected = projected
        self._late = late if is_stacked else []
        self._is_stacked = is_stacked

    @contextmanager
    def each(self) -> Iterator[list[Answer]]:
        """A frame for every query that has answers, with the nullability of its own columns."""
        with self.stored():
            yield [
                Answer(
                    name=name,
                    rows=rows,
                    frame=self._projected.answers_from_numbered(name, self._frame),
                )
                for name, (rows, _) in self._projected.count_rows(self._frame).items()
                if rows
            ]

    def whole(self) -> CombinedAnswers:
        """All answers in one frame, which must be computed once."""
        whole = super().whole()
        if not self._late:
            return whole
        numbers = ", ".join(str(number) for part in self._parts for number in part.names)
        return replace(whole, frame=self._frame.where(f"{INDEX} IN ({numbers})"))

    def late_rows(self) -> DataFrame:
        """Returns the packed rows that no open window took."""
        if not self._is_stacked:
            return self._projected.late_rows(self._frame)
        (late,) = self._late
        return late.of(self._frame).select(ROWS)


class ClassicRun(StreamRun):
    """A run in a classic session: Spark calls this process with each batch."""

    def __init__(self, bound: BoundStream, running: StreamPlan, context: RunContext) -> None:
        self._late = context.outputs.late
        self._late_rows = StructType()
        if self._late is not None:
            self._late_rows = bound.rows()
            self._late.check(self._late_rows)
        super().__init__(
            bound, running, context, late=None if self._late is None else self._late_rows
        )
        # Held while a batch is written, so that a stop never comes between two of its files.
        self._writing = threading.Lock()
        # The last batch that the sink was given; -1 before the first.
        self._written = -1

    def claim(self) -> None:
        """Reserve the places that answers and late rows will go to."""
        super().claim()
        if self._late is not None:
            self._late.claim(self._late_rows)

    def _writer(self) -> DataStreamWriter:
        given = self._stacked if self._sink.is_stacked else self._rows.frame
        return given.writeStream.foreachBatch(self._take)

    def is_between_batches(self) -> bool:
        """Whether, after `end_batches`, the sink has nothing of a batch that is not finished."""
        return self.first_batch <= self._last_finished() and self._written <= self._last_finished()

    def _between_files(self) -> threading.Lock:
        return self._writing

    def _take(self, frame: DataFrame, batch: int) -> None:
        """Called by Spark with each batch."""
        with self._writing:
            if self._halted.is_set():
                raise RunError("the pipeline was stopped")
            self._written = batch
            self._write(frame, batch)

    def _write(self, frame: DataFrame, batch: int) -> None:
        """Give a batch's answers to the sink."""
        try:
            self._context.owner.check()
            answers = MicroBatch(
                self.projected, self._stacking, frame, is_stacked=self._sink.is_stacked
            )
            try:
                if self._late is None:
                    self._sink.write(batch, answers)
                else:
                    self._write_both(frame, batch, answers, self._late)
            except (RunError, PySparkException, Py4JError):
                raise
            except Exception:
                # Of an error of the sink, Spark would keep only the text of its traceback.
                with name_batch_in_errors(batch):
                    raise
        except RunError as error:
            self._sink_error = error
            raise

    def _write_both(
        self, frame: DataFrame, batch: int, answers: MicroBatch, late: LateRowsSink
    ) -> None:
        """Give a batch's answers to the sink, and its late rows to theirs."""
        given = self._context.checkpoint.logs.emitted_before(batch)
        # Tasks find it in their properties, whichever thread starts them.
        frame.sparkSession.conf.set(GIVEN, str(given))
        with answers.stored():
            self._sink.write(batch, answers)
            late.write(batch, given, answers.late_rows(), self._late_rows)


class ListeningWatcher(ReportListener, Watcher):
    """Adds the reports of the query that runs to the figures, and logs why it fails."""

    def __init__(
        self,
        session: SparkSession,
        figures: Figures,
        name: str,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_end` is called when the query that is followed ends by itself."""
        super().__init__(session)
        self._figures = figures
        self._name = name
        self._on_end = on_end
        self._run: str | None = None
        self._is_listening = False

    def follow(self, run: UUID | str) -> None:
        """Listen to this run, and to no other, from now on until it ends."""
        self._run = str(run)
        if not self._is_listening:
            self._session.streams.addListener(self)
            self._is_listening = True

    def stop_following(self) -> None:
        """Stop listening; the run is about to stop."""
        self._run = None

    def close(self) -> None:
        """Stop listening for good."""
        if self._is_listening:
            self._is_listening = False
            self._session.streams.removeListener(self)

    def on_report(self, report: Report) -> None:
        """Called by Spark after a batch."""
        if report["runId"] == self._run:
            self._figures.add_report(report)

    def on_end(self, run: str, error: str | None) -> None:
        """Called by Spark at the end of a query."""
        if run == self._run:
            if error is not None:
                log.error("failed %s: %s", self._name, error.splitlines()[0])
            self._on_end()
            self.close()


class ClassicEngine(StreamEngine):
    """The classes of a pipeline in a classic session."""

    run_class = ClassicRun

    def owner(
        self, directory: str, *, is_active: Callable[[], bool], on_loss: Callable[[RunError], None]
    ) -> CheckpointOwner:
        """Returns the owner of a checkpoint, which keeps a file in it."""
        folder = Folder(self._session, directory)
        return CheckpointOwner(folder, directory, is_active=is_active, on_loss=on_loss)

    def watcher(self, figures: Figures, name: str, on_end: Callable[[], None]) -> ListeningWatcher:
        """Returns a listener, which Spark calls."""
        return ListeningWatcher(self._session, figures, name, on_end)
