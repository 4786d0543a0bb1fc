"""A plan that runs on a stream until it is stopped, and whose queries can change meanwhile."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any
from uuid import uuid4

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from muntin.errors import RunError, nearest
from muntin.model.plan import Plan
from muntin.model.plan_json import plan_to_json
from muntin.model.query import PlainQuery, Query, Workload
from muntin.model.time import parse_duration
from muntin.model.window import Duration
from muntin.runtime.running import Running, changed, check_same, first_start
from muntin.share.optimizer import DEFAULT, optimize
from muntin.spark.checkpoint import Checkpoint, Stored
from muntin.spark.sinks import Answer, FolderSink, FunctionSink, MemorySink, Sink
from muntin.spark.status import Figures, QueryStatus, Status
from muntin.spark.stream import (
    BUCKETS,
    SETTINGS,
    SPARE,
    WATERMARK,
    BoundStream,
    Queries,
    Source,
    checked_buckets,
    is_checked,
    planned,
)
from muntin.spark.stream_answers import StreamAnswers
from muntin.spark.tables import Tables, TableSink

log = logging.getLogger("muntin")

# A folder for a subfolder per query, tables, a function `f(name, frame, batch)`, or none: memory.
SinkLike = str | Path | Tables | Callable[[str, DataFrame, int], None] | None


def start(
    queries: Queries,
    data: DataFrame,
    *,
    checkpoint: str | Path,
    sink: SinkLike = None,
    watermark: Duration = WATERMARK,
    trigger: str | None = None,
    strategy: str = DEFAULT,
    retain: Duration = 0,
    buckets: int | None = None,
    spare: int = SPARE,
    format: str = "parquet",
    options: Mapping[str, str] | None = None,
) -> "Pipeline":
    """Run a plan, or queries under a strategy, on a streaming DataFrame.

    On a checkpoint that exists it goes on where it stopped; with other queries than before, as if
    they had been changed while it ran. `trigger` is the time between batches, such as "10 seconds",
    "available now" for what is there and then an end, or none for as fast as possible. `retain` is
    how long slices are kept for queries that come later. `buckets` of keys and `spare` columns of
    each kind for later queries are decided at the first start. `format` and `options` are those of
    the files, where `sink` is a folder.
    """
    source = Source(data, watermark)
    bound = source.bind(planned(queries, strategy))
    session = data.sparkSession
    folder = Checkpoint(session, str(checkpoint))
    kept = parse_duration(retain)
    stored = folder.load()
    if stored is None:
        running = first_start(
            bound.plan,
            bound.needs,
            buckets=checked_buckets(BUCKETS if buckets is None else buckets),
            delay=source.delay,
            retain=kept,
            checked=is_checked(session),
            spare=spare,
        )
        mark = uuid4().hex[:8]
    else:
        check_same(stored.running, delay=source.delay, checked=is_checked(session), buckets=buckets)
        running, mark = _going_on(stored.running, bound, folder, retain=kept), stored.mark
    pipeline = Pipeline(
        source=source,
        session=session,
        checkpoint=folder,
        sink=_sink(sink, session, mark, format, options),
        trigger=_trigger(trigger),
        strategy=bound.plan.strategy,
        mark=mark,
    )
    pipeline._run(bound, running, is_new=stored is None or running is not stored.running)
    return pipeline


def _going_on(running: Running, bound: BoundStream, folder: Checkpoint, *, retain: int) -> Running:
    """The plan to go on with: the stored one if nothing has changed."""
    same = plan_to_json(bound.plan) == plan_to_json(running.plan)
    if same and retain == running.retain:
        return running
    found = changed(running, bound.plan, bound.needs, watermark=folder.watermark())
    return replace(found, retain=retain)


def _sink(
    sink: SinkLike,
    session: SparkSession,
    mark: str,
    format: str,
    options: Mapping[str, str] | None,
) -> Sink:
    if sink is None:
        return MemorySink(session)
    if isinstance(sink, str | Path):
        return FolderSink(session, str(sink), mark=mark, format=format, options=options)
    if isinstance(sink, Tables):
        return TableSink(session, sink, mark=mark, format=format, options=options)
    if callable(sink):
        return FunctionSink(sink)
    raise RunError(
        f"a sink is a folder, mt.Tables, a function f(name, frame, batch), or none, not {sink!r}"
    )


def _trigger(trigger: str | None) -> dict[str, Any]:
    if trigger is None:
        return {}
    if trigger.strip().lower() == "available now":
        return {"availableNow": True}
    parse_duration(trigger)
    return {"processingTime": trigger}


class Pipeline:
    """A running plan. Made by `start`; as a context manager it is stopped at the end."""

    def __init__(
        self,
        *,
        source: Source,
        session: SparkSession,
        checkpoint: Checkpoint,
        sink: Sink,
        trigger: Mapping[str, Any],
        strategy: str,
        mark: str,
    ) -> None:
        self._source = source
        self._session = session
        self._checkpoint = checkpoint
        self._sink = sink
        self._trigger = trigger
        self._strategy = strategy
        self._mark = mark
        # Held while a batch is written, and while the stream is stopped: a batch is never cut off
        # between two of its files by a stop from this process.
        self._writing = threading.Lock()
        self._figures = Figures()
        self._rows: dict[str, tuple[int, int | None]] = {}
        self._running: Running
        self._query: StreamingQuery

    @property
    def plan(self) -> Plan:
        """The plan that runs."""
        return self._running.plan

    @property
    def complete_from(self) -> Mapping[str, int | None]:
        """The begin of each query's first complete window, in microseconds; none: all are."""
        return dict(self._running.complete_from)

    def add(self, *queries: Query) -> Mapping[str, int | None]:
        """Answer more queries from now on; one restart for all of them.

        Gives the begin of the first complete window of each, as `complete_from`.
        """
        names = {query.name.lower() for query in self.plan.queries}
        for query in queries:
            if query.name.lower() in names:
                raise RunError(f"a query called {query.name!r} runs already; use replace")
        self.replace([*self.plan.queries, *queries])
        return {query.name: self.complete_from[query.name] for query in queries}

    def remove(self, *names: str) -> None:
        """Stop answering some queries; one restart for all of them."""
        have = [query.name for query in self.plan.queries]
        for name in names:
            if name not in have:
                raise RunError(f"no query is called {name!r}; {nearest(name, have)}")
        left = [query for query in self.plan.queries if query.name not in names]
        if not left:
            raise RunError("these are all queries that run; stop the pipeline instead")
        self.replace(left)

    def replace(self, queries: Queries) -> None:
        """Answer these queries from now on: the batch is finished, then the stream restarts.

        A query that runs already, by its name and definition, goes on without a gap. If the new
        queries are refused, the old ones run on.
        """
        if isinstance(queries, Plan):
            plan = queries
        else:
            found = queries if isinstance(queries, Workload) else self._workload(queries)
            plan = optimize(found, self._strategy)
        bound = self._source.bind(plan)
        # Refused here, where there is no room: before anything is stopped.
        changed(self._running, bound.plan, bound.needs, watermark=None)
        self._halt()
        running = _going_on(self._running, bound, self._checkpoint, retain=self._running.retain)
        self._run(bound, running, is_new=running is not self._running)

    def _workload(self, queries: Query | PlainQuery | Any) -> Workload:
        if isinstance(queries, Query | PlainQuery):
            queries = (queries,)
        return Workload(queries=tuple(queries), rate=self.plan.rate, keys=self.plan.keys)

    def stop(self) -> None:
        """Finish the batch that runs, and stop. `start` on the same checkpoint goes on."""
        self._halt()
        log.info("stopped %s", self._checkpoint.directory)

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait until the stream ends, or fails; whether it did within `timeout` seconds."""
        if timeout is None:
            self._query.awaitTermination()
            return True
        return bool(self._query.awaitTermination(int(timeout)))

    def process_all_available(self) -> None:
        """Wait until all that is there now has been answered: for tests."""
        self._query.processAllAvailable()

    def answers(self, name: str) -> DataFrame:
        """A query's answers so far, where the sink is memory."""
        if not isinstance(self._sink, MemorySink):
            raise RunError("answers are kept in memory only where no sink was given")
        self.plan.query(name)
        found = self._sink.answers(name)
        if found is not None:
            return found
        return self._session.createDataFrame([], self._projected.of(name, self._answers).schema)

    def status(self) -> Status:
        """What the pipeline has done since it started."""
        self._figures.note(self._query)
        last = self._figures.last
        operators = last.get("stateOperators", [])
        queries = {
            name: QueryStatus(
                rows=self._rows.get(name, (0, None))[0],
                last_window=self._rows.get(name, (0, None))[1],
                complete_from=first,
            )
            for name, first in self._running.complete_from.items()
        }
        return Status(
            is_active=self._query.isActive,
            batches=self._figures.batches,
            rows_in=self._figures.rows_in,
            late_rows=self._figures.late_rows,
            watermark=last.get("eventTime", {}).get("watermark"),
            batch_seconds=last["durationMs"]["triggerExecution"] / 1000 if last else None,
            state_rows=sum(one["numRowsTotal"] for one in operators),
            state_bytes=sum(one["memoryUsedBytes"] for one in operators),
            queries=queries,
        )

    def __enter__(self) -> "Pipeline":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _run(self, bound: BoundStream, running: Running, *, is_new: bool) -> None:
        """Start Spark's query for a plan. What can be refused was refused before."""
        answers, projected = bound.run(running)
        if is_new:
            self._checkpoint.save(Stored(running=running, mark=self._mark))
        self._running, self._projected, self._answers = running, projected, answers
        self._figures.restart()
        halted = self._halted = threading.Event()

        def write(frame: DataFrame, batch: int) -> None:
            with self._writing:
                if halted.is_set():
                    raise RunError("the pipeline was stopped")
                self._write(projected, frame, batch)

        writer = answers.writeStream.foreachBatch(write).option(
            "checkpointLocation", self._checkpoint.for_spark
        )
        if self._trigger:
            writer = writer.trigger(**self._trigger)
        with _settings(self._session):
            self._query = writer.start()
        names = ", ".join(query.name for query in running.plan.queries)
        log.info(
            "started %s, generation %d: %s", self._checkpoint.directory, running.generation, names
        )

    def _write(self, projected: StreamAnswers, frame: DataFrame, batch: int) -> None:
        """Give a batch's answers to the sink; all of them are computed once."""
        frame.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            counts = projected.counted(frame)
            answers = [
                Answer(name=name, rows=rows, frame=projected.of(name, frame))
                for name, (rows, _) in counts.items()
                if rows
            ]
            self._sink.write(batch, answers)
        finally:
            frame.unpersist()
        for name, (rows, begin) in counts.items():
            before, last = self._rows.get(name, (0, None))
            begins = [one for one in (last, begin) if one is not None]
            self._rows[name] = (before + rows, max(begins, default=None))
        self._figures.note(self._query)

    def _halt(self) -> None:
        """Stop Spark's query between two batches, if there is such a moment within a minute."""
        if self._query.isActive:
            last = self._batch()
            patience = time.monotonic() + 60
            while (
                self._query.isActive
                and self._query.status["isTriggerActive"]
                and self._batch() == last
                and time.monotonic() < patience
            ):
                time.sleep(0.05)
        with self._writing:
            self._halted.set()
            self._query.stop()
        self._figures.note(self._query)

    def _batch(self) -> int | None:
        progress = self._query.lastProgress
        return None if progress is None else progress["batchId"]


@contextmanager
def _settings(session: SparkSession) -> Iterator[None]:
    """The session with what the state store needs; a query keeps what it was started with."""
    before = {name: session.conf.get(name, None) for name in SETTINGS}
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, old)
