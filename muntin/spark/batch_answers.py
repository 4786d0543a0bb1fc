"""The answers of one batch, as sinks take them: for each query, or stacked."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from muntin.spark.sinks import Answer, Stack
from muntin.spark.status import Counts
from muntin.spark.stream_answers import StreamAnswers


class BatchAnswers:
    """What the operator gave in a batch. It is computed once, by whatever the sink does with it."""

    def __init__(
        self, projected: StreamAnswers, alike: Sequence[Sequence[str]], frame: DataFrame
    ) -> None:
        """`alike` are the queries, those with the same columns together."""
        self._projected = projected
        self._alike = alike
        self._frame = frame
        # Known when the sink has taken them.
        self.counts: Counts = {}

    @contextmanager
    def each(self) -> Iterator[list[Answer]]:
        """A frame for every query that has answers."""
        with self._stored():
            self.counts = self._projected.counted(self._frame)
            yield [
                Answer(name=name, rows=rows, frame=self._projected.of(name, self._frame))
                for name, (rows, _) in self.counts.items()
                if rows
            ]

    @contextmanager
    def stacks(self) -> Iterator[list[Stack]]:
        """All answers in a few frames, each of which must be computed once, the first one first."""
        stacks = [self._projected.stacked(names, self._frame) for names in self._alike]
        if len(stacks) == 1:
            yield stacks
        else:
            with self._stored():
                yield stacks
        self.counts = {name: found for one in stacks for name, found in one.counts().items()}

    @contextmanager
    def _stored(self) -> Iterator[None]:
        self._frame.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            yield
        finally:
            self._frame.unpersist()
