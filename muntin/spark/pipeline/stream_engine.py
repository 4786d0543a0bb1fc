"""The parts of a pipeline that depend on the session: classic, or of Spark Connect."""

from collections.abc import Callable
from typing import Protocol
from uuid import UUID

from muntin.errors import RunError
from muntin.runtime.stream_plan.stream_plan import StreamPlan
from muntin.spark.checkpoint.checkpoint import Checkpoint
from muntin.spark.pipeline.outputs import Outputs
from muntin.spark.pipeline.reports import QueryReports
from muntin.spark.pipeline.status import Figures
from muntin.spark.pipeline.stream_run import StreamRun
from muntin.spark.stream.source import BoundStream


class Owner(Protocol):
    """Lets only one pipeline at a time run on a checkpoint."""

    def refuse_if_owned(self) -> None:
        """Refuse a checkpoint on which a pipeline runs; writes nothing."""

    def acquire(self) -> None:
        """Become the owner, or refuse."""

    def release(self) -> None:
        """Release the checkpoint, if this pipeline owns it."""

    def forget(self) -> None:
        """Release it in this process alone, without touching its file."""

    def check(self) -> None:
        """Raise an error if another pipeline has taken the checkpoint."""


class Watcher(Protocol):
    """Hands Spark's reports of a run's batches to the figures."""

    def follow(self, run: UUID | str) -> None:
        """Watch this run, and no other, from now on until it ends."""

    def catch_up(self, reports: QueryReports) -> None:
        """Read reports of the run that Spark has not sent; called now and then."""

    def leave(self) -> None:
        """Stop watching the run, which is about to stop."""

    def close(self) -> None:
        """Stop watching for good."""


class StreamEngine(Protocol):
    """Makes the parts of a pipeline that depend on the session."""

    def owner(
        self, directory: str, *, is_active: Callable[[], bool], on_loss: Callable[[RunError], None]
    ) -> Owner:
        """Returns the owner of a checkpoint for one pipeline."""

    def watcher(self, figures: Figures, name: str, on_end: Callable[[], None]) -> Watcher:
        """Returns what reads Spark's reports; `on_end` is called when a run ends by itself."""

    def run(
        self,
        bound: BoundStream,
        running: StreamPlan,
        outputs: Outputs,
        *,
        figures: Figures,
        owner: Owner,
        checkpoint: Checkpoint,
    ) -> StreamRun:
        """Returns a run of a plan, not started."""
