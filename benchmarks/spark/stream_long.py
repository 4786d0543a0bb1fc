"""`streaming --long`: what grows while a stream runs for hundreds of small batches."""

import gc
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession
from rich.table import Table

from benchmarks.harness.report import make_table
from benchmarks.harness.sets import SETS
from benchmarks.spark.sharing import plain_spark
from benchmarks.spark.streaming import WATERMARK, stream_settings
from muntin.api.stream import start
from muntin.errors import RunError
from muntin.measure.processes import private_memory
from muntin.measure.progress import Steps
from muntin.spark.engine.jvm import live_bytes
from muntin.spark.pipeline.reports import QueryReports
from muntin.spark.settings import settings

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


@dataclass(frozen=True, kw_only=True)
class Size:
    """What a stream takes after a number of batches.

    Memory is that after a collection; files and state are the most in the last of these batches.
    """

    batch: int
    # Live objects of the JVM.
    heap_bytes: int
    # Memory of this process's own, and of the Python workers together.
    driver_bytes: int
    worker_bytes: int
    checkpoint_files: int
    checkpoint_bytes: int
    state_rows: int
    # What RocksDB holds: the state, and a cache of its files that it fills up to a bound.
    rocksdb_bytes: int


@dataclass(frozen=True, kw_only=True)
class LongReport:
    """A stream early and late: plain Spark's one query, and a pipeline of ten."""

    plain: tuple[Size, Size]
    muntin: tuple[Size, Size]

    def to_json(self) -> dict[str, object]:
        """Returns all figures by name."""
        return asdict(self)

    def tables(self) -> list[Table]:
        """Returns a row for each figure, early and late."""
        columns = ["after so many batches"]
        for side in ("plain, 1 query", "muntin, 10 queries"):
            columns += [f">{side}\n{size.batch}" for size in self.plain] + [">\ngrowth"]
        rows = []
        for what, name, unit in (
            ("JVM heap, MB", "heap_bytes", 1e6),
            ("driver's Python, MB", "driver_bytes", 1e6),
            ("Python workers, MB", "worker_bytes", 1e6),
            ("files of the checkpoint", "checkpoint_files", 1),
            ("their size, MB", "checkpoint_bytes", 1e6),
            ("rows of state", "state_rows", 1),
            ("RocksDB's memory, MB", "rocksdb_bytes", 1e6),
        ):
            cells = [what]
            for pair in (self.plain, self.muntin):
                early, late = (getattr(size, name) / unit for size in pair)
                digits = ".0f" if unit == 1 else ".1f"
                cells += [f"{early:{digits}}", f"{late:{digits}}"]
                cells.append(f"{late / early - 1:+.0%}" if early else "")
            rows.append(cells)
        return [make_table("", columns, rows)]


def long_run(session: SparkSession, *, batches: int = BATCHES) -> LongReport:
    """Streams tiny batches, plainly and as a pipeline, and looks at both early and late."""
    if batches < 2 * _FIRST:
        raise RunError(f"a long run has at least {2 * _FIRST} batches, not {batches}")
    with (
        TemporaryDirectory(prefix="muntin-bench-") as name,
        Steps(2) as bar,
        settings(session, {**stream_settings(), **_LOGS}),
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

    def plain(self) -> tuple[Size, Size]:
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

    def muntin(self) -> tuple[Size, Size]:
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

    def _sizes(self, check: Path, reports: QueryReports) -> tuple[Size, Size]:
        early, late = (self._size(check, reports, batch) for batch in self.looks)
        return early, late

    def _size(self, check: Path, reports: QueryReports, batch: int) -> Size:
        watched = [
            self._checkpoint_size(check, reports, batch - _WATCHED + i) for i in range(_WATCHED + 1)
        ]
        files, file_bytes, rows, rocksdb = map(max, zip(*watched, strict=True))
        gc.collect()
        driver, workers = private_memory()
        return Size(
            batch=batch,
            heap_bytes=live_bytes(self.session),
            driver_bytes=driver,
            worker_bytes=workers,
            checkpoint_files=files,
            checkpoint_bytes=file_bytes,
            state_rows=rows,
            rocksdb_bytes=rocksdb,
        )

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
