"""Writes the query of a shape over its relation, and has Spark confirm its meaning."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from muntin.aggregates.aggregate import Aggregate
from muntin.aggregates.parameters import ORDER
from muntin.aggregates.table import DISTINCT, FUNCTIONS, SPELLINGS
from muntin.errors import ModelError
from muntin.model.query import Column, Query
from muntin.spark.engine.catalyst import (
    ATTRIBUTE,
    Expression,
    analyzed_plan,
    children,
    node_name,
    parse_expression,
    relative_error,
    rewrite,
    to_list,
    unresolved_attribute,
    walk,
)
from muntin.spark.engine.statements import sql_over
from muntin.spark.frames.frame_queries import NO_WINDOW, NotSharedError
from muntin.spark.frames.resolved.chain import expressions_of
from muntin.spark.frames.resolved.relation import Relation
from muntin.spark.frames.resolved.shape import Shape
from muntin.spark.frames.resolved.time_window import confirm_window
from muntin.sql.functions import is_orderless, reason_not_shared
from muntin.sql_text import SqlText, quote_name

_WINDOW = "window"
# `count` of a literal counts every row.
_ROWS = "Literal"
_SORT = "array_sort"
# The frequency of each value of `percentile`, by default.
_ONCE = {"1", "1L"}
_CAST = re.compile(r"CAST\(([^()]*) AS DOUBLE\)")


@dataclass(frozen=True, kw_only=True)
class WrittenQuery:
    """A query, the DataFrame's shape, and the expression that each name of the query stands for."""

    query: Query
    shape: Shape
    names: Mapping[str, Expression]
    # The arguments and filters of the calls, by the columns of the relation.
    arguments: Mapping[str, Expression]
    # What the answer is ordered by, as SQL over the query's names.
    order: Sequence[str]


def write_query(
    name: str,
    shape: Shape,
    relation: Relation,
    table: str,
    *,
    labels: Sequence[str | None],
    statement: SqlText | None,
) -> WrittenQuery:
    """Returns the query of a shape over a relation, which it calls `table`.

    `labels` are the names of its columns, unless Spark names them by its `statement`.
    """
    session = relation.session
    filters = shape.filters
    names: dict[str, Expression] = {}
    keys: dict[str, str] = {}
    for key in shape.keys:
        column = relation.column(key, filters)
        keys[column], names[column] = quote_name(column), key
    names[_WINDOW] = shape.window.column
    _check_order([*shape.columns, *shape.having, *shape.ending.order])
    aggregates: dict[str, Aggregate] = {}
    arguments: dict[str, Expression] = {}
    for call in shape.calls:
        aggregate = _read_aggregate(call, relation, filters, arguments)
        text = _unused_name(aggregate.to_sql(), names)
        aggregates[text], names[text] = aggregate, call
    if not aggregates:
        text = _unused_name("count(*)", names)
        aggregates[text] = Aggregate(function="count")

    def text_of(expression: Expression) -> str:
        alone = _name_of(expression, names)
        if alone is not None:
            return quote_name(alone)

        def replace_with_name(part: Expression) -> Expression | None:
            own = _name_of(part, names)
            if own is not None:
                return unresolved_attribute(own, session)
            if node_name(part) == _SORT:
                # Spark writes its comparison function, which is no SQL. `confirm` finds out whether
                # the SQL has the same meaning.
                inside = rewrite(children(part)[0], replace_with_name, session)
                return parse_expression(f"array_sort({inside.sql()})", session)
            return None

        over_names = rewrite(expression, replace_with_name, session)
        if any(node_name(node) == ATTRIBUTE for node in walk(over_names)):
            raise NotSharedError(f"{expression.sql()} is neither a key nor an aggregate")
        text: str = over_names.sql()
        return text

    order = [text_of(each) for each in shape.ending.order]
    return WrittenQuery(
        query=Query(
            name=name,
            window=shape.window.window,
            aggregates=aggregates,
            time=quote_name(relation.time(shape.time, filters)),
            keys=keys,
            where=quote_name(relation.condition(filters)) if filters else None,
            having=" AND ".join(f"({text_of(each)})" for each in shape.having) or None,
            ending=shape.ending.to_sql(order),
            relation=SqlText.table(table),
            columns=[
                Column(name=label, expression=text_of(column))
                for label, column in zip(labels, shape.columns, strict=True)
            ],
            statement=statement,
        ),
        shape=shape,
        names=names,
        arguments=arguments,
        order=order,
    )


def _check_order(expressions: Sequence[Expression]) -> None:
    """Refuse a list in no defined order, unless a function that ignores the order reads it."""
    for expression in expressions:
        above = [(None, 0, expression)]
        above += [
            (node, place, child)
            for node in walk(expression)
            for place, child in enumerate(children(node))
        ]
        for parent, place, call in above:
            if node_name(call) != "AggregateExpression":
                continue
            name = call.aggregateFunction().prettyName().lower()
            spelled = SPELLINGS.get(name)
            if spelled is None or not FUNCTIONS[spelled].has_undefined_order:
                continue
            has_more = (
                parent is not None and node_name(parent) != _SORT and len(children(parent)) > 1
            )
            if parent is None or place or not is_orderless(parent.prettyName(), has_more=has_more):
                raise NotSharedError(f"{call.sql()} {reason_not_shared(name)}")


def _read_aggregate(
    call: Expression,
    relation: Relation,
    filters: Sequence[Expression],
    arguments: dict[str, Expression],
) -> Aggregate:
    """Returns the aggregate of a call; adds columns for its arguments and filter."""
    function = call.aggregateFunction()
    spelled = SPELLINGS.get(function.prettyName().lower())
    if spelled is None or children(call)[0].children().isEmpty():
        raise NotSharedError(f"{call.sql()} {reason_not_shared(function.prettyName().lower())}")
    if call.isDistinct() and not FUNCTIONS[spelled].idempotent:
        if spelled not in DISTINCT:
            raise NotSharedError(f"{call.sql()} needs every distinct value")
        spelled = DISTINCT[spelled]
    given, parameters = _arguments_and_parameters(function, spelled)
    conditions = [call.filter().get()] if call.filter().isDefined() else []
    counts_rows = spelled == "count" and len(given) == 1 and node_name(given[0]) == _ROWS
    if counts_rows and given[0].value() is None:
        raise NotSharedError(f"{call.sql()} counts nothing")
    columns = []
    for expression in [*([] if counts_rows else given), *conditions]:
        # An argument may have no value where the call's own filter does not hold, either.
        guards = [*filters, *(conditions if expression not in conditions else [])]
        column = relation.column(expression, guards)
        arguments[column] = expression
        columns.append(quote_name(column))
    where = columns.pop() if conditions else None
    try:
        return Aggregate(
            function=spelled,
            argument=columns[0] if columns else None,
            others=tuple(columns[1:]),
            where=where,
            parameters=parameters,
        )
    except ModelError as error:
        raise NotSharedError(f"{call.sql()}: {error}") from None


def _arguments_and_parameters(
    function: Expression, spelled: str
) -> tuple[list[Expression], tuple[str, ...]]:
    """Returns the arguments of a function of the table, and its parameters as Spark SQL."""
    given = list(children(function))
    row = FUNCTIONS[spelled]
    if not row.parameters:
        return given, ()
    if row.call_template is None:
        return _split_optional_arguments(function, given, row.arguments)
    if row.is_ordered_by_argument:
        return _split_ordered_call(function)
    if spelled == "mode":
        order = function.reverseOpt()
        if not order.isDefined():
            raise NotSharedError(f"{function.sql()} picks any of the most frequent values")
        # Spark looks for the greatest, in reverse order for the least.
        return given, ("ASC" if order.get() else "DESC",)
    if any(each.sql() not in _ONCE for each in given[2:]):
        raise NotSharedError(f"{function.sql()} has a frequency")
    # Spark casts constants of other types.
    parameters = [_CAST.sub(r"\1", given[1].sql())]
    if ORDER in row.parameters:
        parameters.append("DESC" if function.reverse() else "ASC")
    return given[:1], tuple(parameters)


def _split_ordered_call(function: Expression) -> tuple[list[Expression], tuple[str, ...]]:
    """Returns the argument of a call that is ordered by it, and its delimiter and order."""
    argument, delimiter, *orders = children(function)
    if not orders:
        raise NotSharedError(f"{function.sql()} {reason_not_shared(function.prettyName())}")
    if len(orders) > 1 or not children(orders[0])[0].semanticEquals(argument):
        raise NotSharedError(f"{function.sql()} is ordered by something else than its values")
    return [argument], (delimiter.sql(), orders[0].direction().sql())


def _split_optional_arguments(
    function: Expression, given: list[Expression], arguments: int
) -> tuple[list[Expression], tuple[str, ...]]:
    """Returns the arguments, and the constants behind them."""
    error = relative_error(function)
    if error is not None:
        return given, (f"{error!r}D",)
    constants = given[arguments:]
    if not all(node_name(each) == "Literal" for each in constants):
        raise NotSharedError(f"{function.sql()} has a parameter that is not written out")
    return given[:arguments], tuple(each.sql() for each in constants)


def confirm(written: WrittenQuery, relation: DataFrame, table: str) -> None:
    """Raises `NotSharedError` unless the query's text means to Spark what the DataFrame does."""
    query, shape, session = written.query, written.shape, relation.sparkSession
    if not confirm_window(shape.window, session):
        raise NotSharedError(NO_WINDOW)
    core = replace(query, columns=(), having=None, ending=None, statement=None)
    try:
        frame = sql_over(session, core.to_sql(), {table: relation})
        answers = to_list(analyzed_plan(frame).output())
        by_name = dict(zip(query.names, answers, strict=True))
        _confirm_calls(written, frame, relation)
        for name, expression in written.names.items():
            if not expression.dataType().sameType(by_name[name].dataType()):
                raise NotSharedError(f"{expression.sql()} has another type in SQL")

        def over_answers(expression: Expression) -> Expression:
            def replace_with_answer(part: Expression) -> Expression | None:
                own = _name_of(part, written.names)
                return None if own is None else by_name[own]

            return rewrite(expression, replace_with_answer, session)

        texts = [*(column.expression for column in query.columns), *written.order]
        actual = expressions_of(analyzed_plan(frame.selectExpr(*texts)))
        pairs = list(zip(actual, [*shape.columns, *shape.ending.order], strict=True))
        if shape.having:
            condition = analyzed_plan(frame.where(query.having or "true")).condition()
            pairs += zip(
                _split_conjunction(condition, len(shape.having)), shape.having, strict=True
            )
    except PySparkException:
        raise NotSharedError("Spark cannot read what stands above its groupBy as SQL") from None
    for found, wanted in pairs:
        bare = children(found)[0] if node_name(found) == "Alias" else found
        if not bare.semanticEquals(over_answers(wanted)):
            raise NotSharedError(f"{wanted.sql()} means something else in SQL")


def _confirm_calls(written: WrittenQuery, frame: DataFrame, relation: DataFrame) -> None:
    """Raises `NotSharedError` unless Spark makes the same calls of the query's aggregates."""
    query = written.query
    plan = analyzed_plan(frame)
    while node_name(plan) != "Aggregate":
        (plan,) = children(plan)
    made = [
        node
        for each in to_list(plan.aggregateExpressions())
        for node in walk(each)
        if node_name(node) == "AggregateExpression"
    ]
    columns = {each.name(): each for each in to_list(analyzed_plan(relation).output())}
    arguments = [(each, columns[name]) for name, each in written.arguments.items()]
    for name, call in zip(query.aggregates, made, strict=True):
        asked = written.names.get(name)
        if asked is None:
            continue

        def replace_with_column(part: Expression) -> Expression | None:
            for expression, column in arguments:
                if part.semanticEquals(expression):
                    return column
            return None

        function = rewrite(asked.aggregateFunction(), replace_with_column, relation.sparkSession)
        if not _same_function(function, call.aggregateFunction(), query.aggregates[name]):
            raise NotSharedError(f"{asked.sql()} means something else in this session")


def _same_function(asked: Expression, made: Expression, aggregate: Aggregate) -> bool:
    """Whether two calls are the same; their parameters may be constants of different types."""
    if not aggregate.parameters:
        return bool(asked.semanticEquals(made))
    return node_name(asked) == node_name(made) and bool(
        children(asked)[0].semanticEquals(children(made)[0])
    )


def _split_conjunction(condition: Expression, count: int) -> list[Expression]:
    """Returns the operands of `count - 1` nested ANDs."""
    found: list[Expression] = []
    for _ in range(count - 1):
        condition, last = children(condition)
        found.append(last)
    return [condition, *reversed(found)]


def _name_of(expression: Expression, names: Mapping[str, Expression]) -> str | None:
    return next((name for name, each in names.items() if each.semanticEquals(expression)), None)


def _unused_name(name: str, names: Mapping[str, Expression]) -> str:
    taken = {each.lower() for each in names}
    while name.lower() in taken:
        name += "_"
    return name
