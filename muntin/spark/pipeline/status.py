"""What a pipeline has done, as it tells its user."""

import logging
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from muntin.spark.engine.listeners import Report
from muntin.spark.pipeline.meter import Meter
from muntin.spark.pipeline.reports import QueryReports
from muntin.spark.stream.state_report import LevelStatus, StateReport
from muntin.spark.stream.stream_answers import StreamAnswers

log = logging.getLogger("muntin")

# How many batches back a report may come a second time.
_REMEMBERED = 1000


@dataclass(frozen=True, kw_only=True)
class QueryStatus:
    """What one query has done since this pipeline started."""

    rows: int = 0
    # The begin of the latest window given out, and of the first that is complete; microseconds.
    last_window: int | None = None
    complete_from: int | None = None
    # Events that came after some window that holds them had been given out.
    late_rows: int = 0


@dataclass(frozen=True, kw_only=True)
class Status:
    """What a pipeline has done since it started."""

    is_active: bool
    batches: int
    rows_in: int
    # Events that came after some window that holds them had been given out, of whatever query.
    late_rows: int
    watermark: str | None
    batch_seconds: float | None
    state_rows: int
    state_bytes: int
    # How many rows a second the last batch took in, and where its time went, in seconds by phase;
    # both as Spark reports them.
    rows_per_second: float | None = None
    phases: Mapping[str, float] = field(default_factory=dict)
    # Events per second of event time, and live keys by grouping, over the last batches.
    rate: float | None = None
    live_keys: Mapping[str, float] = field(default_factory=dict)
    # Whether there is nothing to do until more data arrives.
    is_waiting: bool = False
    # What ended the stream, if it failed.
    error: str | None = None
    # Why the last change of queries was taken back, if it was.
    refused: str | None = None
    # Why queries were dropped, by name.
    dropped: Mapping[str, str] = field(default_factory=dict)
    # How often the stream was restarted because Spark failed for a reason that passes.
    restarts: int = 0
    # What was found at the start and may be wrong.
    warnings: Sequence[str] = ()
    queries: Mapping[str, QueryStatus] = field(default_factory=dict)
    # What is kept of slices and their levels, and how many partials the last batch combined.
    levels: Sequence[LevelStatus] = ()
    combines: int = 0


class Figures:
    """Sums over Spark's reports of batches, which it forgets after a hundred, and over answers."""

    def __init__(self) -> None:
        self._batches = self._rows_in = self._rows_before = 0
        self.restarts = 0
        self.warnings: list[str] = []
        self._report: Report = {}
        self._seen: set[int] = set()
        self._looked: str | None = None
        self._lock = threading.Lock()
        # The answers of all batches, and how those of one are found in its report.
        self._answers: dict[str, tuple[int, int | None]] = {}
        self._late: Counter[str | None] = Counter()
        self._reader: StreamAnswers | None = None
        self.meter = Meter()

    def restart(self, reader: StreamAnswers) -> None:
        """Start to count a new Spark query, which may report a batch that was cut off again.

        `reader` finds the figures of its plan in its reports.
        """
        with self._lock:
            self._seen, self._looked = set(), None
            self._reader = reader
            self._rows_before = self._rows_in

    def note(self, reports: QueryReports) -> None:
        """Take in the reports that Spark remembers of a query's batches, if there are new ones."""
        last = reports.last()
        # It remembers a hundred reports, of which mostly none is new.
        if last is not None and last["timestamp"] != self._looked:
            self._looked = last["timestamp"]
            for report in reports.recent():
                self.take(report)

    def take(self, report: Report) -> None:
        """Take in a report of the query that runs, if it is new and tells of a batch."""
        with self._lock:
            reader = self._reader
            if report["batchId"] in self._seen or "addBatch" not in report["durationMs"]:
                return
            self._seen.add(report["batchId"])
            self._seen.discard(report["batchId"] - _REMEMBERED)
            self._batches += 1
            self._rows_in += report["numInputRows"]
            self._report = report
            if reader is not None:
                self._read(report, reader)
        seconds = report["durationMs"]["triggerExecution"] / 1000
        log.debug("batch %d: %d rows in %.1f s", report["batchId"], report["numInputRows"], seconds)

    def has_rows(self) -> bool:
        """Whether a batch of the query that runs has had rows."""
        with self._lock:
            return self._rows_in > self._rows_before

    def status(
        self,
        *,
        is_active: bool,
        is_waiting: bool,
        complete_from: Mapping[str, int | None],
        refused: str | None,
        error: str | None,
        dropped: Mapping[str, str] | None = None,
    ) -> Status:
        """Returns all figures as they are now, for the queries that run."""
        with self._lock:
            report, measured = self._report, self.meter.measured()
            keys = {} if measured is None else measured.keys
            operators = report.get("stateOperators", [])
            reader = self._reader
            state = StateReport() if reader is None else reader.state_in(report)
            queries = {}
            for name, first in complete_from.items():
                rows, begin = self._of(name)
                queries[name] = QueryStatus(
                    rows=rows, last_window=begin, complete_from=first, late_rows=self._late[name]
                )
            return Status(
                is_active=is_active,
                is_waiting=is_waiting,
                batches=self._batches,
                rows_in=self._rows_in,
                late_rows=self._late[None],
                watermark=report.get("eventTime", {}).get("watermark"),
                batch_seconds=report["durationMs"]["triggerExecution"] / 1000 if report else None,
                state_rows=sum(operator["numRowsTotal"] for operator in operators),
                state_bytes=sum(operator["memoryUsedBytes"] for operator in operators),
                rows_per_second=report.get("processedRowsPerSecond"),
                phases={name: ms / 1000 for name, ms in report.get("durationMs", {}).items()},
                rate=None if measured is None else measured.rate,
                live_keys={str(grouping): live for grouping, live in keys.items()},
                error=error,
                refused=refused,
                dropped=dropped or {},
                restarts=self.restarts,
                warnings=tuple(self.warnings),
                queries=queries,
                levels=state.levels,
                combines=state.combined,
            )

    def _read(self, report: Report, reader: StreamAnswers) -> None:
        """Take in what a plan's own operator has counted in a batch."""
        self._late.update(reader.late_in(report))
        self.meter.take(report, reader.arrived_in(report))
        for name, (rows, begin) in reader.counts_in(report).items():
            before, last = self._of(name)
            begins = [instant for instant in (last, begin) if instant is not None]
            self._answers[name] = (before + rows, max(begins, default=None))

    def _of(self, name: str) -> tuple[int, int | None]:
        return self._answers.get(name, (0, None))
