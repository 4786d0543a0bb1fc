"""Reads DataFrames of a session with a JVM: plans that Spark has resolved."""

from collections.abc import Mapping, Sequence
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from muntin.spark.engine.catalyst import (
    ATTRIBUTE,
    Expression,
    Plan,
    aliases_of,
    column_id,
    node_name,
    to_list,
    walk,
)
from muntin.spark.engine.plan_reuse import same_rows
from muntin.spark.frames.frame_queries import (
    FrameGroup,
    FrameQuery,
    Watermark,
    note_reason,
    statement_of,
    table_of_group,
)
from muntin.spark.frames.resolved.chain import Chain, chain_of
from muntin.spark.frames.resolved.relation import Relation
from muntin.spark.frames.resolved.shape import computed_columns, shape_of
from muntin.spark.frames.resolved.time_window import WindowOperator
from muntin.spark.frames.resolved.to_query import WrittenQuery, confirm, write_query


def read_resolved(
    frames: Mapping[str, DataFrame],
    session: SparkSession,
    reasons: dict[str, str],
    *,
    own_definitions: bool,
) -> list[FrameGroup]:
    """Returns the queries of DataFrames that read the same rows; adds the reasons of the others.

    `own_definitions` is as in `read_frames`.
    """
    chains: dict[str, Chain] = {}
    for name, frame in frames.items():
        with note_reason(reasons, name):
            chains[name] = chain_of(frame)
    groups = []
    for number, members in enumerate(_over_same_rows(chains, session)):
        alike = list(members.values())
        count = _operators_of_stream(alike) if own_definitions else _common_operators(alike)
        base = alike[0].above_base(count).base
        meanings = computed_columns(base, session) if own_definitions else None
        relation = Relation(base=base, session=session, meanings=meanings)
        below = {name: chain.above_base(count) for name, chain in members.items()}
        groups.append(_group_queries(below, relation, table_of_group(number), frames, reasons))
    return groups


def _group_queries(
    chains: Mapping[str, Chain],
    relation: Relation,
    table: str,
    frames: Mapping[str, DataFrame],
    reasons: dict[str, str],
) -> FrameGroup:
    """Returns the queries over a relation; adds the reasons of DataFrames that are none."""
    base, session = relation.base, relation.session
    written: dict[str, WrittenQuery] = {}
    for name, chain in chains.items():
        frame = frames[name]
        with note_reason(reasons, name):
            shape = shape_of(chain, _columns_of(base, chain.base), session)
            labels = frame.columns if frame.isStreaming else [None] * len(shape.columns)
            written[name] = write_query(
                name, shape, relation, table, labels=labels, statement=statement_of(name, frame)
            )
    data = relation.frame()
    return FrameGroup(
        table=table,
        frame=data,
        members={
            name: FrameQuery(
                query=each.query,
                watermark=each.shape.watermark,
                confirm=partial(confirm, each, data, table),
            )
            for name, each in written.items()
        },
    )


def _columns_of(common: Plan, own: Plan) -> dict[int, Expression]:
    """Returns the columns of one plan by the ids that they have in another with the same rows."""
    if own is common or own.output().toString() == common.output().toString():
        return {}
    pairs = zip(to_list(own.output()), to_list(common.output()), strict=True)
    return {
        column_id(mine): theirs for mine, theirs in pairs if column_id(mine) != column_id(theirs)
    }


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
        column_id(node)
        for each in first.below
        if isinstance(each, WindowOperator)
        for node in walk(each.time)
        if node_name(node) == ATTRIBUTE
    }
    count = 0
    for place, operator in enumerate(first.below[: _common_operators(chains)], start=1):
        if node_name(operator) == "Filter":
            is_of_stream = is_marked
        else:
            is_of_stream = any(column_id(each) in times for each in aliases_of(operator))
        if is_of_stream:
            count = place
    return count
