"""A plan that runs on a stream until it is stopped, and whose queries can change meanwhile."""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from muntin.errors import RunError, nearest
from muntin.model.plan import Plan
from muntin.model.query import PlainQuery, Query
from muntin.model.workload import Workload
from muntin.optimizer.replan import Outlook
from muntin.spark.display import few_names, html_table
from muntin.spark.engine.session_kind import is_connect
from muntin.spark.error_text import error_line
from muntin.spark.pipeline.change_queue import ChangeQueue
from muntin.spark.pipeline.classic import ClassicEngine
from muntin.spark.pipeline.connect import ConnectEngine
from muntin.spark.pipeline.runner import Runner
from muntin.spark.pipeline.status import QueryStatus, Status
from muntin.spark.pipeline.stream_engine import StreamEngine
from muntin.spark.pipeline.stream_planner import StreamPlanner
from muntin.spark.stream.source import Queries

__all__ = ["Pipeline", "QueryStatus", "Status"]

log = logging.getLogger("muntin")


def engine_of(session: SparkSession) -> StreamEngine:
    """Returns how streams run in a session: by its JVM, or on a server of Spark Connect."""
    return ConnectEngine(session) if is_connect(session) else ClassicEngine(session)


class Pipeline:
    """A running plan. Made by `start`; as a context manager it is stopped at the end."""

    def __init__(self, runner: Runner, planner: StreamPlanner) -> None:
        self._runner = runner
        self._launcher = runner.launcher
        self._planner = planner
        self._changes = ChangeQueue(
            lambda: self.queries, planner.change_queries, lock=self._launcher.lock
        )

    @property
    def plan(self) -> Plan:
        """The plan that runs."""
        return self._launcher.run.running.plan

    @property
    def queries(self) -> tuple[Query | PlainQuery, ...]:
        """The queries that run."""
        return self._launcher.run.running.user_queries

    @property
    def complete_from(self) -> Mapping[str, int | None]:
        """The start of each query's first complete window, in microseconds; None if all are."""
        return self._launcher.run.running.first_begins

    @property
    def is_active(self) -> bool:
        """Whether it runs, or is about to be restarted."""
        return not self._launcher.is_over

    @property
    def name(self) -> str:
        """What Spark's web page calls the query."""
        return str(self._launcher.run.query.name)

    @property
    def last_progress(self) -> Mapping[str, Any] | None:
        """Spark's report of the last batch; None before the first. `status()` has all batches."""
        return self._launcher.run.query.lastProgress

    @property
    def recent_progress(self) -> Sequence[Mapping[str, Any]]:
        """Spark's reports of the last batches."""
        return self._launcher.run.query.recentProgress

    def exception(self) -> BaseException | None:
        """Returns what ended the stream, if it failed."""
        return None if self.is_active else self._launcher.failure()

    def add(self, *queries: Query) -> Mapping[str, int | None]:
        """Answer more queries from now on; one restart for all of them.

        Returns the start of the first complete window of each, as `complete_from`.
        """

        for query in queries:
            _check_query(query)
        if not queries:
            return {}

        def add_queries(now: list[Query | PlainQuery]) -> list[Query | PlainQuery]:
            names = {query.name.lower() for query in now}
            for query in queries:
                if query.name.lower() in names:
                    raise RunError(f"a query called {query.name!r} runs already; use replace")
            return [*now, *queries]

        self._changes.make(add_queries)
        complete = self.complete_from
        return {query.name: complete[query.name] for query in queries if query.name in complete}

    def remove(self, *names: str) -> None:
        """Stop answering some queries; one restart for all of them."""

        if not names:
            return

        def remove_queries(now: list[Query | PlainQuery]) -> list[Query | PlainQuery]:
            have = [query.name for query in now]
            for name in names:
                if name not in have:
                    raise RunError(f"no query is called {name!r}; {nearest(name, have)}")
            left = [query for query in now if query.name not in names]
            if not left:
                raise RunError("these are all queries that run; stop the pipeline instead")
            return left

        self._changes.make(remove_queries)

    def replace(self, queries: Queries) -> None:
        """Answer these queries from now on: the batch is finished, then the stream restarts.

        A query with the same name and definition as before continues without a gap. If the new
        queries are refused, or their first batch fails, the old ones continue. If failing queries
        are dropped, one that was dropped stays out until it is edited; `add` takes it again.
        """
        if isinstance(queries, Query | PlainQuery):
            queries = (queries,)
        if isinstance(queries, str):
            _check_query(queries)
        chosen = queries if isinstance(queries, Plan | Workload) else tuple(queries)
        for query in chosen if isinstance(chosen, tuple) else ():
            _check_query(query)
        if isinstance(chosen, tuple) and self._launcher.options.drops_queries:
            names = self._launcher.run.running.dropped_among(chosen)
            chosen = tuple(query for query in chosen if query.name not in names)
        self._changes.make(lambda _: chosen)

    def replan(self, *, least: float = 0.05) -> Outlook:
        """Move to the plan that is now the cheapest, if that saves at least a share of `least`.

        Costs are computed for the rate and live keys that were measured. A query that moves to
        another tree of the plan loses and repeats nothing: its old tree answers the windows that
        are open. Returns what was found, and whether the plan has changed.
        """
        with self._launcher.lock:
            found = self._planner.outlook()
            return found if found.saves < least else self._planner.move(found)

    def explain(self) -> str:
        """Returns the plan that runs as text, what was measured, and what `replan` would save."""
        with self._launcher.lock:
            found = self._planner.outlook()
        return f"{found.now.explain()}\n{found}"

    @contextmanager
    def changes(self) -> Iterator[None]:
        """Makes all changes of the block in one restart, at its end."""
        with self._changes.combine_changes():
            yield

    def stop(self) -> None:
        """Finish the batch that runs, and stop. `start` on the same checkpoint continues."""
        with self._launcher.lock:
            self._launcher.close()
        log.info("stopped %s", self._launcher.checkpoint.directory)

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait until the stream ends, or fails; returns whether it did within `timeout` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        while end is None or time.monotonic() < end:
            # Another run may follow one that ends, until the runner is over.
            if not self.is_active:
                failure = self.exception()
                if failure is not None:
                    raise failure
                return True
            time.sleep(0.1)
        return False

    def process_all_available(self) -> None:
        """Wait until all data that is there now has been answered: for tests."""
        while True:
            run = self._launcher.run
            try:
                run.query.processAllAvailable()
                if run.stop_error is not None:
                    raise run.stop_error
                return
            except Exception as error:
                # It may be restarted.
                while run is self._launcher.run and not self._launcher.is_over:
                    time.sleep(0.05)
                if run is self._launcher.run:
                    raise self._launcher.failure() or error from None

    # The same as PySpark's `StreamingQuery` calls it.
    isActive = is_active
    lastProgress = last_progress
    recentProgress = recent_progress
    awaitTermination = await_termination
    processAllAvailable = process_all_available

    def answers(self, name: str) -> DataFrame:
        """Returns a query's answers so far, if no sink was given."""
        self.plan.query(name)
        answers = self._launcher.sink.answers(name)
        if answers is not None:
            return answers
        run = self._launcher.run
        return run.answers.sparkSession.createDataFrame(
            [], run.projected.of(name, run.answers).schema
        )

    def status(self) -> Status:
        """Returns what the pipeline has done since it started."""
        launcher, run = self._launcher, self._launcher.run
        launcher.figures.add_reports(run.reports)
        failure = launcher.failure()
        return launcher.figures.status(
            is_active=run.query.isActive,
            is_waiting=run.is_waiting(),
            complete_from=self.complete_from,
            refused=self._runner.refused,
            dropped={name: each.error for name, each in run.running.dropped.items()},
            error=None if failure is None else error_line(failure) or str(failure),
        )

    def __repr__(self) -> str:
        names = few_names([query.name for query in self.queries])
        return f"<Pipeline {self.name!r} {self._state}: {names}>"

    def _repr_html_(self) -> str:
        status = self.status()
        heading = [
            f"Pipeline {self.name!r} {self._state}",
            f"{status.batches} batches, {status.rows_in:,} events, {status.late_rows:,} late",
        ]
        heading += [f"watermark {status.watermark}"] if status.watermark else []
        heading += [f"error: {status.error}"] if status.error else []
        rows = [
            (name, f"{each.rows:,}", f"{each.late_rows:,}") for name, each in status.queries.items()
        ]
        return html_table("; ".join(heading), ("query", "rows", "late events"), rows)

    @property
    def _state(self) -> str:
        if self.is_active:
            return "runs"
        return "has stopped" if self.exception() is None else "has failed"

    def __enter__(self) -> "Pipeline":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _check_query(query: object) -> None:
    """Refuse anything but a query."""
    if not isinstance(query, Query | PlainQuery):
        raise RunError(
            f"a query is made by mt.Query or mt.parse_sql, and this is {type(query).__name__}: "
            f"{query!r:.80}"
        )
