"""The operators of a DataFrame's plan: those above its window aggregate, and those below it."""

from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from muntin.spark.engine.catalyst import (
    Expression,
    Plan,
    analyzed_plan,
    children,
    column_id,
    node_name,
    to_list,
    walk,
    watermark_delay,
)
from muntin.spark.frames.frame_queries import (
    NO_GROUP_BY,
    NotSharedError,
    Watermark,
    has_above_group_by,
)
from muntin.spark.frames.resolved.time_window import WindowOperator, find_window

# Operators that change no row. Spark writes a limit as two.
_NAMES = {"SubqueryAlias", "LocalLimit"}
# Operators that may be above a groupBy.
_ABOVE = {"Project", "Filter", "Sort", "GlobalLimit", "Offset"}
# Functions that cost too much to be computed for each expression that uses them.
_COSTLY = ("UDF", "Subquery", "UserDefined", "Invoke", "Lambda")
# The most nodes of a projection that becomes part of the queries above it.
_LARGEST = 400


@dataclass(frozen=True, kw_only=True)
class Chain:
    """A plan as a list of operators: `above` from the top down, the aggregate, `below` from the
    bottom up, and what is at the bottom."""

    above: tuple[Plan, ...]
    aggregate: Plan
    below: tuple[Plan | WindowOperator | Watermark, ...]
    base: Plan

    def above_base(self, count: int) -> "Chain":
        """Returns the same chain with its lowest operators as parts of its base."""
        if not count:
            return self
        return replace(self, below=self.below[count:], base=self.below[count - 1])


def chain_of(frame: DataFrame) -> Chain:
    """Returns the operators of a DataFrame; raises `NotSharedError` if it has others."""
    plan = analyzed_plan(frame)
    above = []
    while node_name(plan) != "Aggregate":
        if node_name(plan) not in _ABOVE | _NAMES:
            inside = any(node_name(node) == "Aggregate" for node in walk(plan))
            raise NotSharedError(has_above_group_by(node_name(plan)) if inside else NO_GROUP_BY)
        if node_name(plan) not in _NAMES:
            above.append(plan)
        (plan,) = children(plan)
    below: list[Plan | WindowOperator | Watermark] = []
    (base,) = children(plan)
    if any("spark_grouping_id" in each.name() for each in to_list(base.output())):
        raise NotSharedError("it has rollup, cube or groupingSets")
    while True:
        operator, inner = _read_operator(base, frame)
        if inner is None:
            break
        below += [operator] if operator is not None else []
        base = inner
    return Chain(above=tuple(above), aggregate=plan, below=tuple(reversed(below)), base=base)


def _read_operator(
    plan: Plan, frame: DataFrame
) -> tuple[Plan | WindowOperator | Watermark | None, Plan | None]:
    """Returns the operator at the top of a plan, None for an alias, and the plan that it reads.

    The second is None if the plan belongs to the base.
    """
    window = find_window(plan)
    if window is not None:
        return window, window.child
    if node_name(plan) == "SubqueryAlias":
        return None, children(plan)[0]
    if node_name(plan) == "EventTimeWatermark":
        delay = watermark_delay(plan, frame.sparkSession)
        (child,) = children(plan)
        number = column_id(plan.eventTime())
        # Without the mark that the watermark puts on its column.
        column = next(each for each in to_list(child.output()) if column_id(each) == number)
        return Watermark(delay=delay, column=column), child
    if node_name(plan) not in {"Project", "Filter"} or not is_plain(expressions_of(plan)):
        return None, None
    return plan, children(plan)[0]


def expressions_of(plan: Plan) -> list[Expression]:
    """Returns the expressions of a projection or an order, or the condition of a filter."""
    match node_name(plan):
        case "Project":
            return to_list(plan.projectList())
        case "Sort":
            return to_list(plan.order())
    return [plan.condition()]


def is_plain(expressions: list[Expression]) -> bool:
    """Whether expressions give the same values each time, and are cheap enough to be repeated."""
    size = 0
    for expression in expressions:
        if not expression.deterministic():
            return False
        for node in walk(expression):
            size += 1
            name = node_name(node)
            if size > _LARGEST or any(word in name for word in _COSTLY):
                return False
    return True
