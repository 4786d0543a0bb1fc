"""The answers of a batch as sinks take them: Spark computes them once."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pyspark.sql import DataFrame

from muntin.spark.engine.plan_reuse import store
from muntin.spark.output.stacking import INDEX, CombinedAnswers, Part, Stack
from muntin.spark.sinks.sink import Answer, Answers


class BatchAnswers(Answers):
    """Answers of all queries in one frame, which is stored while a sink uses it more than once."""

    def __init__(self, frame: DataFrame, parts: Sequence[Part]) -> None:
        self._frame, self._parts = frame, parts
        self._is_stored = False

    @contextmanager
    def each(self) -> Iterator[list[Answer]]:
        """A frame for every query that has answers."""
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
