"""Starts, resumes and changes the plan of a pipeline."""

import logging
import time
from concurrent.futures import ThreadPoolExecutor

from muntin.errors import RunError
from muntin.model.plan import Plan
from muntin.model.time import parse_duration
from muntin.optimizer.transitions import without
from muntin.runtime.stream_plan.stream_plan import StreamPlan, check_same
from muntin.runtime.stream_plan.stream_plan_json import state_of_running
from muntin.spark.binding.relations import is_ansi
from muntin.spark.pipeline.launcher import Launcher
from muntin.spark.pipeline.resume import (
    next_plan,
    refused_change,
    same_queries_as_stored,
    validate_change,
)
from muntin.spark.pipeline.stream_engine import InUseError, StreamRun
from muntin.spark.pipeline.transient_errors import was_stopped
from muntin.spark.stream.operator import state_partitions
from muntin.spark.stream.source import BoundStream

log = logging.getLogger("muntin")

# How long a change waits for its first batch to succeed, in seconds.
_TRIAL_S = 60.0


class Runner:
    """Runs plans one after the other; if a changed plan fails, the one before it continues."""

    def __init__(self, launcher: Launcher) -> None:
        self.launcher = launcher
        self._retain = parse_duration(launcher.options.retain)
        # The run before the latest one, while that one's first batch is not finished and may fail.
        self._before_trial: StreamRun | None = None
        # Why the last change was taken back, if it was.
        self.refused: str | None = None

    @property
    def run(self) -> StreamRun:
        """The latest run."""
        return self.launcher.run

    @property
    def is_on_trial(self) -> bool:
        """Whether no batch with rows was finished since the last change."""
        return self._before_trial is not None

    def start_new(self, bound: BoundStream) -> None:
        """Start on a checkpoint that does not exist yet."""
        launcher = self.launcher
        self._check_checkpoint()
        source = launcher.source
        running = source.first_start(
            bound,
            buckets=launcher.options.buckets,
            partitions=state_partitions(source.session),
            retain=self._retain,
        )
        run = launcher.new_run(bound, running)
        with launcher.own_checkpoint():
            launcher.start_run(run)

    def resume(self, plan: Plan, stored: StreamPlan) -> None:
        """Start on a checkpoint that exists, maybe with other queries than the stored plan's."""
        launcher = self.launcher
        source, checkpoint = launcher.source, launcher.checkpoint
        self._check_checkpoint()
        check_same(
            stored,
            delay=source.delay,
            ansi=is_ansi(source.session),
            buckets=launcher.options.buckets,
        )
        # Refuse the plan or the sink before the checkpoint is touched.
        launcher.new_run(*validate_change(plan, source, checkpoint.effective().running))
        with launcher.own_checkpoint():
            self._warn_of_lost_output()
            bound, running = next_plan(
                plan, source, checkpoint, retain=self._retain, finish=launcher.finish_batch
            )
            try:
                launcher.launch(bound, running)
            except InUseError:
                # The stream that runs may answer the same queries by another plan.
                known = same_queries_as_stored(plan, source, checkpoint, retain=self._retain)
                if known is None:
                    raise
                launcher.launch(*known)

    def _check_checkpoint(self) -> None:
        """Refuse a checkpoint that another pipeline uses, or that is damaged."""
        launcher = self.launcher
        if launcher.source.warning is not None:
            launcher.warn(launcher.source.warning)
        launcher.owner.refuse_if_owned()
        launcher.checkpoint.check()

    def _warn_of_lost_output(self) -> None:
        """Warn if answers of earlier runs are gone, or are in another place."""
        launcher, sink = self.launcher, self.launcher.sink
        stored = launcher.checkpoint.effective()
        if stored.output is None or launcher.checkpoint.logs.last_commit() < 0:
            return
        if stored.output != sink.output:
            launcher.warn(f"earlier answers are in {stored.output}, later ones in {sink.output}")
            return
        for name in sink.missing([query.name for query in stored.running.user_queries]):
            launcher.warn(
                f"query {name!r}: its folder in {stored.output} was deleted since the last run; "
                f"its earlier answers are gone, and only later ones will be there"
            )

    def change(self, plan: Plan, *, moves: bool = False) -> None:
        """Continue with another plan; if that fails, go back to the one before, and raise why.

        If it `moves`, running queries go to the trees in which the plan has them.
        """
        launcher = self.launcher
        if launcher.is_over:
            raise RunError("the pipeline has ended; start it again on its checkpoint")
        old = self.run
        # If the plan is refused, then here, before anything is stopped.
        launcher.new_run(*validate_change(plan, launcher.source, old.running, moves=moves))
        try:
            launcher.start_run(self._next_run(plan, old, moves=moves))
            self._before_trial = old
            self._await_trial()
        except Exception as error:
            if self.run is not old:
                self.run.halt()
            try:
                self._fall_back(old, error)
            except Exception as again:
                launcher.end_with_error(again)
                raise
            raise refused_change(error) from None

    def _next_run(self, plan: Plan, old: StreamRun, *, moves: bool) -> StreamRun:
        """Stop a run; returns a run of another plan, not started.

        Both happen at the same time, since stopping Spark's query takes a while.
        """
        launcher = self.launcher
        self._before_trial = None
        launcher.watcher.stop_following()
        old.end_batches()
        is_between = old.is_between_batches()
        with ThreadPoolExecutor(1) as pool:
            stopping = pool.submit(old.stop)
            # Spark may still finish a batch that the sink was given, or that another run began.
            if not is_between:
                stopping.result()
            run = launcher.new_run(
                *next_plan(
                    plan,
                    launcher.source,
                    launcher.checkpoint,
                    retain=old.running.retain,
                    finish=None if is_between else launcher.finish_batch,
                    moves=moves,
                )
            )
            stopping.result()
            return run

    def _await_trial(self) -> None:
        """Wait for the first rows of a changed plan; `check_trial` sees those that come later."""
        end = time.monotonic() + _TRIAL_S
        while time.monotonic() < end and not self.run.is_waiting():
            if self._is_settled():
                return
            time.sleep(0.05)
        self._is_settled()

    def check_trial(self) -> bool:
        """Go back to the plan before the last change if this one fails; returns whether it did."""
        old = self._before_trial
        if old is None:
            return False
        try:
            self._is_settled()
        except Exception as error:
            self._fall_back(old, error)
            return True
        return False

    def _is_settled(self) -> bool:
        """Whether what runs has finished a batch with rows, or is over; raises if it has failed."""
        run = self.run
        failure = run.failure()
        # Whoever stops Spark's query in the middle of a batch does not refuse the plan.
        is_over = not run.query.isActive and (failure is None or was_stopped(failure))
        # Batches without rows, which Spark runs for the watermark alone, try no expression.
        if run.has_finished_rows() or is_over:
            self._before_trial = None
            return True
        if failure is not None and not self.launcher.restart(failure):
            raise failure
        return False

    def _fall_back(self, old: StreamRun, error: BaseException) -> None:
        """Continue with the queries of the run before a change that failed."""
        launcher, running = self.launcher, old.running
        refused = str(refused_change(error))
        log.error("%s", refused)
        effective = launcher.checkpoint.effective().running
        if state_of_running(effective) == state_of_running(running):
            launcher.launch(old.bound, running)
        else:
            # Batches without rows were finished under the plan that failed, so it counts. The batch
            # that was cut off is the one that fails: no query that goes needs it.
            plan = without(running.plan, running.leaving)
            launcher.launch(
                *next_plan(
                    plan, launcher.source, launcher.checkpoint, retain=running.retain, finish=None
                )
            )
        self._before_trial = None
        self.refused = refused
