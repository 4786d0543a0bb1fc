"""The answers of a batch in the server's process, where Spark Connect calls `foreachBatch`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pyspark.sql import DataFrame

from muntin.spark.engine.stored_frames import stored
from muntin.spark.sinks.sink import INDEX, Answer, Answers, Part, Sink, Stack, Whole, writing


class GiveToSink:
    """Called with each batch; pickled, so it has no frame and no session."""

    def __init__(self, sink: Sink, parts: Sequence[Part]) -> None:
        self._sink = sink
        self._parts = parts

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Give a batch to the sink; an error of its own names the batch."""
        with writing(batch):
            self._sink.write(batch, ServerBatch(Whole(frame=frame, parts=self._parts)))


class ServerBatch(Answers):
    """The answers of a batch, as sinks take them."""

    def __init__(self, whole: Whole) -> None:
        self._whole = whole

    @contextmanager
    def each(self) -> Iterator[list[Answer]]:
        """A frame for every query that has answers."""
        with self._stored():
            counted = self._whole.frame.groupBy(INDEX).count().collect()
            rows = {row[INDEX]: row["count"] for row in counted}
            yield [
                Answer(
                    name=name,
                    rows=rows[number],
                    frame=part.of(self._whole.frame).where(f"{INDEX} = {number}").drop(INDEX),
                )
                for part in self._whole.parts
                for number, name in part.names.items()
                if number in rows
            ]

    @contextmanager
    def stacks(self) -> Iterator[list[Stack]]:
        """All answers in a few frames, each of which must be computed once, the first one first."""
        with self._stored():
            yield self._whole.stacks()

    def whole(self) -> Whole:
        """All answers in one frame, which must be computed once."""
        return self._whole

    @contextmanager
    def _stored(self) -> Iterator[None]:
        frame = stored(self._whole.frame)
        try:
            yield
        finally:
            frame.unpersist()
