"""A pipeline whose JVM, files and batches this process reaches."""

from collections.abc import Callable

from pyspark.sql import SparkSession

from muntin.errors import RunError
from muntin.runtime.stream_plan.stream_plan import StreamPlan
from muntin.spark.checkpoint.checkpoint import Checkpoint
from muntin.spark.checkpoint.checkpoint_owner import CheckpointOwner
from muntin.spark.folder import Folder
from muntin.spark.local.listener import Listener
from muntin.spark.local.local_run import LocalRun
from muntin.spark.pipeline.site import Owner
from muntin.spark.pipeline.status import Figures
from muntin.spark.sinks.late_rows import LateLike, LateRowsSink
from muntin.spark.sinks.sink import Sink
from muntin.spark.sinks.sink_like import FileOptions, SinkLike, sink_for
from muntin.spark.stream.source import BoundStream


class LocalSite:
    """Makes what a pipeline needs in this process."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def sink(self, sink: SinkLike, files: FileOptions, *, compact: int) -> Sink:
        """Returns the sink for what the user gave."""
        return sink_for(sink, self._session, **files, compact=compact)

    def late_sink(self, late: LateLike, files: FileOptions) -> LateRowsSink | None:
        """Returns where late rows go, if they are wanted."""
        return None if late is None else LateRowsSink(late, self._session, **files)

    def owner(
        self, directory: str, *, is_active: Callable[[], bool], on_loss: Callable[[RunError], None]
    ) -> CheckpointOwner:
        """Returns who holds a checkpoint, by a file in it."""
        folder = Folder(self._session, directory)
        return CheckpointOwner(folder, directory, is_active=is_active, on_loss=on_loss)

    def watcher(self, figures: Figures, name: str, ended: Callable[[], None]) -> Listener:
        """Returns a listener, which Spark calls."""
        return Listener(self._session, figures, name, ended)

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
    ) -> LocalRun:
        """Returns a run of a plan, not started."""
        return LocalRun(
            bound,
            running,
            sink=sink,
            late=late,
            figures=figures,
            check_owner=owner.check,
            given_before=checkpoint.logs.given_before,
        )
