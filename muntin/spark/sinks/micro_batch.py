"""The answers of one batch, as sinks take them: for each query, or stacked."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame

from muntin.runtime.slicer.packing import ROWS
from muntin.spark.engine.stored_frames import stored
from muntin.spark.output.stacking import Stacking
from muntin.spark.sinks.sink import INDEX, Answer, Answers, Part, Stack, Whole
from muntin.spark.stream.stream_answers import LATE_ROWS, StreamAnswers


class MicroBatch(Answers):
    """The answers of a batch. Spark computes them once, when the sink first uses them."""

    def __init__(
        self, projected: StreamAnswers, stacking: Stacking, frame: DataFrame, *, is_stacked: bool
    ) -> None:
        """`frame` has numbered rows of answers or, for a stacked sink, those of `stacking`."""
        self._projected = projected
        self._stacking = stacking
        self._frame = frame
        self._is_stacked = is_stacked
        self._is_stored = False

    @contextmanager
    def each(self) -> Iterator[list[Answer]]:
        """A frame for every query that has answers."""
        with self._stored():
            yield [
                Answer(name=name, rows=rows, frame=self._projected.of_numbered(name, self._frame))
                for name, (rows, _) in self._projected.counted(self._frame).items()
                if rows
            ]

    @contextmanager
    def stacks(self) -> Iterator[list[Stack]]:
        """All answers in a few frames, each of which must be computed once, the first one first."""
        stacks = Whole(frame=self._frame, parts=self._parts(LATE_ROWS)).stacks()
        if len(stacks) == 1:
            yield stacks
        else:
            with self._stored():
                yield stacks

    def whole(self) -> Whole:
        """All answers in one frame, which must be computed once."""
        parts = self._parts(LATE_ROWS)
        frame = self._frame
        if len(parts) < len(self._stacking.parts):
            numbers = [str(number) for part in parts for number in part.names]
            frame = frame.where(f"{INDEX} IN ({', '.join(numbers)})")
        return Whole(frame=frame, parts=parts)

    @contextmanager
    def with_late_rows(self) -> Iterator[DataFrame]:
        """The packed rows that no open window took; meanwhile the answers can be taken, too."""
        with self._stored():
            if not self._is_stacked:
                yield self._projected.late_rows(self._frame)
                return
            (late,) = (part for part in self._stacking.parts if part not in self._parts(LATE_ROWS))
            yield late.of(self._frame).select(ROWS)

    def _parts(self, left_out: str) -> list[Part]:
        return [part for part in self._stacking.parts if left_out not in part.names.values()]

    @contextmanager
    def _stored(self) -> Iterator[None]:
        if self._is_stored:
            yield
            return
        # A sink may filter what it is given.
        stored(self._frame)
        self._is_stored = True
        try:
            yield
        finally:
            self._is_stored = False
            self._frame.unpersist()
