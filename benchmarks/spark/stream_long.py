"""`streaming --long`: what grows while a stream runs for hundreds of small batches."""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession
from rich.table import Table

from benchmarks.harness.report import Report, make_table
from benchmarks.harness.sets import SETS
from benchmarks.harness.streams import WATERMARK, stream_settings
from benchmarks.spark.sharing import plain_spark
from muntin.api.stream import start
from muntin.errors import RunError
from muntin.measure.processes import private_memory
from muntin.measure.progress import Steps
from muntin.spark.engine.session_kind import heap_bytes
from muntin.spark.engine.settings import temporary_settings
from muntin.spark.pipeline.reports import QueryReports

BATCHES = 500
# Events of a batch, the event time that a batch is ahead of the one before, and keys. The longest
# window, of a day, is over before the first look, so that the state has its size.
_ROWS, _AHEAD_S, _KEYS = 200, 3600, 5
# When to look first: what fills up once has done so.
_FIRST = 50
# Spark keeps the logs of so many batches, and deletes older state that often. Its own numbers, 100
# and 60 s, are reached later than the first look.
_LOGS = {
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.streaming.stateStore.maintenanceInterval": "5s",
}
# Files and state come and go with Spark's maintenance: the most of so many batches counts.
_WATCHED = 25
# How long to wait for all batches.
_TIMEOUT_S = 7200.0


# Figures of a stream after a number of batches, with captions and units. Memory is that after a
# collection; files and state are the most in the last batches. RocksDB has the state and a cache of
# its files that it fills up to a bound.
_FIGURES = {
    "heap_bytes": ("JVM heap, MB", 1e6),
    "driver_bytes": ("driver's Python, MB", 1e6),
    "worker_bytes": ("Python workers, MB", 1e6),
    "checkpoint_files": ("files of the checkpoint", 1),
    "checkpoint_bytes": ("their size, MB", 1e6),
    "state_rows": ("rows of state", 1),
    "rocksdb_bytes": ("RocksDB's memory, MB", 1e6),
}
# By the number of batches, early and late.
Sizes = dict[int, dict[str, int]]


@dataclass(frozen=True, kw_only=True)
class LongReport(Report):
    """A stream early and late: plain Spark's one query, and a pipeline of ten."""

    plain: Sizes
    muntin: Sizes

    def tables(self) -> list[Table]:
        """Returns a row for each figure, early and late."""
        columns = ["after so many batches"]
        for side in ("plain, 1 query", "muntin, 10 queries"):
            columns += [f">{side}\n{batch}" for batch in self.plain] + [">\ngrowth"]
        return [make_table("", columns, (self._row(name) for name in _FIGURES))]

    def _row(self, name: str) -> list[str]:
        caption, unit = _FIGURES[name]
        digits, cells = ".0f" if unit == 1 else ".1f", [caption]
        for sizes in (self.plain, self.muntin):
            early, late = (size[name] / unit for size in sizes.values())
            cells += [f"{early:{digits}}", f"{late:{digits}}"]
            cells.append(f"{late / early - 1:+.0%}" if early else "")
        return cells


def long_run(session: SparkSession, *, batches: int = BATCHES) -> LongReport:
    """Streams tiny batches, plainly and as a pipeline, and looks at both early and late."""
    if batches < 2 * _FIRST:
        raise RunError(f"a long run has at least {2 * _FIRST} batches, not {batches}")
    with (
        TemporaryDirectory(prefix="muntin-bench-") as name,
        Steps(2) as bar,
        temporary_settings(session, {**stream_settings(), **_LOGS}),
    ):
        bench = _LongRun(session, Path(name), (_FIRST, batches))
        with bar.step(f"plain Spark: {batches} batches"):
            theirs = bench.plain()
        with bar.step(f"muntin: {batches} batches"):
            ours = bench.muntin()
    return LongReport(plain=theirs, muntin=ours)


@dataclass(frozen=True)
class _LongRun:
    session: SparkSession
    folder: Path
    looks: tuple[int, int]

    def plain(self) -> Sizes:
        """One of the queries as a streaming query of Spark's that writes files."""
        place = self.folder / "plain"
        query = SETS["dash10"]()[0]
        answers = plain_spark([query], self._stream().withWatermark(query.time, WATERMARK))

        def write(frame: DataFrame, batch: int) -> None:
            frame.write.mode("overwrite").parquet(str(place / "answers" / str(batch)))

        writer = answers.writeStream.foreachBatch(write)
        running = writer.option("checkpointLocation", str(place / "check")).start()
        try:
            return self._sizes(place / "check", QueryReports(running))
        finally:
            running.stop()

    def muntin(self) -> Sizes:
        """All queries as one pipeline."""
        place = self.folder / "muntin"
        with start(
            SETS["dash10"](),
            self._stream(),
            checkpoint=place / "check",
            sink=place / "answers",
            watermark=WATERMARK,
        ) as pipeline:
            return self._sizes(place / "check", pipeline._runner.run.reports)

    def _stream(self) -> DataFrame:
        """Returns events that a source of Spark's makes, without files that would be listed."""
        options = {
            "rowsPerBatch": _ROWS,
            "advanceMillisPerBatch": _AHEAD_S * 1000,
            "startTimestamp": 1_704_067_200_000,
            "numPartitions": 2,
        }
        rows = self.session.readStream.format("rate-micro-batch").options(**options).load()
        return rows.selectExpr(
            "timestamp AS ts", f"value % {_KEYS} AS device", "CAST(value % 101 AS DOUBLE) AS temp"
        )

    def _sizes(self, check: Path, reports: QueryReports) -> Sizes:
        return {batch: self._size(check, reports, batch) for batch in self.looks}

    def _size(self, check: Path, reports: QueryReports, batch: int) -> dict[str, int]:
        batches = range(batch - _WATCHED, batch + 1)
        watched = [self._checkpoint_size(check, reports, number) for number in batches]
        gc.collect()
        memory = (heap_bytes(self.session), *private_memory())
        return dict(zip(_FIGURES, (*memory, *map(max, zip(*watched, strict=True))), strict=True))

    def _checkpoint_size(
        self, check: Path, reports: QueryReports, batch: int
    ) -> tuple[int, int, int, int]:
        """Returns files and bytes of the checkpoint after a batch, rows and memory of state."""
        _wait_until(lambda: (reports.last() or {"batchId": -1})["batchId"] >= batch)
        report = reports.last()
        assert report is not None
        files = [path for path in check.rglob("*") if path.is_file()]
        state = report["stateOperators"]
        return (
            len(files),
            sum(map(_bytes, files)),
            sum(operator["numRowsTotal"] for operator in state),
            sum(operator["memoryUsedBytes"] for operator in state),
        )


def _bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _wait_until(is_there: Callable[[], bool]) -> None:
    end = time.monotonic() + _TIMEOUT_S
    while not is_there():
        if time.monotonic() > end:
            raise RunError("the stream did not get on")
        time.sleep(0.2)
