"""Streaming DataFrames with a window aggregate each, as queries over the stream that they read."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from pyspark.sql import DataFrame

from muntin.errors import RunError
from muntin.model.query import Query
from muntin.model.time import format_duration, parse_duration
from muntin.model.windows.window import Duration
from muntin.spark.frames.frame_queries import ReadFrames
from muntin.spark.frames.read_frames import read_frames

# How late rows may be, if nobody says so.
WATERMARK = "10 seconds"


@dataclass(frozen=True, kw_only=True)
class StreamInput:
    """Queries, the stream that they read, and how late its rows may be, if that was said."""

    queries: Any
    data: DataFrame
    watermark: Duration | None


def stream_input(queries: Any, data: DataFrame | None, watermark: Duration | None) -> StreamInput:
    """Returns queries and data as they are, or those of streaming DataFrames by name."""
    if isinstance(queries, Mapping):
        if data is not None:
            raise RunError("the DataFrames are the queries and the data; give no data beside them")
        return _of_frames(queries, watermark)
    if data is None:
        raise RunError("queries need a streaming DataFrame to run on")
    return StreamInput(queries=queries, data=data, watermark=watermark)


def _of_frames(frames: Mapping[str, DataFrame], watermark: Duration | None) -> StreamInput:
    read = read_frames(frames)
    for name, reason in {**read.reasons, **read.misread()}.items():
        raise RunError(f"query {name!r} cannot be streamed: {reason}")
    if len(read.relations) > 1:
        readers = {query.source: query.name for query in read.queries if isinstance(query, Query)}
        raise RunError(
            f"a pipeline reads one stream, and {' and '.join(sorted(readers.values()))} read "
            f"different ones; start a pipeline for each"
        )
    (relation,) = read.relations.values()
    return StreamInput(queries=read.queries, data=relation, watermark=_watermark(read, watermark))


def _watermark(read: ReadFrames, given: Duration | None) -> Duration | None:
    """Returns the watermark of the DataFrames, which must agree with the one that is given; None
    if there is none."""
    delays = {name: mark.delay for name, mark in read.watermarks.items()}
    if given is not None:
        delays["watermark="] = parse_duration(given)
    if len(set(delays.values())) > 1:
        texts = (f"{name} {format_duration(delay)}" for name, delay in delays.items())
        raise RunError(f"a stream has one watermark, and there are several: {', '.join(texts)}")
    return timedelta(microseconds=next(iter(delays.values()))) if delays else None
