"""Opens the outputs of a stream, and refuses those that it would read."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from muntin.errors import RunError
from muntin.spark.engine.folder import absolute_path
from muntin.spark.engine.stream_paths import paths_of_stream
from muntin.spark.sinks.late_rows import LateLike, LateRowsSink
from muntin.spark.sinks.open_sink import SinkLike, open_sink
from muntin.spark.sinks.sink import Sink, SinkContext
from muntin.spark.stream.source import BoundStream


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """Where answers go and, if the user wants them, late rows."""

    sink: Sink
    late: LateRowsSink | None = None


def open_outputs(
    sink: SinkLike, late: LateLike, context: SinkContext, data: DataFrame, bound: BoundStream
) -> Outputs:
    """Returns the outputs of a stream; refuses folders that are also an input, or used twice."""
    outputs = Outputs(
        sink=open_sink(sink, context), late=None if late is None else LateRowsSink(late, context)
    )
    written = {"checkpoint": context.checkpoint}
    if outputs.sink.output is not None:
        written["sink"] = outputs.sink.output
    if outputs.late is not None:
        if not bound.is_one_stream:
            raise RunError(
                "late= does not work with a stream that is, or may be, a union of several with a "
                "watermark each: it is unknown which of its rows are too late; leave it out"
            )
        if outputs.late.output is not None:
            _check_late_folder(context.session, outputs.late.output, written)
            written["folder of late rows"] = outputs.late.output
    _check_separate(context.session, paths_of_stream(data), written)
    return outputs


def _check_separate(session: SparkSession, inputs: list[str], written: Mapping[str, str]) -> None:
    """Refuse to write into an input, or to read an output; `written` has the folders by what errors
    call them."""
    for read in inputs:
        # For a pattern, take the folder above it.
        source = absolute_path(session, re.split(r"/[^/]*[*?\[{]", read)[0])
        for what, directory in written.items():
            target = absolute_path(session, directory)
            if _is_in(target, source) or _is_in(source, target):
                where = "inside" if _is_in(target, source) else "around"
                raise RunError(
                    f"the {what} {directory} is {where} the input {read}, and the stream would "
                    f"read what it writes; give another folder"
                )


def _check_late_folder(session: SparkSession, late: str, written: Mapping[str, str]) -> None:
    """Refuse a folder for late rows that is the checkpoint, or that of all answers."""
    for what, directory in written.items():
        if absolute_path(session, late) == absolute_path(session, directory):
            raise RunError(f"late rows need a folder of their own, and {late} is the {what}")


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
