"""What a user may give as a sink."""

from collections.abc import Callable, Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from muntin.errors import RunError
from muntin.spark.output.flatten import FLAT_FORMATS
from muntin.spark.sinks.sinks import FolderSink, FunctionSink, MemorySink, Sink
from muntin.spark.sinks.tables import Tables, TableSink

# A folder for a subfolder per query, tables, a function `f(name, frame, batch)`, or none: memory.
SinkLike = str | Path | Tables | Callable[[str, DataFrame, int], None] | None


def sink_for(
    sink: SinkLike,
    session: SparkSession,
    *,
    mark: str,
    checkpoint: str,
    format: str,
    flatten: bool,
    options: Mapping[str, str] | None,
) -> Sink:
    """The sink that was meant; `mark` and `checkpoint` say whose its files are."""
    if sink is None:
        return MemorySink(session)
    about = {"mark": mark, "checkpoint": checkpoint, "format": format}
    if isinstance(sink, str | Path):
        flat = flatten or format in FLAT_FORMATS
        return FolderSink(session, str(sink), **about, flat=flat, options=options)
    if isinstance(sink, Tables):
        return TableSink(session, sink, **about, options=options)
    if callable(sink):
        return FunctionSink(sink)
    raise RunError(
        f"a sink is a folder, mt.Tables, a function f(name, frame, batch), or none, not {sink!r}"
    )
