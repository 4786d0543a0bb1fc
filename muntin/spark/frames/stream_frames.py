"""The input of a stream: queries and tables, or DataFrames with a window aggregate each."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from hashlib import sha1
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from muntin.errors import RunError, not_a_dataframe
from muntin.model.query import Query
from muntin.model.time import format_duration, parse_duration
from muntin.model.windows import Duration
from muntin.spark.engine.catalyst import analyzed_plan, frame_of, to_list, watermark_delay
from muntin.spark.engine.session_kind import is_connect
from muntin.spark.engine.stream_paths import (
    StreamPath,
    are_of_one_stream,
    common_operators,
    describe_path,
    path_of,
    source_column,
)
from muntin.spark.frames.frame_queries import ReadFrames, table_of_group
from muntin.spark.frames.read_frames import read_frames
from muntin.sql_text import SqlText, name_parts

# The default watermark.
WATERMARK = "10 seconds"
# What queries call a stream that is neither filtered nor joined below them.
_ONLY_TABLE = table_of_group(0)
# Longer names are cut: they are only read in plans.
_LONGEST_NAME = 60
_PLAIN = str.maketrans(".`", "__")
_CONDITION = re.compile("where |inner join on |left join on ")


@dataclass(frozen=True, kw_only=True)
class StreamInput:
    """Queries, the stream that they read, and its watermark, if there is one."""

    queries: Any
    data: DataFrame
    watermark: Duration | None
    # What queries read by name, if that is more than the stream: it, its joins, static tables.
    tables: Mapping[str, DataFrame] | None = None
    # What queries call the rows that the watermark follows, if those are not all of the stream.
    followed: str | None = None


def stream_input(
    queries: Any,
    data: DataFrame | Mapping[str, DataFrame] | None,
    watermark: Duration | None,
    *,
    own_definitions: bool = True,
) -> StreamInput:
    """Returns the queries and the stream that `start` was given, also as DataFrames by name.

    `own_definitions` is as in `read_frames`; a checkpoint of an earlier muntin has none.
    """
    if isinstance(queries, Mapping):
        if data is not None:
            raise RunError("the DataFrames are the queries and the data; give no data beside them")
        return _input_of_frames(queries, watermark, own_definitions=own_definitions)
    if data is None:
        raise RunError("queries need a streaming DataFrame to run on")
    if isinstance(data, Mapping):
        return _input_of_tables(queries, data, watermark)
    return StreamInput(queries=queries, data=data, watermark=watermark)


def _input_of_tables(
    queries: Any, tables: Mapping[str, DataFrame], watermark: Duration | None
) -> StreamInput:
    """Returns queries over tables, of which one is a stream, or several are made of one stream."""
    for name, frame in tables.items():
        if not isinstance(frame, DataFrame):
            raise not_a_dataframe(repr(name), frame)
    streams = {name: frame for name, frame in tables.items() if frame.isStreaming}
    if not streams:
        raise RunError(
            "data has no streaming DataFrame; mt.start and mt.stream take one among the tables, "
            "mt.run runs the same plan on a batch"
        )
    data = next(iter(streams.values()))
    if is_connect(data.sparkSession):
        raise RunError(
            "on Spark Connect, a stream is one DataFrame; join it with its tables, and start a "
            "pipeline for each join"
        )
    if len(streams) > 1:
        paths = {name: path_of(analyzed_plan(frame)) for name, frame in streams.items()}
        data = _common_stream(paths, data.sparkSession)
        watermark = _common_watermark(_watermark_delays(paths, data.sparkSession), watermark)
    return StreamInput(queries=queries, data=data, tables=tables, watermark=watermark)


def _input_of_frames(
    frames: Mapping[str, DataFrame], watermark: Duration | None, *, own_definitions: bool
) -> StreamInput:
    read = read_frames(frames, own_definitions=own_definitions)
    for name, reason in {**read.reasons, **read.misread_reasons()}.items():
        raise RunError(f"query {name!r} cannot be streamed: {reason}")
    # A query of each relation, to be named in errors.
    readers = {query.source.tables[0]: query.name for query in read.shared}
    (first, *others) = read.relations.values()
    delays = {name: mark.delay for name, mark in read.watermarks.items()}
    alone = StreamInput(
        queries=read.queries, data=first, watermark=_common_watermark(delays, watermark)
    )
    session = first.sparkSession
    if is_connect(session):
        if others:
            raise _different_streams(readers.values())
        return alone
    if not own_definitions:
        if others:
            raise RunError(
                "the checkpoint was made by an earlier muntin, which did not store what a stream "
                "is joined with; start with a new checkpoint, or without the joins"
            )
        return alone
    paths = {table: path_of(analyzed_plan(frame)) for table, frame in read.relations.items()}
    above = [query.name for query in read.shared if _is_marked_above(query, read, paths)]
    if above and others:
        raise RunError(
            f"query {above[0]!r} has its watermark above a join that others do not have; call "
            f"withWatermark on the stream before it is joined"
        )
    names = _stable_names(paths, readers, session)
    queries = [_with_relation(query, names[query.source.tables[0]]) for query in read.shared]
    alone = replace(alone, queries=queries, followed=_part_of_stream(*names.values()))
    if not others and not any(path.has_joins for path in paths.values()):
        return alone
    by_query = {readers[table]: path for table, path in paths.items()}
    delays |= _watermark_delays(by_query, session)
    if not others and (above or not _has_time_of_stream(read.shared[0], *paths.values())):
        # The watermark follows the rows of the join, as it does for Spark.
        return alone
    data = _common_stream(by_query, session)
    return StreamInput(
        queries=queries,
        data=data,
        tables={names[table]: frame for table, frame in read.relations.items()},
        watermark=_common_watermark(delays, watermark),
        followed=_part_of_stream(_stable_name(path_of(analyzed_plan(data)), session)),
    )


def _with_relation(query: Query, table: str) -> Query:
    return replace(query, relation=SqlText.table(table))


def _is_marked_above(query: Query, read: ReadFrames, paths: Mapping[str, StreamPath]) -> bool:
    """Whether a DataFrame has its watermark above a join."""
    return query.name in read.watermarks and paths[query.source.tables[0]].has_joins


def _has_time_of_stream(query: Query, path: StreamPath) -> bool:
    """Whether the time of a DataFrame is a column of the stream below its joins."""
    (name,) = name_parts(query.time)
    columns = to_list(path.plan_at(len(path.operators)).output())
    (time,) = (column for column in columns if column.name() == name)
    return source_column(path, common_operators([path]), time) is not None


def _stable_names(
    paths: Mapping[str, StreamPath], readers: Mapping[str, str], session: SparkSession
) -> dict[str, str]:
    """Returns names of tables that are the same in each run, since state is stored by them."""
    names: dict[str, str] = {}
    for table, path in paths.items():
        name = _stable_name(path, session)
        for other, known in names.items():
            if known == name:
                raise _different_streams([readers[other], readers[table]])
        names[table] = name
    return names


def _stable_name(path: StreamPath, session: SparkSession) -> str:
    """Returns a name for what a path reads: that of the stream, with its filters and joins."""
    texts = describe_path(path, session)
    if not texts:
        return _ONLY_TABLE
    digest = sha1("\n".join(texts).encode()).hexdigest()[:8]
    # Without dots, at which a name would be split.
    shown = " ".join(filter(_CONDITION.match, texts)).translate(_PLAIN)
    return f"{_ONLY_TABLE} {shown[:_LONGEST_NAME]} {digest}"


def _part_of_stream(name: str, *others: str) -> str | None:
    """Returns the name of the only relation, if it leaves out or joins rows of the stream."""
    return None if others or name == _ONLY_TABLE else name


def _common_stream(paths: Mapping[str, StreamPath], session: SparkSession) -> DataFrame:
    """Returns the stream that all paths begin with; they are by what errors call them."""
    if not are_of_one_stream(list(paths.values()), session):
        raise _different_streams(paths)
    common = common_operators(list(paths.values()))
    for name, path in paths.items():
        if path.has_filter_below_watermark(common):
            raise RunError(
                f"{name!r} has a filter or a join below its watermark that others do not have; "
                f"call withWatermark on the stream first"
            )
    return frame_of(next(iter(paths.values())).plan_at(common), session)


def _different_streams(names: Iterable[str]) -> RunError:
    return RunError(
        f"a pipeline reads one stream, and {' and '.join(sorted(names))} read different ones, or "
        f"joins that cannot be told apart; call alias on static tables that differ, or start a "
        f"pipeline for each"
    )


def _watermark_delays(paths: Mapping[str, StreamPath], session: SparkSession) -> dict[str, int]:
    """Returns the watermarks below joins, in microseconds."""
    return {
        name: watermark_delay(path.operators[path.watermark], session)
        for name, path in paths.items()
        if path.watermark is not None
    }


def _common_watermark(delays: Mapping[str, int], given: Duration | None) -> Duration | None:
    """Returns the watermark of the DataFrames, which must agree with the one that is given; None
    if there is none."""
    if given is not None:
        delays = {**delays, "watermark=": parse_duration(given)}
    if len(set(delays.values())) > 1:
        texts = (f"{name} {format_duration(delay)}" for name, delay in delays.items())
        raise RunError(f"a stream has one watermark, and there are several: {', '.join(texts)}")
    return timedelta(microseconds=next(iter(delays.values()))) if delays else None
