"""One Spark query that runs a plan on a checkpoint, from its start until it is halted."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from muntin.errors import RunError
from muntin.runtime.stream_plan.stream_plan import StreamPlan
from muntin.spark.output.stacking import Stacking, alike, schemas_of
from muntin.spark.pipeline.reports import QueryReports
from muntin.spark.pipeline.status import Figures
from muntin.spark.settings import ROWS_UNMEASURED, settings
from muntin.spark.sinks.late_rows import LateRowsSink
from muntin.spark.sinks.micro_batch import MicroBatch
from muntin.spark.sinks.sink import Sink, writing
from muntin.spark.stream.event_slices import GIVEN
from muntin.spark.stream.source import SETTINGS, BoundStream
from muntin.spark.stream.stream_answers import LATE_ROWS

# How long a halt waits for the batch that runs.
_PATIENCE = 60.0


class StreamRun:
    """A plan that runs, once."""

    def __init__(
        self,
        bound: BoundStream,
        running: StreamPlan,
        *,
        sink: Sink,
        late: LateRowsSink | None,
        figures: Figures,
        check_owner: Callable[[], None],
        given_before: Callable[[int], int],
    ) -> None:
        """`check_owner` raises if the checkpoint is another pipeline's by now; `given_before` tells
        the watermark up to which answers are out when a batch runs."""
        self.bound = bound
        self.running = running
        self._late = late
        self._given_before = given_before
        self._rows = StructType()
        if late is not None:
            self._rows = bound.rows()
            late.check(self._rows)
        self.answers, self.projected = bound.run(running, late=None if late is None else self._rows)
        answers = self.projected.without_figures(self.answers)
        rows = self.projected.observed(self.projected.numbered(answers))
        schemas = schemas_of(rows)
        self.schemas = {name: schema for name, schema in schemas.items() if name != LATE_ROWS}
        sink.check(self.schemas)
        # Made for every sink: columns that Spark refuses are found here, before anything starts.
        self._stacking = Stacking(rows, alike(schemas))
        stacked = self._stacking.frame
        self._given = stacked if sink.is_stacked else rows.frame
        self._sink = sink
        self._figures = figures
        self._check_owner = check_owner
        # Held while a batch is written: a stop from this process never cuts it off between two of
        # its files.
        self._writing = threading.Lock()
        self._halted = threading.Event()
        # The last batch that the sink was given; -1 before the first.
        self._written = -1
        self._session = self.answers.sparkSession
        # What the sink could not do.
        self._failed: RunError | None = None
        # Why it was stopped at once, if it was; Spark does not know this.
        self.lost: RunError | None = None
        # The number of its first batch.
        self.first: int
        self.query: StreamingQuery
        self.reports: QueryReports

    def start(self, *, checkpoint: str, trigger: Mapping[str, Any], first: int) -> None:
        """Start Spark's query; `first` is the number of its first batch."""
        self.first = first
        self._figures.restart(self.projected)
        writer = self._given.writeStream.foreachBatch(self._take)
        writer = writer.option("checkpointLocation", checkpoint)
        if trigger:
            writer = writer.trigger(**trigger)
        # Whole rows may be long, other than what queries read of them.
        unmeasured = ROWS_UNMEASURED if self._late is None else {}
        with settings(self._session, {**SETTINGS, **unmeasured}):
            self.query = writer.start()
        self.reports = QueryReports(self.query)

    def claim(self) -> None:
        """Keep others from the places that answers and late rows will go to."""
        self._sink.claim(self.schemas)
        if self._late is not None:
            self._late.claim(self._rows)

    def has_finished_a_batch(self) -> bool:
        """Whether a batch was finished under this plan, so that the checkpoint is bound to it."""
        return self._finished() >= self.first

    @property
    def is_halted(self) -> bool:
        """Whether it was told to stop."""
        return self._halted.is_set()

    def is_waiting(self) -> bool:
        """Whether there is nothing to do until more data arrives."""
        return bool(self.query.status["message"].startswith("Waiting"))

    def failure(self) -> BaseException | None:
        """What ended it, if it failed."""
        # Spark knows an error of the sink only as the text of a Python traceback.
        if self._failed is not None:
            return self._failed
        return None if self.query.isActive else self.query.exception()

    def halt(self) -> None:
        """Stop Spark's query between two batches; after a minute, stop it anyway."""
        self.end_batches()
        self.stop()

    def end_batches(self) -> None:
        """Give the sink no more batches, once the one that runs is finished or a minute is over.

        Spark's query is then to be stopped.
        """
        if self.query.isActive:
            last = self._finished()
            patience = time.monotonic() + _PATIENCE
            while (
                self.query.isActive
                and self.query.status["isTriggerActive"]
                and self._finished() == last
                and time.monotonic() < patience
            ):
                time.sleep(0.02)
        with self._writing:
            self._halted.set()

    def stop(self) -> None:
        """Stop Spark's query, after `end_batches`."""
        self.query.stop()
        self._figures.note(self.reports)

    def is_between_batches(self) -> bool:
        """Whether, after `end_batches`, the sink has nothing of a batch that is not finished."""
        return self.first <= self._finished() and self._written <= self._finished()

    def stop_for(self, error: RunError) -> None:
        """Stop Spark's query at once, as if it had failed."""
        self._failed = self.lost = error
        self.query.stop()

    def _finished(self) -> int:
        """The number of the last batch that Spark has reported as finished; -1 before the first."""
        report = self.reports.last()
        if report is None:
            return -1
        batch: int = report["batchId"]
        # While there is nothing to do, Spark reports the next batch, without having run it.
        return batch if "addBatch" in report["durationMs"] else batch - 1

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
            self._check_owner()
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
                # An error of the sink's own: Spark would keep only the text of its traceback.
                with writing(batch):
                    raise
        except RunError as error:
            self._failed = error
            raise

    def _write_both(
        self, frame: DataFrame, batch: int, answers: MicroBatch, late: LateRowsSink
    ) -> None:
        """Give a batch's answers to the sink, and its late rows to theirs."""
        given = self._given_before(batch)
        # Tasks find it in their properties, whichever thread starts them.
        frame.sparkSession.conf.set(GIVEN, str(given))
        with answers.with_late_rows() as packed:
            self._sink.write(batch, answers)
            late.write(batch, given, packed, self._rows)
