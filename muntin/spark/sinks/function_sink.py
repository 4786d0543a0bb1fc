"""Hands a pipeline's answers to a function of the user's."""

from collections.abc import Callable

from pyspark.sql import DataFrame

from muntin.spark.sinks.sink import Answers, Sink, naming_batch


class FunctionSink(Sink):
    """Calls `f(name, frame, batch)`; after a failure, the last batch comes again as it was."""

    def __init__(self, function: Callable[[str, DataFrame, int], None]) -> None:
        self._function = function

    def write(self, batch: int, answers: Answers) -> None:
        """Call the function for every query that has answers."""
        with answers.each() as of_queries:
            for answer in of_queries:
                with naming_batch(batch, answer.name):
                    self._function(answer.name, answer.frame, batch)
