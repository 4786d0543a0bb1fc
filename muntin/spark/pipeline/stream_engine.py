"""Runs of plans, and watchers of their batches, in any kind of session.

`classic` and `connect` implement `StreamEngine`, `StreamRun` and `Watcher`.
"""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import chain, count
from typing import Any
from uuid import UUID

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StructType

from muntin.errors import RunError
from muntin.runtime.stream_plan.stream_plan import StreamPlan
from muntin.spark.checkpoint.checkpoint import Checkpoint
from muntin.spark.checkpoint.checkpoint_owner import Owner
from muntin.spark.engine.settings import UNLIMITED_BATCH_BYTES, settings_of_query
from muntin.spark.error_text import full_disk_text
from muntin.spark.output.stacking import Stacking, group_by_columns, schemas_of
from muntin.spark.pipeline.outputs import Outputs
from muntin.spark.pipeline.reports import QueryReports
from muntin.spark.pipeline.status import Figures
from muntin.spark.stream.operator import PARTITIONS, state_partitions
from muntin.spark.stream.source import SETTINGS, BoundStream
from muntin.spark.stream.stream_answers import LATE_ROWS

# How long a halt waits for the batch that runs.
_PATIENCE = 60.0
# Whether Spark stops a query that runs on the checkpoint of one that starts. Spark reads this from
# the session, so it has an effect on Spark Connect alone; elsewhere a checkpoint has an owner.
_TAKES_OVER = "spark.sql.streaming.stopActiveRunOnRestart"
# Spark's error if it does not.
_IN_USE = "another query with same id is already active"


class InUseError(RunError):
    """A stream runs on the checkpoint, and it has other queries."""


@dataclass(frozen=True, kw_only=True)
class RunContext:
    """The checkpoint, outputs and figures that all runs of a pipeline share."""

    # What Spark's web page calls their queries.
    name: str
    checkpoint: Checkpoint
    owner: Owner
    outputs: Outputs
    figures: Figures


class StreamRun(ABC):
    """One Spark query that runs a plan on a checkpoint, from its start until it is halted."""

    # The number of its first batch.
    first_batch: int
    query: StreamingQuery
    reports: QueryReports

    def __init__(
        self,
        bound: BoundStream,
        running: StreamPlan,
        context: RunContext,
        *,
        late: StructType | None = None,
    ) -> None:
        """`late` are the columns of rows that no open window takes, if these are wanted."""
        self.bound = bound
        self.running = running
        self._context = context
        self._sink, self._figures = context.outputs.sink, context.figures
        self.answers, self.projected = bound.run(running, late=late)
        answers = self.projected.without_figures(self.answers)
        self._rows = self.projected.with_counts(self.projected.number_rows(answers))
        schemas = schemas_of(self._rows)
        self.schemas = {name: schema for name, schema in schemas.items() if name != LATE_ROWS}
        self._sink.check(self.schemas)
        # Made for every sink: columns that Spark refuses are found here, before anything starts.
        self._stacking = Stacking(self._rows, group_by_columns(schemas))
        self._stacked = self._stacking.frame
        self._is_late_wanted = late is not None
        self._halted = threading.Event()
        self._session = self.answers.sparkSession
        # The error that ended it, if Spark has no object of it: the sink's, or `stop_error`.
        self._sink_error: RunError | None = None
        # The error of `stop_with_error`.
        self.stop_error: RunError | None = None

    @abstractmethod
    def _writer(self) -> DataStreamWriter:
        """Returns what hands the answers of each batch to the sink."""

    def start(self, trigger: Mapping[str, Any], *, is_new: bool) -> None:
        """Start Spark's query.

        If the plan is not new, a query that runs on the checkpoint has the same plan, and Spark
        stops it; if it is new, raises `InUseError` where one runs.
        """
        checkpoint = self._context.checkpoint.for_spark
        self.first_batch = self._context.checkpoint.logs.last_commit() + 1
        self._figures.start_query(self.projected)
        writer = self._writer().option("checkpointLocation", checkpoint)
        writer = writer.queryName(self._free_name())
        if trigger:
            writer = writer.trigger(**trigger)
        # Whole rows may be long, unlike the columns that queries read.
        unmeasured = {} if self._is_late_wanted else UNLIMITED_BATCH_BYTES
        takes_over = {_TAKES_OVER: str(not is_new).lower()}
        # Spark ignores this for a checkpoint that has a number of partitions.
        partitions = {PARTITIONS: str(state_partitions(self._session))}
        values = {**SETTINGS, **unmeasured, **takes_over, **partitions}
        with settings_of_query(self._session, checkpoint, values):
            try:
                self.query = writer.start()
            except Exception as error:
                full = full_disk_text(error)
                if full is not None:
                    raise RunError(
                        f"the checkpoint {checkpoint} cannot be written: {full}"
                    ) from error
                if _IN_USE not in str(error):
                    raise
                raise InUseError(
                    f"a stream with other queries runs on {checkpoint}; start it with its own "
                    f"queries, which takes it over, and change them then"
                ) from None
        self.reports = QueryReports(self.query)

    def _free_name(self) -> str:
        """Returns the query's name, with a number if another active query of the session has that
        name: Spark refuses to start two of one name."""
        name, taken = self._context.name, {query.name for query in self._session.streams.active}
        numbered = (f"{name} ({number})" for number in count(2))
        return next(free for free in chain([name], numbered) if free not in taken)

    def claim(self) -> None:
        """Reserve the places that answers will go to; see `Sink.claim`."""
        self._sink.claim(self.schemas)

    def has_finished_rows(self) -> bool:
        """Whether a batch with rows was finished, so that all queries have been tried."""
        self._figures.add_reports(self.reports)
        return self._figures.has_rows()

    @property
    def is_halted(self) -> bool:
        """Whether it has been told to stop."""
        return self._halted.is_set()

    def is_waiting(self) -> bool:
        """Whether there is nothing to do until more data arrives."""
        return bool(self.query.status["message"].startswith("Waiting"))

    def failure(self) -> BaseException | None:
        """Returns why it failed; None if it did not."""
        # Spark has an error of the sink only as the text of a traceback.
        if self._sink_error is not None:
            return self._sink_error
        error = None if self.query.isActive else self.query.exception()
        full = None if error is None else full_disk_text(error)
        if full is None:
            return error
        return RunError(f"{full}; make room, and start again on the same checkpoint")

    def halt(self) -> None:
        """Stop Spark's query between two batches; after a minute, stop it anyway."""
        self.end_batches()
        self.stop()

    def end_batches(self) -> None:
        """Give the sink no more batches, once the one that runs is finished or a minute is over.

        Spark's query is then to be stopped.
        """
        if self.query.isActive:
            last = self._last_finished()
            patience = time.monotonic() + _PATIENCE
            while (
                self.query.isActive
                and self.query.status["isTriggerActive"]
                and self._last_finished() == last
                and time.monotonic() < patience
            ):
                time.sleep(0.02)
        with self._between_files():
            self._halted.set()

    def stop(self) -> None:
        """Stop Spark's query, after `end_batches`."""
        self.query.stop()
        self._figures.add_reports(self.reports)

    def is_between_batches(self) -> bool:
        """Whether, after `end_batches`, the sink is known to have nothing of a batch that is not
        finished."""
        return False

    def stop_with_error(self, error: RunError) -> None:
        """Stop Spark's query at once; `failure` then returns this error."""
        self._sink_error = self.stop_error = error
        self.query.stop()

    def _last_finished(self) -> int:
        """The number of the last batch that Spark has reported as finished; -1 before the first."""
        report = self.reports.last()
        if report is None:
            return -1
        batch: int = report["batchId"]
        # While there is nothing to do, Spark reports the next batch, without having run it.
        return batch if "addBatch" in report["durationMs"] else batch - 1

    def _between_files(self) -> AbstractContextManager[object]:
        """Returns a block in which no file of a batch is being written by this process."""
        return nullcontext()


class Watcher:
    """Hands Spark's reports of a run's batches to the figures of the pipeline."""

    def follow(self, run: UUID | str) -> None:
        """Watch this run, and no other, from now on until it ends."""

    def catch_up(self, reports: QueryReports) -> None:
        """Read reports of the run that Spark has not sent; called now and then."""

    def stop_following(self) -> None:
        """Stop watching the run, which is about to stop."""

    def close(self) -> None:
        """Stop watching for good."""


class StreamEngine(ABC):
    """The classes of a pipeline that differ between classic sessions and Spark Connect."""

    run_class: type[StreamRun]

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def owner(
        self, directory: str, *, is_active: Callable[[], bool], on_loss: Callable[[RunError], None]
    ) -> Owner:
        """Returns the owner of a checkpoint for one pipeline; by default Spark sees to it."""
        return Owner()

    @abstractmethod
    def watcher(self, figures: Figures, name: str, on_end: Callable[[], None]) -> Watcher:
        """Returns what reads Spark's reports; `on_end` is called when a run ends by itself."""
