"""The runs of a pipeline, one after the other on one checkpoint."""

import logging
import threading
import time
from collections.abc import Mapping
from typing import Any

from muntin.model.plan import Plan
from muntin.runtime.running import Running
from muntin.spark.checkpoint import Checkpoint, Stored
from muntin.spark.listener import Listener
from muntin.spark.sinks import Sink
from muntin.spark.status import Figures
from muntin.spark.stream import BoundStream, Source
from muntin.spark.stream_run import StreamRun
from muntin.spark.succession import next_plan, refused_change, would_go_on

log = logging.getLogger("muntin")

# How long a change waits to hear whether its first batch succeeds, in seconds.
_TRIAL = 60.0


class Relay:
    """Runs plans: each goes on where the one before it stopped, or that one goes on again."""

    def __init__(
        self,
        *,
        source: Source,
        checkpoint: Checkpoint,
        sink: Sink,
        trigger: Mapping[str, Any],
        mark: str,
        lock: threading.Lock,
    ) -> None:
        """`lock` is held by whoever changes what runs."""
        self._source = source
        self.checkpoint = checkpoint
        self._sink = sink
        self._trigger = trigger
        self._mark = mark
        self._lock = lock
        self.figures = Figures()
        self._listener = Listener(source.session, self.figures, checkpoint.directory)
        self.run: StreamRun
        # A run whose first batch is not finished yet, and may prove that it cannot be.
        self.trial: StreamRun | None = None
        # Why the last change was taken back, if it was.
        self.refused: str | None = None

    def launch(self, bound: BoundStream, running: Running) -> None:
        """Start Spark's query for a plan, and store the plan if it is not the one that is there."""
        run = self._made(bound, running)
        first = self.checkpoint.logs.last_commit() + 1
        if not self.checkpoint.holds(running):
            if self.checkpoint.logs.is_cut() and self.checkpoint.logs.state_format() == 1:
                self.checkpoint.logs.drop_unfinished_state()
            self.checkpoint.save(Stored(running=running, batch=first, mark=self._mark))
        self._begin(run, self._trigger)
        self.run = run
        self._listener.follow(run.query.runId)
        names = ", ".join(query.name for query in running.plan.queries)
        log.info(
            "started %s, generation %d: %s", self.checkpoint.directory, running.generation, names
        )

    def finish(self, bound: BoundStream, running: Running) -> None:
        """Run the one batch that was cut off, under the plan that it belongs to."""
        run = self._made(bound, running)
        self._begin(run, {"once": True})
        run.query.awaitTermination()
        self.figures.note(run.reports)

    def halt(self) -> None:
        """Stop what runs."""
        self.trial = None
        self._listener.leave()
        self.run.halt()

    def close(self) -> None:
        """Stop what runs, for good."""
        self.halt()
        self._listener.close()

    def change(self, plan: Plan) -> None:
        """Go on with another plan; if that fails, with the one that runs, and say why."""
        old = self.run
        # Refused here, if at all: before anything is stopped.
        self._made(*would_go_on(plan, self._source, old.running))
        self.halt()
        try:
            bound, running = next_plan(
                plan,
                self._source,
                self.checkpoint,
                retain=old.running.retain,
                finish=self.finish,
            )
            self.launch(bound, running)
            self._try(self.run, old)
        except Exception as error:
            if self.run is not old:
                self.run.halt()
            self._fall_back(old, error)
            raise refused_change(error) from None

    def _begin(self, run: StreamRun, trigger: Mapping[str, Any]) -> None:
        logs = self.checkpoint.logs
        run.start(
            checkpoint=self.checkpoint.for_spark,
            trigger=trigger,
            first=logs.last_commit() + 1,
            state_format=logs.state_format(),
        )

    def _made(self, bound: BoundStream, running: Running) -> StreamRun:
        return StreamRun(bound, running, sink=self._sink, figures=self.figures)

    def _try(self, run: StreamRun, old: StreamRun) -> None:
        """Wait for the first batch of a changed plan. Where none comes soon, watch for it."""
        patience = time.monotonic() + _TRIAL
        while time.monotonic() < patience and not run.is_waiting():
            if self._is_settled(run):
                return
            time.sleep(0.05)
        if not self._is_settled(run):
            self.trial = run
            threading.Thread(target=self._watch, args=(run, old), daemon=True).start()

    def _is_settled(self, run: StreamRun) -> bool:
        """Whether a batch of a run was finished, or the run is over; raises if it has failed."""
        if run.has_finished_a_batch():
            return True
        failure = run.failure()
        # A plan counts as soon as a batch was finished under it, whatever fails after that.
        if failure is not None and self.checkpoint.logs.last_commit() < run.first:
            raise failure
        return not run.query.isActive

    def _watch(self, run: StreamRun, old: StreamRun) -> None:
        """Go back to the old plan if the new one's first batch fails after all."""
        while self.trial is run:
            try:
                if self._is_settled(run):
                    self.trial = None
            except Exception as error:
                with self._lock:
                    if self.trial is run:
                        self._go_back(old, error)
                        self.trial = None
            time.sleep(0.5)

    def _go_back(self, old: StreamRun, error: BaseException) -> None:
        """Fall back where nobody is there to be told that this fails too."""
        try:
            self._fall_back(old, error)
        except Exception as again:
            log.error("the queries before the change could not go on: %s", again)

    def _fall_back(self, old: StreamRun, error: BaseException) -> None:
        refused = str(refused_change(error))
        log.error("%s", refused)
        self.launch(old.bound, old.running)
        self.refused = refused
