"""Plans a pipeline's queries again: when they change, on request, or by itself as its data does."""

from dataclasses import replace
from datetime import UTC, datetime

from muntin.model.plan import Plan
from muntin.model.workload import Workload, workload
from muntin.optimizer.optimize import optimize
from muntin.optimizer.plan_for_stream import plan_for_stream
from muntin.optimizer.replan import Outlook, PlanChange, Replanner, outlook
from muntin.optimizer.transitions import without
from muntin.optimizer.weave_share.incremental import TOLERANCE
from muntin.spark.error_text import error_line
from muntin.spark.pipeline.runner import Runner
from muntin.spark.pipeline.status import Replan
from muntin.spark.stream.source import Queries

# A pipeline compares its plan with others once in so many batches with rows.
BATCHES_BETWEEN = 10


class StreamPlanner:
    """Makes the plans that a pipeline changes to; whoever calls it holds the launcher's lock."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._launcher = runner.launcher
        self._tolerance = self._launcher.options.replan
        # None after a change that did not come from it.
        self._replanner: Replanner | None = None
        # The number of batches at the last comparison, and how many there are before the next.
        self._compared_at, self._wait = 0, BATCHES_BETWEEN
        # Whether the last comparison led to a move, and which change was refused before.
        self._has_moved = False
        self._refused: str | None = None

    def change_queries(self, queries: Queries) -> None:
        """Run these queries from now on, in one restart; if that fails, the old ones continue."""
        try:
            planned = self._plan_of(queries)
            self._runner.change(planned.plan, moves=planned.moves)
        except Exception:
            self._replanner = None
            raise

    def outlook(self) -> Outlook:
        """Returns the plan that runs and the cheapest one, for what was measured."""
        measured = self._launcher.figures.meter.measurement()
        return outlook(self._running_plan(), measured)

    def move(self, found: Outlook) -> Outlook:
        """Move to the cheapest plan that was found."""
        self._replanner = None
        self._runner.change(found.best, moves=True)
        moved = replace(found, is_new=True)
        self._report(str(moved))
        return moved

    def replan_if_due(self) -> None:
        """Move to the cheapest plan if the plan that runs exceeds the user's tolerance.

        Does nothing without a tolerance, or if it was called too few batches ago, or while an
        earlier change is not over. If re-planning fails, the plan that runs continues, and it waits
        twice as long from then on.
        """
        batches = self._launcher.figures.meter.batches
        is_changing = self._runner.is_on_trial or self._launcher.run.running.leaving
        if self._tolerance is None or is_changing or batches - self._compared_at < self._wait:
            return
        self._compared_at = batches
        has_moved, self._has_moved = self._has_moved, False
        refused, self._refused = self._refused, self._runner.refused
        if has_moved and self._refused is not None and self._refused != refused:
            # No rows had come in time to try the plan, and for the first it failed.
            self._note_failure(self._refused)
            return
        try:
            found = self.outlook()
            if found.now.cost > (1 + self._tolerance) * found.best.cost:
                self.move(found)
                self._has_moved = True
        except Exception as error:
            self._note_failure(error_line(error) or str(error) or type(error).__name__)

    def _note_failure(self, error: str) -> None:
        self._wait *= 2
        self._report("the plan that ran continues", error=error)
        self._launcher.warn(f"re-planning failed, and the plan that ran continues: {error}")

    def _report(self, reason: str, *, error: str | None = None) -> None:
        figures = self._launcher.figures
        time = datetime.now(UTC).isoformat(timespec="seconds")
        figures.replans.append(
            Replan(time=time, batches=figures.meter.batches, reason=reason, error=error)
        )

    def _running_plan(self) -> Plan:
        running = self._launcher.run.running
        return without(running.plan, running.leaving)

    def _with_measurements(self, work: Workload) -> Workload:
        """Returns a workload with the measured figures, if there are some."""
        measured = self._launcher.figures.meter.measurement()
        return work if measured is None else measured.of(work)

    def _plan_of(self, queries: Queries) -> PlanChange:
        if isinstance(queries, Plan):
            self._replanner = None
            return PlanChange(plan=plan_for_stream(queries))
        running = self._running_plan()
        work = workload(queries)
        if not isinstance(queries, Workload):
            work = self._with_measurements(running.workload_of(work.queries))
        if work.plain_queries or work.data_window_queries or running.data_trees:
            # If they are wrong, binding raises the error.
            self._replanner = None
            return PlanChange(plan=plan_for_stream(optimize(work, running.strategy)))
        if self._replanner is None:
            measured = replace(running, workload=self._with_measurements(running.workload))
            tolerance = TOLERANCE if self._tolerance is None else self._tolerance
            self._replanner = Replanner(measured, tolerance=tolerance)
        return self._replanner.plan(work)
