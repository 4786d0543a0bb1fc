"""Measures the cost of each batch of a stream."""

import threading

from pyspark.sql import SparkSession

from muntin.measure.processes import Cost, cost_so_far
from muntin.spark.engine.listeners import Report
from muntin.spark.pipeline.reports import ReportListener

# How long Spark may take to report the end of a stream.
_TIMEOUT_S = 60.0


class BatchCosts(ReportListener):
    """Records the cost so far at the end of every batch of the stream that runs in the block.

    It is a context manager, around the start of a stream and the wait for its end.
    """

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._ends: dict[int, Cost] = {}
        self._terminated = threading.Event()

    def __enter__(self) -> "BatchCosts":
        self._session.streams.addListener(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._end = cost_so_far()
        if kind is None:
            self._terminated.wait(_TIMEOUT_S)
        self._session.streams.removeListener(self)

    def cost_after(self, batches: int) -> Cost:
        """Returns the cost from the end of the first `batches` batches to the end of the stream."""
        return self._end - self._ends[batches - 1]

    def on_report(self, report: Report) -> None:
        """Called by Spark after a batch."""
        self._ends.setdefault(report["batchId"], cost_so_far())

    def on_end(self, run: str, error: str | None) -> None:
        """Called by Spark when all batches have been reported."""
        self._terminated.set()
