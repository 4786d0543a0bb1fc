"""The watermarks that a streaming DataFrame has of its own."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame

from muntin.model.time import MILLISECOND
from muntin.spark.engine.catalyst import analyzed, children, kind, walk
from muntin.spark.engine.connect_plans import operator_of, relation_of, relations_in
from muntin.spark.engine.session_kind import is_connect, may_use_internals

# What Spark notes of a column that has a watermark.
_DELAY = "spark.watermarkDelayMs"


@dataclass(frozen=True, kw_only=True)
class Watermarks:
    """What `withWatermark` has done to a DataFrame, or to those that it is made of."""

    # The delay of each column that has a watermark, in microseconds.
    delays: Mapping[str, int]
    # How often it was called, and how many streams are read.
    calls: int
    streams: int

    @property
    def tell_what_was_read(self) -> bool:
        """Whether no row was read that is later than the watermark and its delay: of several
        watermarks Spark follows the slowest."""
        return self.calls == 0 or self.calls == self.streams == 1


def watermarks_of(data: DataFrame) -> Watermarks:
    """Returns the watermarks of a streaming DataFrame.

    Where plans may not be read, those of its columns; then it is not known how many streams it
    reads.
    """
    delays = {
        field.name: int(field.metadata[_DELAY]) * MILLISECOND
        for field in data.schema.fields
        if _DELAY in field.metadata
    }
    if is_connect(data.sparkSession):
        relations = [operator_of(relation) for relation in relations_in(relation_of(data))]
        calls = sum(name == "with_watermark" for name, _ in relations)
        streams = sum(name == "read" and operator.is_streaming for name, operator in relations)
    elif not may_use_internals(data.sparkSession):
        calls, streams = len(delays), 0
    else:
        nodes = list(walk(analyzed(data)))
        calls = sum(kind(node) == "EventTimeWatermark" for node in nodes)
        streams = sum(node.isStreaming() and not children(node) for node in nodes)
    return Watermarks(delays=delays, calls=calls, streams=streams)
