"""Reads DataFrames as queries over the relations that they have in common."""

from collections.abc import Mapping, Sequence
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from muntin.model.query import PlainQuery
from muntin.spark.engine.catalyst import (
    ATTRIBUTE,
    Expression,
    Plan,
    analyzed,
    identity,
    items,
    kind,
    walk,
)
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
from muntin.spark.frames.shape import computed, computed_columns, shape_of
from muntin.spark.frames.time_window import WindowOperator, first_window
from muntin.spark.frames.to_query import WrittenQuery, confirm, write_query
from muntin.spark.frames.unresolved.read_unresolved import read_unresolved

_NOT_READ = (
    "plans of DataFrames are internal to Spark, and MUNTIN_JVM or spark.muntin.jvm is 'public'; "
    "write the query as SQL"
)


def read_frames(frames: Mapping[str, DataFrame], *, own_definitions: bool = False) -> ReadFrames:
    """Returns the queries that DataFrames are; one that cannot share is a plain query.

    Those that are not answered by their own DataFrames have to be confirmed: see `misread`.
    With `own_definitions` a query depends on its own DataFrame alone, so that a stream finds its
    state again when other DataFrames come and go. Without, what all have in common is computed
    before the queries, and is in none of them.
    """
    session = session_of(frames)
    if is_connect(session):
        found = read_unresolved(frames, own_definitions=own_definitions)
    elif may_use_internals(session):
        found = _read_resolved(frames, session, own_definitions=own_definitions)
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


def _read_resolved(
    frames: Mapping[str, DataFrame], session: SparkSession, *, own_definitions: bool
) -> FoundFrames:
    """Reads the plans that Spark has resolved."""
    chains: dict[str, Chain] = {}
    reasons: dict[str, str] = {}
    for name, frame in frames.items():
        try:
            chains[name] = chain_of(frame)
        except NotSharedError as reason:
            reasons[name] = str(reason)
    groups = []
    for number, members in enumerate(_over_same_rows(chains, session)):
        alike = list(members.values())
        count = _operators_of_stream(alike) if own_definitions else _common_operators(alike)
        base = alike[0].above_base(count).base
        meanings = computed_columns(base, session) if own_definitions else {}
        relation = Relation(base=base, session=session, meanings=meanings)
        below = {name: chain.above_base(count) for name, chain in members.items()}
        groups.append(_queries_of(below, relation, table_of_group(number), frames))
    return FoundFrames(groups=groups, reasons=reasons)


def _queries_of(
    chains: Mapping[str, Chain],
    relation: Relation,
    table: str,
    frames: Mapping[str, DataFrame],
) -> FrameGroup:
    """Returns the queries over a relation, and why other DataFrames are none."""
    base, session = relation.base, relation.session
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


def _over_same_rows(chains: Mapping[str, Chain], session: SparkSession) -> list[dict[str, Chain]]:
    """Returns the chains in groups that have the same rows at their bottom."""
    groups: list[dict[str, Chain]] = []
    for name, chain in chains.items():
        for group in groups:
            if same_rows(next(iter(group.values())).base, chain.base, session):
                group[name] = chain
                break
        else:
            groups.append({name: chain})
    return groups


def _common_operators(chains: Sequence[Chain]) -> int:
    """Returns how many operators all chains begin with, below their windows and watermarks."""
    count = 0
    for first, *others in zip(*(chain.below for chain in chains), strict=False):
        if any(isinstance(each, WindowOperator | Watermark) for each in (first, *others)):
            break
        if not all(first.sameResult(other) for other in others):
            break
        count += 1
    return count


def _operators_of_stream(chains: Sequence[Chain]) -> int:
    """Returns how many of the common operators belong to the stream, and to no query: those up to
    the last filter below a watermark, which follows the rows that the filter lets in, and up to the
    projection that computes the time of all windows."""
    first = chains[0]
    is_marked = any(isinstance(each, Watermark) for chain in chains for each in chain.below)
    times = {
        identity(node)
        for each in first.below
        if isinstance(each, WindowOperator)
        for node in walk(each.time)
        if kind(node) == ATTRIBUTE
    }
    count = 0
    for place, operator in enumerate(first.below[: _common_operators(chains)], start=1):
        if kind(operator) == "Filter":
            is_of_stream = is_marked
        else:
            is_of_stream = any(identity(each) in times for each in computed(operator))
        if is_of_stream:
            count = place
    return count
