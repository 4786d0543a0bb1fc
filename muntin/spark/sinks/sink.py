"""The interface of sinks, which take the answers of a pipeline, one batch after the other.

A batch that was cut off is computed anew by Spark, with the same number and the same answers. A
sink is exactly once if writing a batch a second time leaves what the first time would have left.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from muntin.errors import RunError
from muntin.spark.engine.plan_reuse import store
from muntin.spark.error_text import error_line
from muntin.spark.output.stacking import INDEX, CombinedAnswers, Part, Stack


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One query's answers in a batch."""

    name: str
    rows: int
    frame: DataFrame


class Answers:
    """The answers of a batch, which a sink takes once: by `each`, or by `stacks` or `whole` if it
    `is_stacked`.

    A sink has to take them in every batch, since that computes the batch. Spark computes it once,
    and stores the frame of all answers while a sink uses it more than once.
    """

    def __init__(self, frame: DataFrame, parts: Sequence[Part]) -> None:
        self._frame, self._parts = frame, parts
        self._is_stored = False

    @contextmanager
    def each(self) -> Iterator[list[Answer]]:
        """A frame for every query that has answers in this batch."""
        with self.stored():
            counted = self._frame.groupBy(INDEX).count().collect()
            rows = {row[INDEX]: row["count"] for row in counted}
            yield [
                Answer(
                    name=name,
                    rows=rows[number],
                    frame=part.of(self._frame).where(f"{INDEX} = {number}").drop(INDEX),
                )
                for part in self._parts
                for number, name in part.names.items()
                if number in rows
            ]

    @contextmanager
    def stacks(self) -> Iterator[list[Stack]]:
        """All answers in a few frames, each of which must be computed once, the first one first."""
        stacks = CombinedAnswers(frame=self._frame, parts=self._parts).stacks()
        if len(stacks) == 1:
            yield stacks
        else:
            with self.stored():
                yield stacks

    def whole(self) -> CombinedAnswers:
        """All answers in one frame, which must be computed once."""
        return CombinedAnswers(frame=self._frame, parts=self._parts)

    @contextmanager
    def stored(self) -> Iterator[None]:
        """Have Spark store the frame when it is first computed, until the end of the block."""
        if self._is_stored:
            yield
            return
        store(self._frame)
        self._is_stored = True
        try:
            yield
        finally:
            self._is_stored = False
            self._frame.unpersist()


@dataclass(frozen=True, kw_only=True)
class SinkContext:
    """The stream that a sink is opened for."""

    session: SparkSession
    # Identifies the checkpoint in the names of files.
    mark: str
    # The folder of the checkpoint.
    checkpoint: str


class SinkDefinition(ABC):
    """A sink as a user describes it, before a stream starts."""

    @abstractmethod
    def open(self, context: SinkContext) -> "Sink":
        """Returns the sink for one stream; refuses what does not exist."""


class Sink(ABC):
    """Takes the answers of one batch after the other, never two at a time.

    A sink of your own defines `write`; the rest has defaults that refuse nothing.
    """

    # Whether it takes `Answers.stacks`, not `Answers.each`: fewer Spark jobs, for many queries.
    is_stacked: bool = False
    # The directory that it writes to, if it does.
    output: str | None = None

    def check(self, schemas: Mapping[str, StructType]) -> None:  # noqa: B027 a default
        """Raise `RunError` for queries whose answers, of these columns, it cannot take.

        Called before a stream starts and before queries change; it must not write anything.
        """

    def claim(self, schemas: Mapping[str, StructType]) -> None:  # noqa: B027 a default
        """Reserve the places that the answers of these queries will go to.

        Called after `check`, before a stream starts.
        """

    def missing(self, names: Sequence[str]) -> list[str]:
        """Returns those queries of earlier runs whose answers are gone."""
        return []

    @abstractmethod
    def write(self, batch: int, answers: Answers) -> None:
        """Take a batch's answers; after a failure, again with the same number and answers."""

    def close(self, batch: int) -> None:  # noqa: B027 a default
        """Called when the pipeline ends; `batch` is the last one that was finished."""

    def answers(self, name: str) -> DataFrame | None:
        """Returns all answers of a query so far; None if there are none yet."""
        raise RunError("answers are kept only where no sink was given")


@contextmanager
def name_batch_in_errors(batch: int, *names: str) -> Iterator[None]:
    """Turn an error in the block into one that names the batch, and the queries if given."""
    try:
        yield
    except RunError:
        raise
    except Exception as error:
        said = error_line(error) or f"{type(error).__name__}: {error}"
        who = "query " if len(names) == 1 else "queries "
        about = f"{who}{', '.join(map(repr, names))}: " if names else ""
        raise RunError(
            f"{about}the answers of batch {batch} could not be written: {said}; a start on the "
            f"same checkpoint writes them again"
        ) from error
