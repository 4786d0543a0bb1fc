"""Opens what a user gives as `sink=`: a folder, a definition, a function or a sink."""

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, Row
from pyspark.sql.types import StructType

from muntin.errors import RunError
from muntin.spark.engine.session_kind import is_connect
from muntin.spark.sinks.connect_folder_sink import CheckpointSink
from muntin.spark.sinks.folder_sink import Files
from muntin.spark.sinks.sink import Answers, Sink, SinkContext, SinkDefinition, name_batch_in_errors

# A folder with a subfolder per query, a definition such as `Files`, a function
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
        f"a sink is a folder, one of muntin's such as mt.Files(folder), a function f(name, frame, "
        f"batch), an instance of a class that extends mt.Sink, or none, not {sink!r}"
    )


class FunctionSink(Sink):
    """Calls `f(name, frame, batch)`; after a failure, the last batch comes again as it was."""

    def __init__(self, function: Callable[[str, DataFrame, int], None]) -> None:
        self._function = function

    def write(self, batch: int, answers: Answers) -> None:
        """Call the function for every query that has answers."""
        with answers.each() as of_queries:
            for answer in of_queries:
                with name_batch_in_errors(batch, answer.name):
                    self._function(answer.name, answer.frame, batch)


class MemorySink(Sink):
    """Keeps all answers in this process: for tests and notebooks."""

    def __init__(self, context: SinkContext) -> None:
        self._session = context.session
        self._schemas: dict[str, StructType] = {}
        self._batches: dict[str, dict[int, list[Row]]] = {}

    def write(self, batch: int, answers: Answers) -> None:
        """Keep the batch in the place of an earlier try of it."""
        for batches in self._batches.values():
            batches.pop(batch, None)
        with answers.each() as of_queries:
            for answer in of_queries:
                self._schemas[answer.name] = answer.frame.schema
                with name_batch_in_errors(batch, answer.name):
                    self._batches.setdefault(answer.name, {})[batch] = answer.frame.collect()

    def answers(self, name: str) -> DataFrame | None:
        """Returns all answers of a query so far; None if there are none yet."""
        if name not in self._schemas:
            return None
        rows = [row for batch in self._batches[name].values() for row in batch]
        return self._session.createDataFrame(rows, self._schemas[name])
