"""The operators between a stream and a statement over it: projections, filters, and joins with
static tables."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from muntin.spark.engine.catalyst import (
    ATTRIBUTE,
    Expression,
    Plan,
    children,
    identity,
    items,
    kind,
    resolved_by,
    walk,
)
from muntin.spark.engine.same_rows import same_rows

PROJECT, FILTER, JOIN, WATERMARK = "Project", "Filter", "Join", "EventTimeWatermark"
# Names that DataFrames are lent in statements.
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
        return any(kind(operator) == JOIN for operator in self.operators)

    @property
    def watermark(self) -> int | None:
        """The place of the operator that sets a watermark, if there is one."""
        kinds = [kind(operator) for operator in self.operators]
        return kinds.index(WATERMARK) if WATERMARK in kinds else None

    def leaves_out_below_watermark(self, first: int) -> bool:
        """Whether rows are left out or joined below the watermark, by an operator from `first`
        on."""
        below = self.operators[first : self.watermark or 0]
        return any(kind(operator) != PROJECT for operator in below)

    def plan_at(self, count: int) -> Plan:
        """Returns the plan of the first operators."""
        return self.operators[count - 1] if count else self.bottom


def path_of(plan: Plan) -> StreamPath:
    """Returns the operators of a plan, down to the first that is of another kind."""
    operators: list[Plan] = []
    while True:
        below = _read_by(plan)
        if below is None:
            return StreamPath(bottom=plan, operators=tuple(reversed(operators)))
        if kind(plan) not in _NAMES:
            operators.append(plan)
        plan = below


def _read_by(plan: Plan) -> Plan | None:
    """Returns what an operator reads of the stream; None if it is none of a path's."""
    if kind(plan) in {PROJECT, FILTER, WATERMARK, *_NAMES}:
        return children(plan)[0]
    if kind(plan) != JOIN:
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
    """Returns how many operators of paths over one stream are the stream's own: projections that
    all begin with, and all that they have in common below a watermark."""
    marked = max(path.watermark or 0 for path in paths)
    common = 0
    for first, *others in zip(*(path.operators for path in paths), strict=False):
        is_own = kind(first) == PROJECT or (kind(first) != WATERMARK and common < marked)
        if not is_own or not all(first.sameResult(other) for other in others):
            break
        common += 1
    return common


def source_column(path: StreamPath, common: int, column: Expression) -> int | None:
    """Returns the place among the columns of a path's first operators that a column of its plan is,
    under whatever name; None if it is computed."""
    ids = {identity(each): place for place, each in enumerate(items(path.plan_at(common).output()))}
    for operator in path.operators[common:]:
        if kind(operator) == PROJECT:
            for each in items(operator.projectList()):
                if kind(each) == "Alias" and kind(children(each)[0]) == ATTRIBUTE:
                    inside = identity(children(each)[0])
                    if inside in ids:
                        ids[identity(each)] = ids[inside]
    return ids.get(identity(column))


def description(path: StreamPath, session: SparkSession) -> tuple[str, ...]:
    """Returns the filters and joins of a path as text that is the same in each run: conditions over
    the stream's own columns, and static tables."""
    meanings: dict[int, Expression] = {}
    texts = []
    for operator in path.operators:
        if kind(operator) == PROJECT:
            meanings |= {
                identity(each): resolved_by(children(each)[0], meanings, session)
                for each in items(operator.projectList())
                if kind(each) == "Alias"
            }
        elif kind(operator) == FILTER:
            texts.append(f"where {resolved_by(operator.condition(), meanings, session).sql()}")
        elif kind(operator) == JOIN:
            join = static_join(operator)
            condition = "true"
            if join.condition is not None:
                condition = resolved_by(join.condition, meanings, session).sql()
            texts.append(f"{'inner' if join.is_inner else 'left'} join on {condition}")
            texts += (_described(node) for node in walk(join.table) if kind(node) != "View")
    return tuple(_RANDOM_NAME.sub("", text) for text in texts)


def _described(node: Plan) -> str:
    """Returns an operator of a static table as text, without ids, paths and rows."""
    if kind(node) == "SubqueryAlias":
        return f"as {node.identifier().toString()}"
    return f"{kind(node)}({', '.join(each.sql() for each in items(node.expressions()))})"
