"""What a pipeline needs of the place it runs at: this process, or a server of Spark Connect."""

from collections.abc import Callable
from typing import Protocol
from uuid import UUID

from muntin.errors import RunError
from muntin.runtime.stream_plan.stream_plan import StreamPlan
from muntin.spark.checkpoint.checkpoint import Checkpoint
from muntin.spark.pipeline.reports import QueryReports
from muntin.spark.pipeline.status import Figures
from muntin.spark.pipeline.stream_run import StreamRun
from muntin.spark.sinks.late_rows import LateLike, LateRowsSink
from muntin.spark.sinks.sink import Sink
from muntin.spark.sinks.sink_like import FileOptions, SinkLike
from muntin.spark.stream.source import BoundStream


class Owner(Protocol):
    """Lets only one pipeline at a time run on a checkpoint."""

    def refuse_if_owned(self) -> None:
        """Refuse a checkpoint on which a pipeline runs; writes nothing."""

    def acquire(self) -> None:
        """Become the owner, or refuse."""

    def release(self) -> None:
        """Release the checkpoint, if it is still held."""

    def forget(self) -> None:
        """Stop holding it in this process, without touching its file."""

    def check(self) -> None:
        """Raises if another has taken the checkpoint."""


class Watcher(Protocol):
    """Hands Spark's reports of a run's batches to the figures."""

    def follow(self, run: UUID | str) -> None:
        """Watch this run, and no other, from now on until it ends."""

    def catch_up(self, reports: QueryReports) -> None:
        """Take in reports of the run that have not come by themselves; called now and then."""

    def leave(self) -> None:
        """Watch no run: the one that was followed is about to be stopped."""

    def close(self) -> None:
        """Watch no more."""


class Site(Protocol):
    """Makes the parts of a pipeline that are not the same at all places."""

    def sink(self, sink: SinkLike, files: FileOptions, *, compact: int) -> Sink:
        """Returns the sink for what the user gave."""

    def late_sink(self, late: LateLike, files: FileOptions) -> LateRowsSink | None:
        """Returns where late rows go, if they are wanted."""

    def owner(
        self, directory: str, *, is_active: Callable[[], bool], on_loss: Callable[[RunError], None]
    ) -> Owner:
        """Returns who holds a checkpoint for one pipeline."""

    def watcher(self, figures: Figures, name: str, ended: Callable[[], None]) -> Watcher:
        """Returns who reads Spark's reports; `ended` is called when a run ends by itself."""

    def run(
        self,
        bound: BoundStream,
        running: StreamPlan,
        *,
        sink: Sink,
        late: LateRowsSink | None,
        figures: Figures,
        owner: Owner,
        checkpoint: Checkpoint,
    ) -> StreamRun:
        """Returns a run of a plan, not started."""
