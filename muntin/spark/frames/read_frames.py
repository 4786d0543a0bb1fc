"""Reads DataFrames as queries over the relations that they have in common."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from muntin.errors import RunError
from muntin.model.query import PlainQuery, Query
from muntin.model.sql_text import SqlText
from muntin.spark.binding.relations import Relations
from muntin.spark.engine.catalyst import Expression, Plan, identity, items
from muntin.spark.engine.session_kind import is_connect
from muntin.spark.frames.chain import Chain, NotSharedError, Watermark, chain_of
from muntin.spark.frames.relation import Relation
from muntin.spark.frames.shape import shape_of
from muntin.spark.frames.time_window import WindowOperator
from muntin.spark.frames.to_query import WrittenQuery, confirm, write_query


@dataclass(frozen=True, kw_only=True)
class ReadFrames:
    """The queries of some DataFrames, and the DataFrames that they read by name."""

    queries: tuple[Query | PlainQuery, ...]
    # The user's own DataFrames, and the relations that those which share have in common.
    frames: Mapping[str, DataFrame]
    relations: Mapping[str, DataFrame]
    # Why a DataFrame cannot share, by its name.
    reasons: Mapping[str, str]
    # The watermarks of streams, by the DataFrame that has it.
    watermarks: Mapping[str, Watermark]

    @property
    def data(self) -> dict[str, DataFrame]:
        """All that statements of the queries read."""
        return {**self.frames, **self.relations}


def read_frames(frames: Mapping[str, DataFrame]) -> ReadFrames:
    """Returns the queries that DataFrames are; one that cannot share is a plain query."""
    session = _check(frames)
    chains: dict[str, Chain] = {}
    reasons: dict[str, str] = {}
    for name, frame in frames.items():
        if is_connect(session):
            reasons[name] = "Spark Connect does not show its plan; write it as SQL or as mt.Query"
            continue
        try:
            chains[name] = chain_of(frame)
        except NotSharedError as reason:
            reasons[name] = str(reason)
    queries: dict[str, Query] = {}
    relations: dict[str, DataFrame] = {}
    watermarks: dict[str, Watermark] = {}
    for number, members in enumerate(_with_common_bases(chains)):
        table = f"data{number + 1}" if number else "data"
        group = _queries_of(members, table, frames, session)
        queries |= group.queries
        reasons |= group.reasons
        watermarks |= group.watermarks
        if group.queries:
            relations[table] = group.frame
    return ReadFrames(
        queries=tuple(
            queries[name]
            if name in queries
            else PlainQuery(name=name, statement=_statement(name), reason=reasons[name])
            for name in frames
        ),
        frames={_own(name): frame for name, frame in frames.items()},
        relations=relations,
        reasons=reasons,
        watermarks=watermarks,
    )


@dataclass(frozen=True, kw_only=True)
class _Group:
    """What became of the DataFrames over one base."""

    queries: Mapping[str, Query]
    reasons: Mapping[str, str]
    frame: DataFrame
    watermarks: Mapping[str, Watermark]


def _queries_of(
    chains: Mapping[str, Chain], table: str, frames: Mapping[str, DataFrame], session: SparkSession
) -> _Group:
    """Returns the queries over a base, why others are none, and the relation that they read."""
    base = next(iter(chains.values())).base
    relation = Relation(base=base, session=session)
    written: dict[str, WrittenQuery] = {}
    reasons: dict[str, str] = {}
    for name, chain in chains.items():
        # Spark gives the columns their names and metadata; a stream's are asked for too often.
        streaming = frames[name].isStreaming
        try:
            shape = shape_of(chain, _columns_of(base, chain.base), session)
            written[name] = write_query(
                name,
                shape,
                relation,
                table,
                labels=frames[name].columns if streaming else [None] * len(shape.columns),
                statement=None if streaming else _statement(name),
            )
        except NotSharedError as reason:
            reasons[name] = str(reason)
    frame = relation.frame()
    for name, each in written.items():
        try:
            confirm(each, Relations({table: frame}, [each.query], streaming=True))
        except NotSharedError as reason:
            reasons[name] = str(reason)
    return _Group(
        queries={name: each.query for name, each in written.items() if name not in reasons},
        reasons=reasons,
        frame=frame,
        watermarks={
            name: mark
            for name, each in written.items()
            if (mark := each.shape.watermark) is not None
        },
    )


def _columns_of(common: Plan, own: Plan) -> dict[int, Expression]:
    """Returns the columns of one plan by the ids that they have in another with the same rows."""
    pairs = zip(items(own.output()), items(common.output()), strict=True)
    return {identity(mine): theirs for mine, theirs in pairs if identity(mine) != identity(theirs)}


def _with_common_bases(chains: Mapping[str, Chain]) -> list[dict[str, Chain]]:
    """Returns the chains over each base; what all of them begin with is made part of the base."""
    groups: list[dict[str, Chain]] = []
    for name, chain in chains.items():
        for group in groups:
            if next(iter(group.values())).base.sameResult(chain.base):
                group[name] = chain
                break
        else:
            groups.append({name: chain})
    for group in groups:
        common = 0
        for operators in zip(*(chain.below for chain in group.values()), strict=False):
            if any(isinstance(each, WindowOperator | Watermark) for each in operators):
                break
            if not all(operators[0].sameResult(each) for each in operators[1:]):
                break
            common += 1
        for name, chain in group.items():
            group[name] = chain.above_base(common)
    return groups


def _own(name: str) -> str:
    """Returns the name of a user's DataFrame among those that statements read."""
    return f"frame {name}"


def _statement(name: str) -> SqlText:
    return SqlText(("SELECT * FROM ", ""), (_own(name),))


def _check(frames: Mapping[str, DataFrame]) -> SparkSession:
    """Returns the session of all DataFrames."""
    if not isinstance(frames, Mapping) or not frames:
        raise RunError("share takes a mapping from names to DataFrames, at least one")
    for name, frame in frames.items():
        if not isinstance(frame, DataFrame):
            raise RunError(f"{name!r} must be a DataFrame, not {type(frame).__name__}")
    sessions = {id(frame.sparkSession): frame.sparkSession for frame in frames.values()}
    if len(sessions) > 1:
        raise RunError("the DataFrames are of several sessions")
    return next(iter(sessions.values()))
