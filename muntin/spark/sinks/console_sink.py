"""Prints a pipeline's answers: for notebooks, and to try a stream."""

from dataclasses import dataclass

from muntin.errors import RunError
from muntin.spark.engine.session_kind import is_connect
from muntin.spark.sinks.sink import Answers, Sink, SinkContext, SinkDefinition


@dataclass(frozen=True, kw_only=True)
class Console(SinkDefinition):
    """A sink: prints up to `rows` answers of each query and batch, long values cut if `truncate`.

    A batch that was cut off is printed again.
    """

    rows: int = 20
    truncate: bool = True

    def open(self, context: SinkContext) -> Sink:
        """Returns the sink that prints."""
        if is_connect(context.session):
            raise RunError(
                "mt.Console does not work on Spark Connect: the server would print the answers; "
                "leave the sink out, and read pipeline.answers(name)"
            )
        return ConsoleSink(self)


class ConsoleSink(Sink):
    """Prints a heading and a table for every query that has answers in a batch."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def write(self, batch: int, answers: Answers) -> None:
        """Print the batch."""
        with answers.each() as of_queries:
            for answer in of_queries:
                print(f"batch {batch}, {answer.name}: {answer.rows:,} rows")
                answer.frame.show(self._console.rows, truncate=self._console.truncate)
