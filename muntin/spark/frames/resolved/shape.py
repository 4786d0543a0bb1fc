"""The shape of a DataFrame in Spark's expressions: filters, keys, aggregates, columns."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession

from muntin.spark.engine.catalyst import (
    ATTRIBUTE,
    Expression,
    Plan,
    children,
    column_expressions,
    column_id,
    node_name,
    strip_alias,
    substitute_columns,
    to_list,
    walk,
)
from muntin.spark.engine.stream_paths import path_of
from muntin.spark.frames.frame_queries import (
    NO_WINDOW,
    OTHER_TIME,
    TWO_WINDOWS,
    Ending,
    NotSharedError,
    Watermark,
)
from muntin.spark.frames.resolved.chain import Chain, expressions_of, is_plain
from muntin.spark.frames.resolved.time_window import WindowOperator

_CALL = "AggregateExpression"
# The most nodes of an expression, once the expressions below are put into it.
_LARGEST = 2000


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A window aggregate over a base. Filters, keys, time and calls are of the base's columns;
    columns and conditions are of the keys, the window and the calls."""

    filters: tuple[Expression, ...]
    time: Expression
    window: WindowOperator
    keys: tuple[Expression, ...]
    calls: tuple[Expression, ...]
    columns: tuple[Expression, ...]
    having: tuple[Expression, ...]
    ending: Ending
    # How late rows may be, if the DataFrame says so.
    watermark: Watermark | None


def shape_of(chain: Chain, meanings: Mapping[int, Expression], session: SparkSession) -> Shape:
    """Returns the shape of a plan's operators; raises `NotSharedError` if they have another one.

    `meanings` has the columns to take for those of the chain's base.
    """
    below = _read_below(chain, meanings, session)
    grouped = to_list(chain.aggregate.groupingExpressions())
    keys = [substitute_columns(each, below.names, session) for each in grouped]
    own = [key for key in keys if not _is_column(key, below.window.column)]
    if len(own) == len(keys):
        raise NotSharedError(NO_WINDOW)
    given = to_list(chain.aggregate.aggregateExpressions())
    answers = [substitute_columns(strip_alias(each), below.names, session) for each in given]
    calls = [node for each in answers for node in walk(each) if node_name(node) == _CALL]
    _check_below(below, own, calls)
    for expression in [*below.filters, *own, *answers, below.time]:
        if sum(1 for _ in walk(expression)) > _LARGEST:
            raise NotSharedError("its expressions are too large")
    names = {
        column_id(each.toAttribute()): answer for each, answer in zip(given, answers, strict=True)
    }
    columns, having, ending = _read_above(chain, names, session)
    return Shape(
        filters=tuple(below.filters),
        time=below.time,
        window=below.window,
        keys=tuple(_without_duplicates(own)),
        calls=tuple(_without_duplicates(calls)),
        columns=tuple(answers if columns is None else columns),
        having=tuple(having),
        ending=ending,
        watermark=below.watermark,
    )


@dataclass(frozen=True, kw_only=True)
class _Below:
    """The filters, window and watermark below the aggregate.

    `names` has the expressions over the base that columns stand for, by their ids.
    """

    names: Mapping[int, Expression]
    filters: list[Expression]
    window: WindowOperator
    time: Expression
    watermark: Watermark | None


def _read_below(chain: Chain, meanings: Mapping[int, Expression], session: SparkSession) -> _Below:
    """Reads the operators below the aggregate, from the bottom up."""
    names = dict(meanings)
    filters: list[Expression] = []
    watermark: Watermark | None = None
    window: WindowOperator | None = None
    time: Expression = None
    for operator in chain.below:
        if isinstance(operator, WindowOperator):
            if window is not None:
                raise NotSharedError(TWO_WINDOWS)
            window, time = operator, substitute_columns(operator.time, names, session)
        elif isinstance(operator, Watermark):
            if watermark is not None:
                raise NotSharedError("it has two watermarks")
            if filters:
                # Then the watermark would follow rows that the other DataFrames read, too.
                raise NotSharedError("it has a filter below its watermark that others do not have")
            column = substitute_columns(operator.column, names, session)
            names[column_id(operator.column)] = column
            watermark = Watermark(delay=operator.delay, column=column)
        elif node_name(operator) == "Filter":
            filters.append(substitute_columns(operator.condition(), names, session))
        else:
            names |= column_expressions(operator, names, session)
    if window is None:
        raise NotSharedError(NO_WINDOW)
    if watermark is not None and not watermark.column.semanticEquals(time):
        raise NotSharedError(OTHER_TIME)
    return _Below(names=names, filters=filters, window=window, time=time, watermark=watermark)


def computed_columns(base: Plan, session: SparkSession) -> dict[int, Expression]:
    """Returns the columns that a base computes, by their ids, each as an expression of the stream's
    own columns."""
    columns: dict[int, Expression] = {}
    for operator in path_of(base).operators:
        if node_name(operator) == "Project" and is_plain(expressions_of(operator)):
            columns |= column_expressions(operator, columns, session)
    return columns


def _read_above(
    chain: Chain, meanings: Mapping[int, Expression], session: SparkSession
) -> tuple[list[Expression] | None, list[Expression], Ending]:
    """Returns the columns, filters and ending of the operators above the aggregate.

    The columns are None if they are the aggregate's own.
    """
    names = dict(meanings)
    columns: list[Expression] | None = None
    having: list[Expression] = []
    ending = Ending()
    for operator in reversed(chain.above):
        if node_name(operator) == "GlobalLimit":
            ending = ending.with_limit(_row_count(operator.limitExpr()))
            continue
        if node_name(operator) == "Offset":
            ending = ending.with_offset(_row_count(operator.offsetExpr()))
            continue
        if node_name(operator) != "Project":
            ending.check_no_limit()
        expressions = expressions_of(operator)
        if not is_plain(expressions):
            raise NotSharedError(
                "above its groupBy it has functions that are not Spark's own, or that give other "
                "values each time"
            )
        found = [substitute_columns(strip_alias(each), names, session) for each in expressions]
        if node_name(operator) == "Filter":
            having += found
        elif node_name(operator) == "Sort":
            ending = _read_order(found, is_global=getattr(operator, "global")())
        else:
            columns = found
            names |= {
                column_id(each.toAttribute()): column
                for each, column in zip(expressions, found, strict=True)
            }
    return columns, having, ending


def _row_count(limit: Expression) -> int:
    """Returns the number of rows of a limit or an offset."""
    if node_name(limit) != "Literal":
        raise NotSharedError(f"it has a limit of {limit.sql()}")
    return int(limit.value())


def _read_order(expressions: list[Expression], *, is_global: bool) -> Ending:
    """Returns the order of an answer."""
    # A constant orders nothing, and as SQL a number would be the place of a column.
    orders = [each for each in expressions if node_name(children(each)[0]) != "Literal"]
    return Ending(
        order=[children(each)[0] for each in orders],
        directions=[f"{each.direction().sql()} {each.nullOrdering().sql()}" for each in orders],
        is_global=is_global,
    )


def _is_column(expression: Expression, column: Expression) -> bool:
    return node_name(expression) == ATTRIBUTE and column_id(expression) == column_id(column)


def _check_below(below: _Below, keys: list[Expression], calls: list[Expression]) -> None:
    """Refuse filters, keys and aggregates that read the window, and nondeterministic functions."""
    inside = {"a filter": below.filters, "a key": keys, "an aggregate": calls}
    for what, expressions in inside.items():
        for expression in expressions:
            if any(_is_column(node, below.window.column) for node in walk(expression)):
                raise NotSharedError(f"{what} below its groupBy reads the window")
    for expression in [*below.filters, *keys, *calls, below.time]:
        if not expression.deterministic():
            raise NotSharedError("it has functions that give other values each time")


def _without_duplicates(expressions: list[Expression]) -> list[Expression]:
    found: list[Expression] = []
    for expression in expressions:
        if not any(expression.semanticEquals(other) for other in found):
            found.append(expression)
    return found
