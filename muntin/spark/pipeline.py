"""A plan that runs on a stream until it is stopped, and whose queries can change meanwhile."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from muntin.errors import RunError, nearest
from muntin.model.plan import Plan
from muntin.model.query import PlainQuery, Query, Workload, workload
from muntin.model.time import parse_duration
from muntin.model.window import Duration
from muntin.runtime.changes import first_start
from muntin.runtime.running import Running, check_same
from muntin.share.optimizer import DEFAULT
from muntin.share.replan import Replanner
from muntin.spark.change_queue import ChangeQueue
from muntin.spark.checkpoint import Checkpoint, Stored
from muntin.spark.sinks import FolderSink, FunctionSink, MemorySink, Sink
from muntin.spark.status import Figures, QueryStatus, Status
from muntin.spark.stream import (
    BUCKETS,
    SPARE,
    WATERMARK,
    BoundStream,
    Queries,
    Source,
    checked_buckets,
    is_checked,
    planned,
)
from muntin.spark.stream_run import StreamRun
from muntin.spark.succession import next_plan, refuse, refused_change

__all__ = ["Pipeline", "QueryStatus", "Status", "start"]

log = logging.getLogger("muntin")

# A folder for a subfolder per query, a function `f(name, frame, batch)`, or none: memory.
SinkLike = str | Path | Callable[[str, DataFrame, int], None] | None

# How long a change waits to hear whether its first batch succeeds, in seconds.
_TRIAL = 60.0


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
    plan = planned(queries, strategy)
    bound = source.bind(plan)
    session = data.sparkSession
    folder = Checkpoint(session, str(checkpoint))
    kept = parse_duration(retain)
    stored = folder.tried()
    mark = uuid4().hex[:8] if stored is None else stored.mark
    pipeline = Pipeline(
        source=source,
        session=session,
        checkpoint=folder,
        sink=_sink(sink, session, mark, format, options),
        trigger=_trigger(trigger),
        mark=mark,
    )
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
    else:
        check_same(stored.running, delay=source.delay, checked=is_checked(session), buckets=buckets)
        bound, running = next_plan(plan, source, folder, retain=kept, finish=pipeline._finish)
    pipeline._launch(bound, running)
    return pipeline


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
    if callable(sink):
        return FunctionSink(sink)
    raise RunError(f"a sink is a folder, a function f(name, frame, batch), or none, not {sink!r}")


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
        mark: str,
    ) -> None:
        self._source = source
        self._session = session
        self._checkpoint = checkpoint
        self._sink = sink
        self._trigger = trigger
        self._mark = mark
        self._figures = Figures()
        self._changes = ChangeQueue(lambda: self.plan, self._apply)
        self._replanner: Replanner | None = None
        self._run: StreamRun
        # A run whose first batch is not finished yet, and may prove that it cannot be.
        self._trial: StreamRun | None = None
        self._refused: str | None = None

    @property
    def plan(self) -> Plan:
        """The plan that runs."""
        return self._run.running.plan

    @property
    def complete_from(self) -> Mapping[str, int | None]:
        """The begin of each query's first complete window, in microseconds; none: all are."""
        return dict(self._run.running.complete_from)

    def add(self, *queries: Query) -> Mapping[str, int | None]:
        """Answer more queries from now on; one restart for all of them.

        Gives the begin of the first complete window of each, as `complete_from`.
        """

        def more(now: list[Query | PlainQuery]) -> list[Query | PlainQuery]:
            names = {query.name.lower() for query in now}
            for query in queries:
                if query.name.lower() in names:
                    raise RunError(f"a query called {query.name!r} runs already; use replace")
            return [*now, *queries]

        self._changes.make(more)
        found = self.complete_from
        return {query.name: found[query.name] for query in queries if query.name in found}

    def remove(self, *names: str) -> None:
        """Stop answering some queries; one restart for all of them."""

        def fewer(now: list[Query | PlainQuery]) -> list[Query | PlainQuery]:
            have = [query.name for query in now]
            for name in names:
                if name not in have:
                    raise RunError(f"no query is called {name!r}; {nearest(name, have)}")
            left = [query for query in now if query.name not in names]
            if not left:
                raise RunError("these are all queries that run; stop the pipeline instead")
            return left

        self._changes.make(fewer)

    def replace(self, queries: Queries) -> None:
        """Answer these queries from now on: the batch is finished, then the stream restarts.

        A query that runs already, by its name and definition, goes on without a gap. If the new
        queries are refused, or their first batch fails, the old ones run on.
        """
        if isinstance(queries, Query | PlainQuery):
            queries = (queries,)
        chosen = queries if isinstance(queries, Plan | Workload) else tuple(queries)
        self._changes.make(lambda _: chosen)

    @contextmanager
    def changes(self) -> Iterator[None]:
        """All changes made in the block are one restart, at its end."""
        with self._changes.together():
            yield

    def stop(self) -> None:
        """Finish the batch that runs, and stop. `start` on the same checkpoint goes on."""
        with self._changes.lock:
            self._trial = None
            self._run.halt()
        log.info("stopped %s", self._checkpoint.directory)

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait until the stream ends, or fails; whether it did within `timeout` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        while end is None or time.monotonic() < end:
            run, failure = self._run, None
            left = 1.0 if end is None else min(1.0, end - time.monotonic())
            patience = time.monotonic() + left
            while run.query.isActive and time.monotonic() < patience:
                time.sleep(0.05)
            failure = run.failure()
            # A run that ends while the queries are changed is followed by another.
            quiet = not self._changes.lock.locked() and self._trial is None
            if quiet and run is self._run and not run.query.isActive:
                if failure is not None and not run.is_halted:
                    raise failure
                return True
        return False

    def process_all_available(self) -> None:
        """Wait until all that is there now has been answered: for tests."""
        self._run.query.processAllAvailable()

    def answers(self, name: str) -> DataFrame:
        """A query's answers so far, where the sink is memory."""
        if not isinstance(self._sink, MemorySink):
            raise RunError("answers are kept in memory only where no sink was given")
        self.plan.query(name)
        found = self._sink.answers(name)
        if found is not None:
            return found
        run = self._run
        return self._session.createDataFrame([], run.projected.of(name, run.answers).schema)

    def status(self) -> Status:
        """What the pipeline has done since it started."""
        run = self._run
        self._figures.note(run.query)
        return self._figures.status(
            is_active=run.query.isActive, complete_from=self.complete_from, refused=self._refused
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

    def _launch(self, bound: BoundStream, running: Running) -> StreamRun:
        """Start Spark's query for a plan, and store the plan if it is not the one that is there."""
        run = StreamRun(bound, running, sink=self._sink, figures=self._figures)
        first = self._checkpoint.last_commit() + 1
        if not self._checkpoint.holds(running):
            self._checkpoint.save(Stored(running=running, batch=first, mark=self._mark))
        run.start(checkpoint=self._checkpoint.for_spark, trigger=self._trigger, first=first)
        self._run = run
        names = ", ".join(query.name for query in running.plan.queries)
        log.info(
            "started %s, generation %d: %s", self._checkpoint.directory, running.generation, names
        )
        return run

    def _finish(self, bound: BoundStream, running: Running) -> None:
        """Run the one batch that was cut off, under the plan that it belongs to."""
        run = StreamRun(bound, running, sink=self._sink, figures=self._figures)
        first = self._checkpoint.last_commit() + 1
        run.start(checkpoint=self._checkpoint.for_spark, trigger={"once": True}, first=first)
        run.query.awaitTermination()
        self._figures.note(run.query)

    def _apply(self, queries: Queries) -> None:
        """Make these the queries that run, in one restart; if that fails, the old ones go on."""
        plan = self._planned(queries)
        refuse(plan, self._source, self._run.running)
        old = self._run
        self._trial = None
        old.halt()
        try:
            bound, running = next_plan(
                plan,
                self._source,
                self._checkpoint,
                retain=old.running.retain,
                finish=self._finish,
            )
            self._try(self._launch(bound, running), old)
        except Exception as error:
            if self._run is not old:
                self._run.halt()
            self._fall_back(old, error)
            raise refused_change(error) from None

    def _planned(self, queries: Queries) -> Plan:
        if isinstance(queries, Plan):
            self._replanner = None
            return queries
        found = workload(queries, rate=self.plan.rate, keys=self.plan.keys)
        if found.plain:
            # What is wrong with it is said when it is bound.
            return planned(found, self.plan.strategy)
        if self._replanner is None:
            self._replanner = Replanner(self.plan)
        return self._replanner.plan(found)

    def _try(self, run: StreamRun, old: StreamRun) -> None:
        """Wait for the first batch of a changed plan. Where none comes soon, watch for it."""
        patience = time.monotonic() + _TRIAL
        while time.monotonic() < patience and not run.is_waiting():
            if self._is_settled(run):
                return
            time.sleep(0.05)
        if self._is_settled(run):
            return
        self._trial = run
        threading.Thread(target=self._watch, args=(run, old), daemon=True).start()

    def _is_settled(self, run: StreamRun) -> bool:
        """Whether a batch of a run was finished, or the run is over; raises if it has failed."""
        if run.has_finished_a_batch():
            return True
        failure = run.failure()
        if failure is not None:
            raise failure
        return not run.query.isActive

    def _watch(self, run: StreamRun, old: StreamRun) -> None:
        """Go back to the old plan if the new one's first batch fails after all."""
        while self._trial is run:
            try:
                if self._is_settled(run):
                    self._trial = None
            except Exception as error:
                with self._changes.lock:
                    if self._trial is run:
                        self._fall_back(old, error)
                        self._trial = None
            time.sleep(0.2)

    def _fall_back(self, old: StreamRun, error: BaseException) -> None:
        self._refused = str(refused_change(error))
        self._replanner = None
        log.error("%s", self._refused)
        self._launch(old.bound, old.running)
