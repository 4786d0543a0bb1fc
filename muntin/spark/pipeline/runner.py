"""Runs a pipeline's plans, one after the other, on one checkpoint."""

import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from py4j.protocol import Py4JError

from muntin.errors import RunError
from muntin.model.plan import Plan
from muntin.model.time import parse_duration
from muntin.optimizer.evolve.move_queries import without
from muntin.runtime.stream_plan.stream_plan import Dropped, StreamPlan, check_same
from muntin.runtime.stream_plan.stream_plan_json import state_of_running
from muntin.spark.binding.relations import is_ansi
from muntin.spark.checkpoint.checkpoint import Checkpoint, StoredPlan
from muntin.spark.engine.session_kind import is_gone
from muntin.spark.error_text import error_line
from muntin.spark.pipeline.failing_queries import ComputeOnly, find_failing, is_computed
from muntin.spark.pipeline.outputs import Outputs
from muntin.spark.pipeline.reports import emitted_watermark
from muntin.spark.pipeline.resume import (
    as_stored,
    cause_of,
    next_plan,
    refused_change,
    validate_change,
)
from muntin.spark.pipeline.status import Figures
from muntin.spark.pipeline.stream_engine import StreamEngine
from muntin.spark.pipeline.stream_options import StreamOptions
from muntin.spark.pipeline.stream_run import InUseError, StreamRun
from muntin.spark.pipeline.transient_errors import RetryPolicy, is_transient, was_stopped
from muntin.spark.stream.source import BoundStream, Source

log = logging.getLogger("muntin")

# How long a change waits for its first batch to succeed, in seconds.
_TRIAL = 60.0
# How often to check whether the stream still runs, if Spark does not say so.
_LOOKS_EVERY_S = 0.5


class Runner:
    """Runs plans: each continues where the last one stopped, and if it fails, that one does."""

    def __init__(
        self,
        engine: StreamEngine,
        *,
        source: Source,
        checkpoint: Checkpoint,
        outputs: Outputs,
        mark: str,
        trigger: Mapping[str, Any],
        options: StreamOptions,
    ) -> None:
        """`mark` identifies the checkpoint in names of files."""
        self._engine = engine
        self._source = source
        self.checkpoint = checkpoint
        self._outputs = outputs
        self._sink = outputs.sink
        self._trigger = trigger
        self._mark = mark
        self.options = options
        self._retain = parse_duration(options.retain)
        # What Spark's web page calls the query.
        self._name = options.name or checkpoint.directory.rstrip("/").rpartition("/")[2]
        # Held by whoever changes what runs.
        self.lock = threading.Lock()
        self.figures = Figures()
        self._ended = threading.Event()
        self._watcher = engine.watcher(self.figures, checkpoint.directory, self._ended.set)
        self.owner = engine.owner(
            checkpoint.directory, is_active=self._is_active, on_loss=self._stop_for
        )
        self.run: StreamRun
        self._retry = RetryPolicy()
        # The run before the current one, while that one's first batch is not finished and may fail.
        self._before_trial: StreamRun | None = None
        # Why the last change was taken back, if it was.
        self.refused: str | None = None
        # Whether nothing runs any more, and nothing will.
        self.is_over = False
        # What kept a run from being restarted, or from being watched.
        self._lost: BaseException | None = None

    def start_new(self, bound: BoundStream) -> None:
        """Start on a checkpoint that does not exist yet."""
        self._check_checkpoint()
        running = self._source.first_start(bound, buckets=self.options.buckets, retain=self._retain)
        run = self.new_run(bound, running)
        with self.owning():
            self.start_run(run)

    def resume(self, plan: Plan, stored: StreamPlan) -> None:
        """Start on a checkpoint that exists, maybe with other queries than the stored plan's."""
        self._check_checkpoint()
        is_ansi_now = is_ansi(self._source.session)
        check_same(stored, delay=self._source.delay, ansi=is_ansi_now, buckets=self.options.buckets)
        effective = self.checkpoint.effective()
        assert effective is not None
        # Refuse the plan or the sink before the checkpoint is touched.
        self.new_run(*validate_change(plan, self._source, effective.running))
        with self.owning():
            self.warn_of_lost_output()
            bound, running = next_plan(
                plan, self._source, self.checkpoint, retain=self._retain, finish=self.finish
            )
            try:
                self.launch(bound, running)
            except InUseError:
                # The stream that runs may answer the same queries by another plan.
                known = as_stored(plan, self._source, self.checkpoint, retain=self._retain)
                if known is None:
                    raise
                self.launch(*known)

    def _check_checkpoint(self) -> None:
        """Refuse a checkpoint that another pipeline uses, or that is damaged."""
        if self._source.warning is not None:
            self.warn(self._source.warning)
        self.owner.refuse_if_owned()
        self.checkpoint.check()

    def launch(self, bound: BoundStream, running: StreamPlan) -> None:
        """Start Spark's query for a plan, and store the plan if it is not the one that is there."""
        self.start_run(self.new_run(bound, running))

    def start_run(self, run: StreamRun) -> None:
        """Start a run that was made for the plan that is to go on."""
        running, logs = run.running, self.checkpoint.logs
        is_new = not self.checkpoint.holds(running)
        if is_new:
            self.checkpoint.save(
                StoredPlan(
                    running=running,
                    batch=logs.last_commit() + 1,
                    mark=self._mark,
                    output=self._sink.output,
                )
            )
        run.claim()
        try:
            self._start_query(run, self._trigger, is_new=is_new)
        except InUseError:
            # Batches that the other stream finishes would count as this plan's.
            if is_new:
                self.checkpoint.take_back(running)
            raise
        self.run = run
        self._watcher.follow(run.query.runId)
        names = ", ".join(query.name for query in running.asked)
        log.info(
            "started %s, generation %d: %s", self.checkpoint.directory, running.generation, names
        )

    @contextmanager
    def owning(self) -> Iterator[None]:
        """Owns the checkpoint from now on; releases it if the block fails."""
        before = self.checkpoint.logs.last_commit()
        self.owner.acquire()
        try:
            if not self.checkpoint.is_as_read() or self.checkpoint.logs.last_commit() != before:
                raise RunError(
                    f"another pipeline has used the checkpoint {self.checkpoint.directory} in this "
                    f"moment; start again"
                )
            yield
        except BaseException:
            self._end()
            raise

    def warn_of_lost_output(self) -> None:
        """Warn of answers of earlier runs that are gone, or in another place."""
        stored = self.checkpoint.effective()
        if stored is None or stored.output is None or self.checkpoint.logs.last_commit() < 0:
            return
        if stored.output != self._sink.output:
            told = f"earlier answers are in {stored.output}, later ones in {self._sink.output}"
            self.warn(told)
            return
        names = [query.name for query in stored.running.asked]
        for name in self._sink.missing(names):
            self.warn(
                f"query {name!r}: its folder in {stored.output} was deleted since the last run; "
                f"its earlier answers are gone, and only later ones will be there"
            )

    def warn(self, told: str) -> None:
        """Tell the log, and whoever asks for the status."""
        log.warning("%s", told)
        self.figures.warnings.append(told)

    def watch(self) -> None:
        """From now on, restart a run if its failure passes, and end the pipeline if not."""
        threading.Thread(target=self._watch, daemon=True).start()

    def finish(self, bound: BoundStream, running: StreamPlan) -> None:
        """Run the one batch that was cut off, under the plan that it belongs to."""
        retry = RetryPolicy()
        while True:
            run = self.new_run(bound, running)
            run.claim()
            self._start_query(run, {"once": True}, is_new=False)
            try:
                run.query.awaitTermination()
                self.figures.note(run.reports)
                return
            except Exception as error:
                failure = run.failure() or error
                if not retry.allows(failure, finished=self.checkpoint.logs.last_commit()):
                    raise failure from None
                self._count_restart(failure)
                retry.wait()

    def close(self) -> None:
        """Stop what runs, for good."""
        try:
            self._leave()
            self.run.halt()
            self._watcher.close()
            self._close_sink()
        finally:
            self._end()

    def failure(self) -> BaseException | None:
        """Returns what ended the pipeline, if it failed."""
        if self._lost is not None:
            return self._lost
        return None if self.run.is_halted else self.run.failure()

    def change(self, plan: Plan, *, moves: bool = False) -> None:
        """Continue with another plan; if that fails, go back to the one before, and raise why.

        If it `moves`, running queries go to the trees in which the plan has them.
        """
        if self.is_over:
            raise RunError("the pipeline has ended; start it again on its checkpoint")
        old = self.run
        # If the plan is refused, then here, before anything is stopped.
        self.new_run(*validate_change(plan, self._source, old.running, moves=moves))
        try:
            self.start_run(self._next_run(plan, old, moves=moves))
            self._before_trial = old
            self._try()
        except Exception as error:
            if self.run is not old:
                self.run.halt()
            try:
                self._fall_back(old, error)
            except Exception as again:
                self._end_with(again)
                raise
            raise refused_change(error) from None

    def _next_run(self, plan: Plan, old: StreamRun, *, moves: bool) -> StreamRun:
        """Stop a run; returns that of another plan, which is made while Spark's query stops."""
        self._leave()
        old.end_batches()
        is_between = old.is_between_batches()
        with ThreadPoolExecutor(1) as pool:
            stopping = pool.submit(old.stop)
            # Spark may still finish a batch that the sink was given, or that another run began.
            if not is_between:
                stopping.result()
            run = self.new_run(
                *next_plan(
                    plan,
                    self._source,
                    self.checkpoint,
                    retain=old.running.retain,
                    finish=None if is_between else self.finish,
                    moves=moves,
                )
            )
            stopping.result()
            return run

    def new_run(self, bound: BoundStream, running: StreamPlan) -> StreamRun:
        """Returns a run of a plan, not started; refuses what the sink would not take."""
        return self._run_to(self._outputs, bound, running)

    def _run_to(self, outputs: Outputs, bound: BoundStream, running: StreamPlan) -> StreamRun:
        return self._engine.run(
            bound,
            running,
            outputs,
            figures=self.figures,
            owner=self.owner,
            checkpoint=self.checkpoint,
        )

    def _leave(self) -> None:
        """Do not look at what runs any more: it is about to be stopped."""
        self._before_trial = None
        self._watcher.leave()

    def _start_query(self, run: StreamRun, trigger: Mapping[str, Any], *, is_new: bool) -> None:
        run.start(
            checkpoint=self.checkpoint.for_spark,
            name=self._name,
            trigger=trigger,
            first=self.checkpoint.logs.last_commit() + 1,
            is_new=is_new,
        )

    def _try(self) -> None:
        """Wait for the first rows of a changed plan; those that come later are seen by `_watch`."""
        end = time.monotonic() + _TRIAL
        while time.monotonic() < end and not self.run.is_waiting():
            if self._is_settled():
                return
            time.sleep(0.05)
        self._is_settled()

    def _is_settled(self) -> bool:
        """Whether what runs has finished a batch with rows, or is over; raises if it has failed."""
        run = self.run
        failure = run.failure()
        # Who stops Spark's query in the middle of a batch does not refuse the plan.
        is_over = not run.query.isActive and (failure is None or was_stopped(failure))
        # Batches without rows, which Spark runs for the watermark alone, try no expression.
        if run.has_finished_rows() or is_over:
            self._before_trial = None
            return True
        if failure is not None and not self._restart(failure):
            raise failure
        return False

    def _restart(self, failure: BaseException) -> bool:
        """Start the same plan again, if that may help; returns whether it did."""
        if not self._retry.allows(failure, finished=self.checkpoint.logs.last_commit()):
            return False
        self._count_restart(failure)
        self._watcher.leave()
        self._retry.wait()
        self.launch(self.run.bound, self.run.running)
        return True

    def _count_restart(self, failure: BaseException) -> None:
        self.figures.restarts += 1
        # Spark adds the whole plan to what it says.
        said = (error_line(failure) or str(failure)).splitlines()[0].split(" === ")[0]
        log.warning("restarting %s: %s", self.checkpoint.directory, said)

    def _watch(self) -> None:
        while not self.is_over:
            self._ended.wait(_LOOKS_EVERY_S)
            self._ended.clear()
            if self.lock.acquire(timeout=_LOOKS_EVERY_S):
                try:
                    self._look()
                except Exception as error:
                    self._look_again(error)
                finally:
                    self.lock.release()

    def _look_again(self, error: Exception) -> None:
        """Wait for the next look after one that failed, or end the pipeline."""
        if is_gone(error):
            # Spark itself has ended.
            self._lost = error
            self.owner.forget()
            self.is_over = True
        elif not self.is_over and self._retry.allows(error):
            self._count_restart(error)
            self._retry.wait()
        else:
            self._end_with(error)

    def _end_with(self, error: BaseException) -> None:
        """End the pipeline for a reason that Spark's query does not know."""
        log.error("%s ends: %s", self.checkpoint.directory, error)
        self._lost = error
        try:
            self.run.query.stop()
            self._close_sink()
            self._end()
        except Exception as again:
            log.error("%s could not be released: %s", self.checkpoint.directory, again)
            self.owner.forget()
            self.is_over = True

    def _look(self) -> None:
        """Check the stream, and restart, fall back or end; the caller holds the lock."""
        if self.is_over:
            return
        if self._before_trial is not None:
            old = self._before_trial
            try:
                self._is_settled()
            except Exception as error:
                self._fall_back(old, error)
                return
        self._watcher.catch_up(self.run.reports)
        if self.run.query.isActive:
            self._leave_what_is_empty()
            return
        failure = None if self.run.is_halted else self.run.failure()
        if failure is None or not (self._restart(failure) or self._drop_failing(failure)):
            self._close_sink()
            self._end()

    def _drop_failing(self, failure: BaseException) -> bool:
        """Go on without the queries that fail, if that is wanted; returns whether it did."""
        running = self.run.running
        names = [query.name for query in running.asked]
        if not self.options.drops_queries or was_stopped(failure):
            return False
        self.owner.check()
        failing = find_failing(names, self._try_queries)
        # Where none of them fails, the sink did; where all do, nothing would be left.
        if len(failing) in (0, len(names)):
            return False
        dropped = {
            name: Dropped(query=running.plan.query(name), error=cause_of(error))
            for name, error in failing.items()
        }
        plan = without(running.plan, {*running.leaving, *failing})
        bound, following = next_plan(
            plan, self._source, self.checkpoint, retain=running.retain, finish=None
        )
        effective = self.checkpoint.effective()
        assert effective is not None
        # A plan that counts is never written anew, even if it has the same queries.
        generation = max(following.generation, effective.running.generation + 1)
        following = replace(
            following, dropped={**following.dropped, **dropped}, generation=generation
        )
        self.launch(bound, following)
        for name, why in dropped.items():
            log.error("query %r is dropped, and the others go on: %s", name, why.error)
        return True

    def _try_queries(self, names: Sequence[str]) -> BaseException | None:
        """Returns why the batch that was cut off fails for some of the queries that run; None if it
        does not. Nothing is written, and no state changes."""
        running, effective = self.run.running, self.checkpoint.effective()
        assert effective is not None
        others = {query.name for query in running.asked if query.name not in names}
        plan = without(running.plan, {*running.leaving, *others})
        some = validate_change(plan, self._source, effective.running)
        run = self._run_to(Outputs(sink=ComputeOnly()), *some)
        self._start_query(run, {"once": True}, is_new=False)
        with suppress(Exception):
            run.query.awaitTermination()
        failure = run.failure()
        if failure is None or is_computed(failure):
            return None
        if is_transient(failure) or was_stopped(failure):
            raise failure
        return failure

    def _leave_what_is_empty(self) -> None:
        """Restart without the trees that queries have left, when these have given all they had."""
        running, report = self.run.running, self.run.reports.last()
        is_trial = self._before_trial is not None
        if is_trial or not running.leaving or running.not_done(emitted_watermark(report)):
            return
        try:
            self.change(without(running.plan, running.leaving))
        except Exception as error:
            # The plan that runs is right, too; it only costs more.
            log.warning("%s: trees without windows stay: %s", self.checkpoint.directory, error)

    def _close_sink(self) -> None:
        """Let the sink finish; what it cannot do now, it does after the next start."""
        if self.is_over:
            return
        try:
            self.owner.check()
            self._sink.close(self.checkpoint.logs.last_commit())
        except Exception as error:
            self.warn(f"the sink could not be closed: {error_line(error) or error}")

    def _end(self) -> None:
        self.owner.release()
        self.is_over = True

    def _is_active(self) -> bool:
        """Whether a query runs; none does for a while when the plan changes."""
        try:
            return bool(self.run.query.isActive)
        except (AttributeError, Py4JError, OSError):
            return False

    def _stop_for(self, error: RunError) -> None:
        """Stop because another pipeline has taken the checkpoint."""
        log.error("%s", error)
        with self.lock:
            self._before_trial = None
            # While a batch that was cut off is finished, nothing else runs yet.
            if hasattr(self, "run"):
                self.run.stop_for(error)
            self._end()

    def _fall_back(self, old: StreamRun, error: BaseException) -> None:
        """Go on with the queries of the run before a change that failed."""
        refused = str(refused_change(error))
        log.error("%s", refused)
        effective = self.checkpoint.effective()
        assert effective is not None
        if state_of_running(effective.running) == state_of_running(old.running):
            self.launch(old.bound, old.running)
        else:
            # Batches without rows were finished under the plan that failed, so it counts.
            self._launch_queries_of(old)
        self._before_trial = None
        self.refused = refused

    def _launch_queries_of(self, old: StreamRun) -> None:
        """Start the queries of an earlier run from where the plan that counts stopped."""
        running = old.running
        plan = without(running.plan, running.leaving)
        retain = running.retain
        # The batch that was cut off is the one that fails: no query that goes needs it.
        self.launch(*next_plan(plan, self._source, self.checkpoint, retain=retain, finish=None))
