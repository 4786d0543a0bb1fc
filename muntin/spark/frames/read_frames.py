"""Reads DataFrames as queries over the relations that they have in common."""

from collections.abc import Mapping
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from muntin.model.query import PlainQuery
from muntin.spark.engine.catalyst import Expression, Plan, analyzed, identity, items
from muntin.spark.engine.same_rows import same_rows
from muntin.spark.engine.session_kind import is_connect, may_use_internals
from muntin.spark.frames.chain import Chain, NotSharedError, Watermark, chain_of
from muntin.spark.frames.frame_queries import (
    FoundFrames,
    FrameGroup,
    ReadFrames,
    own_table,
    session_of,
    table_of_group,
    whole_frame,
)
from muntin.spark.frames.relation import Relation
from muntin.spark.frames.shape import shape_of
from muntin.spark.frames.time_window import WindowOperator, first_window
from muntin.spark.frames.to_query import WrittenQuery, confirm, write_query
from muntin.spark.frames.unresolved.read_unresolved import read_unresolved

_NOT_READ = (
    "plans of DataFrames are internal to Spark, and MUNTIN_JVM or spark.muntin.jvm is 'public'; "
    "write the query as SQL"
)


def read_frames(frames: Mapping[str, DataFrame]) -> ReadFrames:
    """Returns the queries that DataFrames are; one that cannot share is a plain query.

    Those that are not answered by their own DataFrames have to be confirmed: see `misread`.
    """
    session = session_of(frames)
    if is_connect(session):
        found = read_unresolved(frames)
    elif may_use_internals(session):
        found = _read_resolved(frames, session)
    else:
        found = FoundFrames(groups=[], reasons=dict.fromkeys(frames, _NOT_READ))
    queries = {name: query for group in found.groups for name, query in group.queries.items()}
    reasons = dict(found.reasons)
    for group in found.groups:
        reasons |= group.reasons
    return ReadFrames(
        queries=tuple(
            queries[name]
            if name in queries
            else PlainQuery(
                name=name,
                statement=whole_frame(name),
                reason=reasons[name],
                window=first_window(analyzed(frames[name])) if may_use_internals(session) else None,
            )
            for name in frames
        ),
        frames={own_table(name): frame for name, frame in frames.items()},
        relations={group.table: group.frame for group in found.groups if group.queries},
        reasons=reasons,
        watermarks={
            name: mark for group in found.groups for name, mark in group.watermarks.items()
        },
        confirmations={
            name: each for group in found.groups for name, each in group.confirmations.items()
        },
    )


def _read_resolved(frames: Mapping[str, DataFrame], session: SparkSession) -> FoundFrames:
    """Reads the plans that Spark has resolved."""
    chains: dict[str, Chain] = {}
    reasons: dict[str, str] = {}
    for name, frame in frames.items():
        try:
            chains[name] = chain_of(frame)
        except NotSharedError as reason:
            reasons[name] = str(reason)
    groups = [
        _queries_of(members, table_of_group(number), frames, session)
        for number, members in enumerate(_with_common_bases(chains, session))
    ]
    return FoundFrames(groups=groups, reasons=reasons)


def _queries_of(
    chains: Mapping[str, Chain], table: str, frames: Mapping[str, DataFrame], session: SparkSession
) -> FrameGroup:
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
                statement=None if streaming else whole_frame(name),
            )
        except NotSharedError as reason:
            reasons[name] = str(reason)
    frame = relation.frame()
    return FrameGroup(
        table=table,
        queries={name: each.query for name, each in written.items()},
        reasons=reasons,
        frame=frame,
        watermarks={
            name: mark
            for name, each in written.items()
            if (mark := each.shape.watermark) is not None
        },
        confirmations={
            name: partial(confirm, each, frame, table) for name, each in written.items()
        },
    )


def _columns_of(common: Plan, own: Plan) -> dict[int, Expression]:
    """Returns the columns of one plan by the ids that they have in another with the same rows."""
    if own is common or own.output().toString() == common.output().toString():
        return {}
    pairs = zip(items(own.output()), items(common.output()), strict=True)
    return {identity(mine): theirs for mine, theirs in pairs if identity(mine) != identity(theirs)}


def _with_common_bases(
    chains: Mapping[str, Chain], session: SparkSession
) -> list[dict[str, Chain]]:
    """Returns the chains over each base; what all of them begin with is made part of the base."""
    groups: list[dict[str, Chain]] = []
    for name, chain in chains.items():
        for group in groups:
            if same_rows(next(iter(group.values())).base, chain.base, session):
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
