"""What a pipeline has done: figures for its user, and measurements for the planner."""

import logging
import math
import threading
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from muntin.model.query import Grouping
from muntin.model.time import SECOND
from muntin.optimizer.replan import Measurement
from muntin.spark.engine.listeners import Report
from muntin.spark.pipeline.reports import QueryReports, instant_of
from muntin.spark.stream.state_report import LevelStatus, StateReport
from muntin.spark.stream.stream_answers import StreamAnswers

log = logging.getLogger("muntin")

# How many batches back a report may come a second time.
_REMEMBERED = 1000
# How many events, and how many keys among them, a batch had for each grouping.
Arrived = Mapping[Grouping, tuple[int, int]]
# Figures are those of so many batches.
_BATCHES = 20
_REMEMBERED_REPLANS = 100
_MOST_KEYS = 1e12


@dataclass(frozen=True, kw_only=True)
class QueryStatus:
    """What one query has done since this pipeline started."""

    rows: int = 0
    # The starts of the latest window that came out and of the first complete one; microseconds.
    last_window: int | None = None
    complete_from: int | None = None
    # Events that came after a window that contains them had come out.
    late_rows: int = 0


@dataclass(frozen=True, kw_only=True)
class Replan:
    """A move of a running pipeline to another plan for the same queries, or a failure to do so."""

    # When it was, in UTC, and how many batches with rows there were before it.
    time: str
    batches: int
    # What was measured, and what the new plan saves.
    reason: str
    # Why the plan that ran continues.
    error: str | None = None


@dataclass(frozen=True, kw_only=True)
class Status:
    """What a pipeline has done since it started."""

    is_active: bool
    batches: int
    rows_in: int
    # Events that came after a window of some query that contains them had come out.
    late_rows: int
    watermark: str | None
    batch_seconds: float | None
    state_rows: int
    state_bytes: int
    # Rows per second of the last batch, and its seconds by phase, as Spark reports them.
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
    # How often the stream was restarted after a transient error.
    restarts: int = 0
    # The last moves to other plans, by `replan()` or by the option of that name.
    replans: Sequence[Replan] = ()
    # Possible problems that were found.
    warnings: Sequence[str] = ()
    queries: Mapping[str, QueryStatus] = field(default_factory=dict)
    # The state of slices and levels, and how many partials the last batch combined.
    levels: Sequence[LevelStatus] = ()
    combines: int = 0


@dataclass(frozen=True, kw_only=True)
class _Batch:
    rows: int
    first: int
    last: int
    arrived: Arrived


class Meter:
    """Measures the rate of events and the live keys over the last batches."""

    def __init__(self) -> None:
        self._batches: deque[_Batch] = deque(maxlen=_BATCHES)
        # How many batches had rows.
        self.batches = 0
        self._lock = threading.Lock()

    def add_batch(self, report: Report, arrived: Arrived) -> None:
        """Add a batch, if it had rows."""
        times = report.get("eventTime", {})
        if report["numInputRows"] and "max" in times and arrived:
            batch = _Batch(
                rows=report["numInputRows"],
                first=instant_of(times["min"]),
                last=instant_of(times["max"]),
                arrived=arrived,
            )
            with self._lock:
                self._batches.append(batch)
                self.batches += 1

    def measurement(self) -> Measurement | None:
        """Returns the rate, live keys and shares of filters; None before a batch had rows."""
        with self._lock:
            batches = list(self._batches)
        if not batches:
            return None
        span = max(batch.last for batch in batches) - min(batch.first for batch in batches)
        rows = sum(batch.rows for batch in batches)
        # Groupings may have come and gone with queries.
        groupings = batches[-1].arrived
        keys, shares = {}, {}
        for grouping in groupings:
            known = [batch for batch in batches if grouping in batch.arrived]
            events, found = max(batch.arrived[grouping] for batch in known)
            keys[grouping] = live_keys(events, found)
            of_them = sum(batch.arrived[grouping][0] for batch in known)
            shares[grouping] = of_them / sum(batch.rows for batch in known)
        return Measurement(rate=rows * SECOND / max(span, SECOND), keys=keys, shares=shares)


def live_keys(events: int, found: int) -> float:
    """Estimates the number of keys, given how many distinct ones random events have.

    >>> round(live_keys(10_000, 100))
    100
    >>> 900 < live_keys(1000, 632) < 1100
    True
    """
    low, high = float(max(found, 1)), _MOST_KEYS
    if found >= events:
        # Every event has a key of its own, so far.
        return low
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        expected = -middle * math.expm1(-events / middle)
        low, high = (middle, high) if expected < found else (low, middle)
    return high


class Figures:
    """Adds up Spark's reports of batches, of which Spark keeps only the last hundred."""

    def __init__(self) -> None:
        self._batches = self._rows_in = self._rows_before = 0
        self.restarts = 0
        self.warnings: list[str] = []
        self.replans: deque[Replan] = deque(maxlen=_REMEMBERED_REPLANS)
        self._report: Report = {}
        self._seen: set[int] = set()
        self._last_timestamp: str | None = None
        self._lock = threading.Lock()
        # The answers of all batches, and how those of one are found in its report.
        self._answers: dict[str, tuple[int, int | None]] = {}
        self._late: Counter[str | None] = Counter()
        self._reader: StreamAnswers | None = None
        self.meter = Meter()

    def start_query(self, reader: StreamAnswers) -> None:
        """Start to count a new Spark query, which may report a batch that was cut off again.

        `reader` finds the figures of its plan in its reports.
        """
        with self._lock:
            self._seen, self._last_timestamp = set(), None
            self._reader = reader
            self._rows_before = self._rows_in

    def add_reports(self, reports: QueryReports) -> None:
        """Add the reports that Spark remembers of a query's batches, if there are new ones."""
        last = reports.last()
        # Usually none of the hundred reports is new.
        if last is not None and last["timestamp"] != self._last_timestamp:
            self._last_timestamp = last["timestamp"]
            for report in reports.recent():
                self.add_report(report)

    def add_report(self, report: Report) -> None:
        """Add a report of the query that runs, if it is new and reports a batch."""
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
                self._add_figures(report, reader)
        seconds = report["durationMs"]["triggerExecution"] / 1000
        log.debug("batch %d: %d rows in %.1f s", report["batchId"], report["numInputRows"], seconds)

    def has_rows(self) -> bool:
        """Whether some batch of the query that runs had rows."""
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
            report, measured = self._report, self.meter.measurement()
            keys = {} if measured is None else measured.keys
            operators = report.get("stateOperators", [])
            reader = self._reader
            state = StateReport() if reader is None else reader.state_in(report)
            queries = {}
            for name, first in complete_from.items():
                rows, begin = self._answers_of(name)
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
                replans=tuple(self.replans),
                warnings=tuple(self.warnings),
                queries=queries,
                levels=state.levels,
                combines=state.combined,
            )

    def _add_figures(self, report: Report, reader: StreamAnswers) -> None:
        """Add what the operator has counted in a batch."""
        self._late.update(reader.late_in(report))
        self.meter.add_batch(report, reader.arrived_in(report))
        for name, (rows, begin) in reader.counts_in(report).items():
            before, last = self._answers_of(name)
            begins = [instant for instant in (last, begin) if instant is not None]
            self._answers[name] = (before + rows, max(begins, default=None))

    def _answers_of(self, name: str) -> tuple[int, int | None]:
        return self._answers.get(name, (0, None))
