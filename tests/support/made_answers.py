"""Answers of a batch that are made by hand, for sinks, without a stream."""

from contextlib import nullcontext
from functools import partial, reduce

from pyspark.sql import DataFrame
from pyspark.sql.functions import col, lit, struct

from muntin.spark.output.stacking import INDEX, CombinedAnswers, Part, Stack
from muntin.spark.sinks.sink import Answer, SinkContext

FLAT = "'d' || id AS device, timestamp_seconds(id) AS begin, id / 3 AS mean"
NESTED = "'d' || id AS device, struct(id AS start) AS window"


def opened(sink, spark):
    """A sink that was opened for a stream of its own."""
    return sink.open(SinkContext(session=spark, mark="m", checkpoint="check"))


def answer(spark, name, first, rows, columns=FLAT):
    frame = spark.range(first, first + rows).selectExpr(*columns.split(", "))
    return Answer(name=name, rows=rows, frame=frame)


class Given:
    """The answers of a batch, without a stream."""

    def __init__(self, *answers):
        self._answers = answers

    def each(self):
        return nullcontext(list(self._answers))

    def stacks(self):
        alike = {}
        for one in self._answers:
            alike.setdefault(one.frame.schema.simpleString(), []).append(one)
        return nullcontext([stacked(group) for group in alike.values()])

    def whole(self):
        with self.stacks() as stacks:
            if len(stacks) == 1:
                (one,) = stacks
                part = Part(names=one.names, struct=None, schema=one.schema)
                return CombinedAnswers(frame=one.frame, parts=[part])
        parts, frames = [], []
        for place, one in enumerate(stacks):
            # Numbers are those of all queries here.
            first = sum(len(part.names) for part in parts)
            names = {first + number: name for number, name in one.names.items()}
            parts.append(Part(names=names, struct=f"g{place}", schema=one.schema))
            columns = struct(*one.schema.names).alias(f"g{place}")
            frames.append(one.frame.select(columns, (col(INDEX) + first).alias(INDEX)))
        whole = reduce(partial(DataFrame.unionByName, allowMissingColumns=True), frames)
        return CombinedAnswers(frame=whole, parts=parts)


def stacked(answers):
    frames = [one.frame.withColumn(INDEX, lit(index)) for index, one in enumerate(answers)]
    names = {index: one.name for index, one in enumerate(answers)}
    return Stack(names=names, frame=reduce(DataFrame.unionAll, frames))


def devices(frame):
    return sorted(int(row["device"][1:]) for row in frame.collect())
