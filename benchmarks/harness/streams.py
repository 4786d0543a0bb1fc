"""Runs streams over files, and measures the cost of each of their batches."""

import os
import threading
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from muntin.api.stream import start
from muntin.measure.processes import Cost, cost_so_far
from muntin.model.query import Query
from muntin.spark.engine.listeners import Report
from muntin.spark.pipeline.reports import ReportListener
from muntin.spark.pipeline.stream_options import StreamOptions
from muntin.spark.stream.source import SETTINGS

FILES = 20
FILES_PER_BATCH = 4
# Batches that warm up; the cost is that of the others.
WARM_UP_BATCHES = 2
WATERMARK = "10 seconds"
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


def stream_settings() -> dict[str, str]:
    """Returns settings for all contenders: state in RocksDB, a partition for each core."""
    return {**SETTINGS, "spark.sql.shuffle.partitions": str(os.cpu_count())}


def stream_files(session: SparkSession, folder: Path, files: int = FILES_PER_BATCH) -> DataFrame:
    """Returns the files of a folder as a stream, some of them in a batch."""
    reader = session.readStream.schema(session.read.parquet(str(folder)).schema)
    return reader.option("maxFilesPerTrigger", files).parquet(str(folder))


def run_pipeline(
    queries: Sequence[Query],
    stream: DataFrame,
    place: Path,
    options: StreamOptions,
    warm_up: int = WARM_UP_BATCHES,
) -> Cost:
    """Runs a pipeline until its files end; returns the cost after some batches that warm up."""
    with BatchCosts(stream.sparkSession) as costs:
        start(
            queries,
            stream,
            checkpoint=place / "check",
            sink=place / "answers",
            watermark=WATERMARK,
            trigger="available now",
            options=options,
        ).await_termination()
    return costs.cost_after(warm_up)
