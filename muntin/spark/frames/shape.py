"""What a DataFrame asks for, in Spark's expressions: filters, keys, aggregates, columns."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession

from muntin.model.windows.window import Window
from muntin.spark.engine.catalyst import (
    ATTRIBUTE,
    Expression,
    children,
    identity,
    items,
    kind,
    resolved_by,
    walk,
)
from muntin.spark.frames.chain import (
    Chain,
    NotSharedError,
    Watermark,
    above_in_order,
    expressions_of,
    is_plain,
)
from muntin.spark.frames.time_window import WindowOperator

_CALL = "AggregateExpression"
# Expressions grow when those below are put in their places.
_LARGEST = 2000


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A window aggregate over a base. Filters, keys, time and calls are of the base's columns;
    columns and conditions are of the keys, the window and the calls."""

    filters: tuple[Expression, ...]
    time: Expression
    window: Window
    # The window as a column.
    window_column: Expression
    keys: tuple[Expression, ...]
    calls: tuple[Expression, ...]
    columns: tuple[Expression, ...]
    having: tuple[Expression, ...]
    watermarks: tuple[Watermark, ...]


def shape_of(chain: Chain, meanings: Mapping[int, Expression], session: SparkSession) -> Shape:
    """Returns what the operators of a plan ask for; raises `NotSharedError` if they ask for more.

    `meanings` has the columns to take for those of the chain's base.
    """
    names = dict(meanings)
    filters: list[Expression] = []
    watermarks: list[Watermark] = []
    window: WindowOperator | None = None
    time: Expression = None
    for operator in chain.below:
        if isinstance(operator, WindowOperator):
            if window is not None:
                raise NotSharedError("it has two windows")
            window, time = operator, resolved_by(operator.time, names, session)
        elif isinstance(operator, Watermark):
            column = resolved_by(operator.column, names, session)
            watermarks.append(Watermark(delay=operator.delay, column=column))
        elif kind(operator) == "Filter":
            filters.append(resolved_by(operator.condition(), names, session))
        else:
            names |= _projected(expressions_of(operator), names, session)
    if window is None:
        raise NotSharedError("no window in its groupBy")
    keys = [
        resolved_by(each, names, session) for each in items(chain.aggregate.groupingExpressions())
    ]
    asked = [_bare(each) for each in items(chain.aggregate.aggregateExpressions())]
    answers = [resolved_by(each, names, session) for each in asked]
    is_window = [_is_column(key, window.column) for key in keys]
    if not any(is_window):
        raise NotSharedError("no window in its groupBy")
    own = [key for key, is_it in zip(keys, is_window, strict=True) if not is_it]
    calls = [node for each in answers for node in walk(each) if kind(node) == _CALL]
    _check(filters, own, calls, answers, time, window)
    names_above = {
        identity(each.toAttribute()): answer
        for each, answer in zip(items(chain.aggregate.aggregateExpressions()), answers, strict=True)
    }
    having: list[Expression] = []
    columns = list(answers)
    for operator in above_in_order(chain):
        if not is_plain(expressions_of(operator)):
            raise NotSharedError("what stands above its groupBy has functions beyond Spark's own")
        if kind(operator) == "Filter":
            having.append(resolved_by(operator.condition(), names_above, session))
        else:
            projected = expressions_of(operator)
            columns = [resolved_by(_bare(each), names_above, session) for each in projected]
            names_above |= {
                identity(each.toAttribute()): column
                for each, column in zip(projected, columns, strict=True)
            }
    return Shape(
        filters=tuple(filters),
        time=time,
        window=window.window,
        window_column=window.column,
        keys=tuple(_distinct(own)),
        calls=tuple(_distinct(calls)),
        columns=tuple(columns),
        having=tuple(having),
        watermarks=tuple(watermarks),
    )


def _projected(
    expressions: list[Expression], names: Mapping[int, Expression], session: SparkSession
) -> dict[int, Expression]:
    """Returns what the columns of a projection mean below it."""
    return {
        identity(each): resolved_by(children(each)[0], names, session)
        for each in expressions
        if kind(each) == "Alias"
    }


def _bare(expression: Expression) -> Expression:
    """Returns an expression without its name."""
    while kind(expression) == "Alias":
        (expression,) = children(expression)
    return expression


def _is_column(expression: Expression, column: Expression) -> bool:
    return kind(expression) == ATTRIBUTE and identity(expression) == identity(column)


def _check(
    filters: list[Expression],
    keys: list[Expression],
    calls: list[Expression],
    answers: list[Expression],
    time: Expression,
    window: WindowOperator,
) -> None:
    """Refuse a window inside what is computed of single rows, and what grew too large."""
    for what, expressions in (("a filter", filters), ("a key", keys), ("an aggregate", calls)):
        for expression in expressions:
            if any(_is_column(node, window.column) for node in walk(expression)):
                raise NotSharedError(f"{what} below its groupBy reads the window")
    for expression in [*filters, *keys, *answers, time]:
        if not expression.deterministic():
            raise NotSharedError("it has functions that give other values each time")
        if sum(1 for _ in walk(expression)) > _LARGEST:
            raise NotSharedError("its expressions are too large")


def _distinct(expressions: list[Expression]) -> list[Expression]:
    found: list[Expression] = []
    for expression in expressions:
        if not any(expression.semanticEquals(other) for other in found):
            found.append(expression)
    return found
