"""What a user may give as a sink."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypedDict

from pyspark.sql import DataFrame, SparkSession

from muntin.errors import RunError
from muntin.spark.output.flatten import FLAT_FORMATS
from muntin.spark.sinks.folder_sink import FolderSink
from muntin.spark.sinks.function_sink import FunctionSink
from muntin.spark.sinks.memory_sink import MemorySink
from muntin.spark.sinks.sink import Sink
from muntin.spark.sinks.tables import Tables, TableSink

# A folder for a subfolder per query, tables, a function `f(name, frame, batch)`, a `Sink` of the
# user's own, or none: memory.
SinkLike = str | Path | Tables | Callable[[str, DataFrame, int], None] | Sink | None


class FileOptions(TypedDict):
    """What is known of the files that a sink may write: the mark of the checkpoint and its folder,
    which identify them, their format, and how they are written."""

    mark: str
    checkpoint: str
    format: str
    flatten: bool
    options: Mapping[str, str] | None


NO_SINK = (
    "a sink is a folder, mt.Tables, a function f(name, frame, batch), an instance of a class "
    "that extends mt.Sink, or none, not {!r}"
)


def sink_for(
    sink: SinkLike,
    session: SparkSession,
    *,
    mark: str,
    checkpoint: str,
    format: str,
    flatten: bool,
    options: Mapping[str, str] | None,
    compact: int = 1,
) -> Sink:
    """Returns the sink for what the user gave; `mark` and `checkpoint` identify its files."""
    if not isinstance(compact, int) or compact < 1:
        raise RunError(f"compact is a number of batches, such as 10, not {compact!r}")
    if compact > 1 and not isinstance(sink, str | Path | Tables):
        raise RunError(
            "compact is for a sink that has files: a folder, or mt.Tables; a sink of your own "
            "may gather batches itself"
        )
    if sink is None:
        return MemorySink(session)
    about = {"mark": mark, "checkpoint": checkpoint, "format": format}
    if isinstance(sink, str | Path):
        flat = flatten or format in FLAT_FORMATS
        return FolderSink(session, str(sink), **about, flat=flat, options=options, compact=compact)
    if isinstance(sink, Tables):
        return TableSink(session, sink, **about, options=options, compact=compact)
    if isinstance(sink, Sink):
        return sink
    if callable(sink) and not isinstance(sink, type):
        return FunctionSink(sink)
    raise RunError(NO_SINK.format(sink))
