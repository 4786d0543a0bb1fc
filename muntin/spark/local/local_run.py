"""A run whose batches reach their sink in this process."""

import threading
from collections.abc import Callable

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StructType

from muntin.errors import RunError
from muntin.runtime.stream_plan.stream_plan import StreamPlan
from muntin.spark.pipeline.status import Figures
from muntin.spark.pipeline.stream_run import StreamRun
from muntin.spark.sinks.late_rows import LateRowsSink
from muntin.spark.sinks.micro_batch import MicroBatch
from muntin.spark.sinks.sink import Sink, writing
from muntin.spark.stream.event_slices import GIVEN
from muntin.spark.stream.source import BoundStream


class LocalRun(StreamRun):
    """A plan that runs, once; Spark calls this process with each batch."""

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
        self._late = late
        self._late_rows = StructType()
        if late is not None:
            self._late_rows = bound.rows()
            late.check(self._late_rows)
        super().__init__(
            bound,
            running,
            sink=sink,
            figures=figures,
            late=None if late is None else self._late_rows,
        )
        self._check_owner = check_owner
        self._given_before = given_before
        # Held while a batch is written: a stop from this process never cuts it off between two of
        # its files.
        self._writing = threading.Lock()
        # The last batch that the sink was given; -1 before the first.
        self._written = -1

    def claim(self) -> None:
        """Keep others from the places that answers and late rows will go to."""
        super().claim()
        if self._late is not None:
            self._late.claim(self._late_rows)

    def _writer(self) -> DataStreamWriter:
        given = self._stacked if self._sink.is_stacked else self._rows.frame
        return given.writeStream.foreachBatch(self._take)

    def is_between_batches(self) -> bool:
        """Whether, after `end_batches`, the sink has nothing of a batch that is not finished."""
        return self.first <= self._finished() and self._written <= self._finished()

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
            late.write(batch, given, packed, self._late_rows)
