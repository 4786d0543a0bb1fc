"""Starts the runs of a pipeline on its checkpoint, one after the other, and ends the pipeline."""

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from py4j.protocol import Py4JError

from muntin.errors import RunError
from muntin.runtime.stream_plan.stream_plan import StreamPlan
from muntin.spark.checkpoint.checkpoint import Checkpoint, StoredPlan
from muntin.spark.error_text import error_line
from muntin.spark.pipeline.outputs import Outputs
from muntin.spark.pipeline.status import Figures
from muntin.spark.pipeline.stream_engine import InUseError, RunContext, StreamEngine, StreamRun
from muntin.spark.pipeline.stream_options import StreamOptions
from muntin.spark.pipeline.transient_errors import RetryPolicy
from muntin.spark.stream.source import BoundStream, Source

log = logging.getLogger("muntin")

_ONE_BATCH = {"once": True}


class Launcher:
    """A pipeline's source, checkpoint and outputs, and the run that is active on them."""

    run: StreamRun

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
        self.source = source
        self.checkpoint = checkpoint
        self.options = options
        self.figures = Figures()
        self._mark = mark
        self._trigger = trigger
        self.sink = outputs.sink
        # Held by whoever changes what runs.
        self.lock = threading.Lock()
        # Set when a run has ended by itself.
        self.run_ended = threading.Event()
        self.watcher = engine.watcher(self.figures, checkpoint.directory, self.run_ended.set)
        self.owner = engine.owner(
            checkpoint.directory, is_active=self._is_active, on_loss=self._stop_with_error
        )
        self._run_class = engine.run_class
        self._context = RunContext(
            name=options.name or checkpoint.directory.rstrip("/").rpartition("/")[2],
            checkpoint=checkpoint,
            owner=self.owner,
            outputs=outputs,
            figures=self.figures,
        )
        self.retry = RetryPolicy()
        # Whether nothing runs any more, and nothing will.
        self.is_over = False
        # Why the pipeline has ended, if Spark's query does not know.
        self._failure: BaseException | None = None

    @contextmanager
    def own_checkpoint(self) -> Iterator[None]:
        """Become the owner of the checkpoint; if the block fails, end the pipeline."""
        before = self.checkpoint.logs.last_commit()
        self.owner.acquire()
        try:
            if not self.checkpoint.is_unchanged() or self.checkpoint.logs.last_commit() != before:
                raise RunError(
                    f"another pipeline has just used the checkpoint {self.checkpoint.directory}; "
                    f"start again"
                )
            yield
        except BaseException:
            self.end()
            raise

    def new_run(
        self, bound: BoundStream, running: StreamPlan, outputs: Outputs | None = None
    ) -> StreamRun:
        """Returns a run of a plan, not started; refuses what the sink would not take."""
        context = self._context if outputs is None else replace(self._context, outputs=outputs)
        with self.source.settings.restore():
            return self._run_class(bound, running, context)

    def launch(self, bound: BoundStream, running: StreamPlan) -> None:
        """Start a run of a plan, and store the plan if it is not the one that is there."""
        self.start_run(self.new_run(bound, running))

    def start_run(self, run: StreamRun) -> None:
        """Start a run, and store its plan if it is not the one that is there."""
        running = run.running
        is_new = not self.checkpoint.is_stored(running)
        if is_new:
            self.checkpoint.save(
                StoredPlan(
                    running=running,
                    batch=self.checkpoint.logs.last_commit() + 1,
                    mark=self._mark,
                    output=self.sink.output,
                )
            )
        run.claim()
        try:
            run.start(self._trigger, is_new=is_new)
        except InUseError:
            # Batches that the other stream finishes would count as this plan's.
            if is_new:
                self.checkpoint.undo_save(running)
            raise
        self.run = run
        self.watcher.follow(run.query.runId)
        names = ", ".join(query.name for query in running.user_queries)
        log.info(
            "started %s, generation %d: %s", self.checkpoint.directory, running.generation, names
        )

    def restart(self, failure: BaseException) -> bool:
        """Start the same plan again if the failure is transient; returns whether it did."""
        if not self.retry.allows(failure, finished=self.checkpoint.logs.last_commit()):
            return False
        self.count_restart(failure)
        self.watcher.stop_following()
        self.retry.wait()
        self.launch(self.run.bound, self.run.running)
        return True

    def count_restart(self, failure: BaseException) -> None:
        """Count a restart, and log why."""
        self.figures.restarts += 1
        # Spark adds the whole plan to its message.
        message = (error_line(failure) or str(failure)).splitlines()[0].split(" === ")[0]
        log.warning("restarting %s: %s", self.checkpoint.directory, message)

    def finish_batch(self, bound: BoundStream, running: StreamPlan) -> None:
        """Run the batch that was cut off, under the plan that it belongs to."""
        retry = RetryPolicy()
        while True:
            run = self.new_run(bound, running)
            run.claim()
            failure = self.run_one_batch(run)
            if failure is None:
                self.figures.add_reports(run.reports)
                return
            if not retry.allows(failure, finished=self.checkpoint.logs.last_commit()):
                raise failure from None
            self.count_restart(failure)
            retry.wait()

    def run_one_batch(self, run: StreamRun) -> BaseException | None:
        """Run the next batch, or the one that was cut off; returns why it failed, or None."""
        run.start(_ONE_BATCH, is_new=False)
        try:
            run.query.awaitTermination()
        except Exception as error:
            return run.failure() or error
        return None

    def warn(self, message: str) -> None:
        """Add a warning to the log and to the status."""
        log.warning("%s", message)
        self.figures.warnings.append(message)

    def failure(self) -> BaseException | None:
        """Returns why the pipeline or its latest run failed; None if it did not."""
        if self._failure is not None:
            return self._failure
        return None if self.run.is_halted else self.run.failure()

    def close(self) -> None:
        """Stop after the batch that runs, and end the pipeline."""
        try:
            self.watcher.stop_following()
            self.run.halt()
            self.watcher.close()
            self.close_sink()
        finally:
            self.end()

    def end_with_error(self, error: BaseException) -> None:
        """End the pipeline, and report this error as its failure."""
        log.error("%s ends: %s", self.checkpoint.directory, error)
        self._failure = error
        try:
            self.run.query.stop()
            self.close_sink()
            self.end()
        except Exception as again:
            log.error("%s could not be released: %s", self.checkpoint.directory, again)
            self.abandon(error)

    def abandon(self, error: BaseException) -> None:
        """End the pipeline in this process only, because Spark does not answer."""
        self._failure = error
        self.owner.forget()
        self.is_over = True

    def close_sink(self) -> None:
        """Close the sink; if that fails, warn: it finishes after the next start."""
        if self.is_over:
            return
        try:
            self.owner.check()
            self.sink.close(self.checkpoint.logs.last_commit())
        except Exception as error:
            self.warn(f"the sink could not be closed: {error_line(error) or error}")

    def end(self) -> None:
        """Release the checkpoint; nothing runs from now on."""
        self.owner.release()
        self.is_over = True

    def _is_active(self) -> bool:
        """Whether Spark runs a query; while the plan changes, none runs for a moment."""
        try:
            return bool(self.run.query.isActive)
        except (AttributeError, Py4JError, OSError):
            return False

    def _stop_with_error(self, error: RunError) -> None:
        """Stop because another pipeline has taken the checkpoint."""
        log.error("%s", error)
        with self.lock:
            # While a batch that was cut off is finished, nothing else runs yet.
            if hasattr(self, "run"):
                self.run.stop_with_error(error)
            self.end()
