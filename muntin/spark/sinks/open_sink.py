"""Opens what a user gives as `sink=`."""

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame

from muntin.errors import RunError
from muntin.spark.engine.session_kind import is_connect
from muntin.spark.sinks.connect_folder_sink import CheckpointSink
from muntin.spark.sinks.folder_sink import Files
from muntin.spark.sinks.function_sink import FunctionSink
from muntin.spark.sinks.memory_sink import MemorySink
from muntin.spark.sinks.sink import Sink, SinkContext, SinkDefinition

# A folder with a subfolder per query, a definition such as `Files` or `Tables`, a function
# `f(name, frame, batch)`, a `Sink` of the user's own, or none: answers are kept.
SinkLike = str | Path | SinkDefinition | Callable[[str, DataFrame, int], None] | Sink | None


def open_sink(sink: SinkLike, context: SinkContext) -> Sink:
    """Returns the sink that takes a stream's answers."""
    if sink is None:
        return CheckpointSink(context) if is_connect(context.session) else MemorySink(context)
    if isinstance(sink, str | Path):
        return Files(sink).open(context)
    if isinstance(sink, SinkDefinition):
        return sink.open(context)
    if isinstance(sink, Sink):
        return sink
    if callable(sink) and not isinstance(sink, type):
        return FunctionSink(sink)
    raise RunError(
        f"a sink is a folder, mt.Files, mt.Tables, a function f(name, frame, batch), an instance "
        f"of a class that extends mt.Sink, or none, not {sink!r}"
    )
