"""The parts of streaming DataFrames: operators above a stream, watermarks, folders of files."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

from muntin.model.time import MILLISECOND
from muntin.spark.engine.catalyst import (
    ATTRIBUTE,
    Expression,
    Plan,
    aliases_of,
    analyzed_plan,
    children,
    column_expressions,
    column_id,
    node_name,
    substitute_columns,
    to_list,
    walk,
)
from muntin.spark.engine.connect_plans import (
    operator_of,
    paths_of_relation,
    relation_of,
    walk_relations,
)
from muntin.spark.engine.plan_reuse import same_rows
from muntin.spark.engine.session_kind import is_connect, may_use_internals

PROJECT, FILTER, JOIN, WATERMARK = "Project", "Filter", "Join", "EventTimeWatermark"
# Metadata of a column that has a watermark.
_DELAY = "spark.watermarkDelayMs"
# The temporary names of DataFrames in statements.
_RANDOM_NAME = re.compile(r"`?(_pyspark|muntin)_[0-9a-f]{32}`?[.]?")
# Operators that change no row.
_NAMES = {"SubqueryAlias", "View"}


@dataclass(frozen=True, kw_only=True)
class StaticJoin:
    """A join of the rows of a stream with those of a static table."""

    table: Plan
    condition: Expression | None
    # Whether rows without a match are left out; else they have nulls.
    is_inner: bool


@dataclass(frozen=True, kw_only=True)
class StreamPath:
    """A plan as the operators above a stream, from the bottom up. Each contains those before."""

    bottom: Plan
    operators: tuple[Plan, ...]

    @property
    def has_joins(self) -> bool:
        """Whether the stream is joined with a static table."""
        return any(node_name(operator) == JOIN for operator in self.operators)

    @property
    def watermark(self) -> int | None:
        """The place of the operator that sets a watermark, if there is one."""
        kinds = [node_name(operator) for operator in self.operators]
        return kinds.index(WATERMARK) if WATERMARK in kinds else None

    def has_filter_below_watermark(self, first: int) -> bool:
        """Whether an operator below the watermark, from `first` on, leaves out or joins rows."""
        below = self.operators[first : self.watermark or 0]
        return any(node_name(operator) != PROJECT for operator in below)

    def plan_at(self, count: int) -> Plan:
        """Returns the plan of the first operators."""
        return self.operators[count - 1] if count else self.bottom


def path_of(plan: Plan) -> StreamPath:
    """Returns the operators of a plan, down to the first that is of another kind."""
    operators: list[Plan] = []
    while True:
        below = _stream_child(plan)
        if below is None:
            return StreamPath(bottom=plan, operators=tuple(reversed(operators)))
        if node_name(plan) not in _NAMES:
            operators.append(plan)
        plan = below


def _stream_child(plan: Plan) -> Plan | None:
    """Returns the plan through which an operator reads the stream; None for other operators."""
    if node_name(plan) in {PROJECT, FILTER, WATERMARK, *_NAMES}:
        return children(plan)[0]
    if node_name(plan) != JOIN:
        return None
    left, right = children(plan)
    if left.isStreaming() == right.isStreaming():
        return None
    allowed = {"INNER", "CROSS", "LEFT OUTER" if left.isStreaming() else "RIGHT OUTER"}
    if plan.joinType().sql() not in allowed:
        return None
    return left if left.isStreaming() else right


def static_join(join: Plan) -> StaticJoin:
    """Returns the static side of a join on a path."""
    left, right = children(join)
    condition = join.condition()
    return StaticJoin(
        table=right if left.isStreaming() else left,
        condition=condition.get() if condition.isDefined() else None,
        is_inner=join.joinType().sql() in {"INNER", "CROSS"},
    )


def are_of_one_stream(paths: Sequence[StreamPath], session: SparkSession) -> bool:
    """Whether paths begin with the same rows."""
    first, *others = paths
    return all(same_rows(first.bottom, other.bottom, session) for other in others)


def common_operators(paths: Sequence[StreamPath]) -> int:
    """Returns how many of the lowest operators, equal in all paths, belong to their common stream.

    These are projections and, below a watermark, any operators.
    """
    marked = max(path.watermark or 0 for path in paths)
    common = 0
    for first, *others in zip(*(path.operators for path in paths), strict=False):
        is_own = node_name(first) == PROJECT or (node_name(first) != WATERMARK and common < marked)
        if not is_own or not all(first.sameResult(other) for other in others):
            break
        common += 1
    return common


def source_column(path: StreamPath, common: int, column: Expression) -> int | None:
    """Returns the position of a path's column among the columns of its first `common` operators;
    None if it is computed above them. It may have been renamed."""
    ids = {
        column_id(each): place for place, each in enumerate(to_list(path.plan_at(common).output()))
    }
    for operator in path.operators[common:]:
        if node_name(operator) == PROJECT:
            for each in aliases_of(operator):
                if node_name(children(each)[0]) == ATTRIBUTE:
                    inside = column_id(children(each)[0])
                    if inside in ids:
                        ids[column_id(each)] = ids[inside]
    return ids.get(column_id(column))


def describe_path(path: StreamPath, session: SparkSession) -> tuple[str, ...]:
    """Returns the filters and joins of a path as text that is the same in each run.

    Conditions are over the stream's own columns; static tables are shown without paths and rows.
    """
    meanings: dict[int, Expression] = {}
    texts = []
    for operator in path.operators:
        if node_name(operator) == PROJECT:
            meanings |= column_expressions(operator, meanings, session)
        elif node_name(operator) == FILTER:
            texts.append(
                f"where {substitute_columns(operator.condition(), meanings, session).sql()}"
            )
        elif node_name(operator) == JOIN:
            join = static_join(operator)
            condition = "true"
            if join.condition is not None:
                condition = substitute_columns(join.condition, meanings, session).sql()
            texts.append(f"{'inner' if join.is_inner else 'left'} join on {condition}")
            texts += (_describe(node) for node in walk(join.table) if node_name(node) != "View")
    return tuple(_RANDOM_NAME.sub("", text) for text in texts)


def _describe(node: Plan) -> str:
    """Returns an operator of a static table as text, without ids, paths and rows."""
    if node_name(node) == "SubqueryAlias":
        return f"as {node.identifier().toString()}"
    return f"{node_name(node)}({', '.join(each.sql() for each in to_list(node.expressions()))})"


@dataclass(frozen=True, kw_only=True)
class Watermarks:
    """The watermarks of a streaming DataFrame and of those that it is made of."""

    # The delay of each column that has a watermark, in microseconds.
    delays: Mapping[str, int]
    # How often `withWatermark` was called, and how many streams are read.
    calls: int
    streams: int

    @property
    def bound_all_rows(self) -> bool:
        """Whether no row that was read is later than the watermark plus its delay. Spark uses the
        slowest of several watermarks."""
        return self.calls == 0 or self.calls == self.streams == 1


def watermarks_of(data: DataFrame) -> Watermarks:
    """Returns the watermarks of a streaming DataFrame.

    Where plans may not be read, these are the watermarks of its columns, and `streams` is 0.
    """
    delays = {
        field.name: int(field.metadata[_DELAY]) * MILLISECOND
        for field in data.schema.fields
        if _DELAY in field.metadata
    }
    if is_connect(data.sparkSession):
        relations = [operator_of(relation) for relation in walk_relations(relation_of(data))]
        calls = sum(name == "with_watermark" for name, _ in relations)
        streams = sum(name == "read" and operator.is_streaming for name, operator in relations)
    elif not may_use_internals(data.sparkSession):
        calls, streams = len(delays), 0
    else:
        nodes = list(walk(analyzed_plan(data)))
        calls = sum(node_name(node) == "EventTimeWatermark" for node in nodes)
        streams = sum(node.isStreaming() and not children(node) for node in nodes)
    return Watermarks(delays=delays, calls=calls, streams=streams)


def paths_of_stream(data: DataFrame) -> list[str]:
    """Returns the folders, files and patterns that a stream reads, as far as they are known."""
    if is_connect(data.sparkSession):
        return paths_of_relation(relation_of(data))
    if not may_use_internals(data.sparkSession):
        return []
    try:
        paths = []
        for leaf in to_list(analyzed_plan(data).collectLeaves()):
            if leaf.getClass().getSimpleName() == "StreamingRelation":
                path = leaf.dataSource().options().get("path")
                paths += [str(path.get())] if path.isDefined() else []
        return paths
    except Py4JError:
        # Spark's internal classes may differ in another version.
        return []
