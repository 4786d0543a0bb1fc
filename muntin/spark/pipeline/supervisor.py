"""Watches a pipeline: restarts a run after a transient failure, and ends the pipeline otherwise."""

import logging
import threading

from muntin.optimizer.transitions import without
from muntin.spark.engine.session_kind import is_session_lost
from muntin.spark.pipeline.failing_queries import drop_failing
from muntin.spark.pipeline.reports import emitted_watermark
from muntin.spark.pipeline.runner import Runner
from muntin.spark.pipeline.stream_planner import StreamPlanner

log = logging.getLogger("muntin")

# How often to check whether the stream still runs, if Spark does not report its end.
_INTERVAL_S = 0.5


def watch(runner: Runner, planner: StreamPlanner) -> None:
    """Watch a pipeline in a thread of its own, until the pipeline is over."""
    threading.Thread(target=Supervisor(runner, planner).watch, daemon=True).start()


class Supervisor:
    """Checks what runs, now and then and when it ends."""

    def __init__(self, runner: Runner, planner: StreamPlanner) -> None:
        self._runner = runner
        self._planner = planner
        self._launcher = runner.launcher

    def watch(self) -> None:
        """Check the pipeline until it is over."""
        launcher = self._launcher
        while not launcher.is_over:
            launcher.run_ended.wait(_INTERVAL_S)
            launcher.run_ended.clear()
            if launcher.lock.acquire(timeout=_INTERVAL_S):
                try:
                    self._check()
                except Exception as error:
                    self._on_error(error)
                finally:
                    launcher.lock.release()

    def _check(self) -> None:
        """Restart, fall back or end what does not run; the caller holds the lock."""
        launcher = self._launcher
        if launcher.is_over or self._runner.check_trial():
            return
        launcher.watcher.catch_up(launcher.run.reports)
        if launcher.run.query.isActive:
            self._remove_empty_trees()
            self._planner.replan_if_due()
            return
        failure = launcher.failure()
        if failure is None or not (launcher.restart(failure) or drop_failing(launcher, failure)):
            launcher.close_sink()
            launcher.end()

    def _on_error(self, error: Exception) -> None:
        """Wait for the next check after one that failed, or end the pipeline."""
        launcher = self._launcher
        if is_session_lost(error):
            # Spark itself has ended.
            launcher.abandon(error)
        elif not launcher.is_over and launcher.retry.allows(error):
            launcher.count_restart(error)
            launcher.retry.wait()
        else:
            launcher.end_with_error(error)

    def _remove_empty_trees(self) -> None:
        """Restart without the trees that queries have left, once these have given all they had."""
        run = self._launcher.run
        running, report = run.running, run.reports.last()
        if (
            self._runner.is_on_trial
            or not running.leaving
            or running.not_done(emitted_watermark(report))
        ):
            return
        try:
            self._runner.change(without(running.plan, running.leaving))
        except Exception as error:
            # The plan that runs is right, too; it only costs more.
            directory = self._launcher.checkpoint.directory
            log.warning("%s: trees without windows stay: %s", directory, error)
