"""Keeps a pipeline's answers in this process."""

from pyspark.sql import DataFrame, Row
from pyspark.sql.types import StructType

from muntin.spark.sinks.sink import Answers, Sink, SinkContext, naming_batch


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
                with naming_batch(batch, answer.name):
                    self._batches.setdefault(answer.name, {})[batch] = answer.frame.collect()

    def answers(self, name: str) -> DataFrame | None:
        """Returns all answers of a query so far; None if there are none yet."""
        if name not in self._schemas:
            return None
        rows = [row for batch in self._batches[name].values() for row in batch]
        return self._session.createDataFrame(rows, self._schemas[name])
