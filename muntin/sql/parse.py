"""`parse_sql`: returns a `Query` for a statement that slices can answer, else a `PlainQuery`."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from muntin.model.query import Column, PlainQuery, Query
from muntin.sql.calls import check_row_expression, first_window, is_window
from muntin.sql.clauses import Clauses, read_tree, split_clauses
from muntin.sql.dialects import to_spark_sql
from muntin.sql.functions import UNSTABLE
from muntin.sql.group_by import read_group_by
from muntin.sql.parameters import bind_parameters
from muntin.sql.projection import Projection
from muntin.sql.statements import Statement, split_statements
from muntin.sql.table_references import (
    find_tables,
    guess_tables,
    relation_text,
    statement_text,
)
from muntin.sql.tokens import (
    NotSharedError,
    Span,
    WrongSqlError,
    calls,
    column_name,
    is_call,
    render,
)

_DIRECTIONS = {("asc",), ("desc",)}
_NULLS = {("nulls", "first"), ("nulls", "last")}


def parse_sql(text: str, args: Mapping[str, Any] | None = None) -> list[Query | PlainQuery]:
    """Returns the queries of Spark SQL statements separated by `;`, in order.

    `args` are the values of named parameters, `:name`, as in `spark.sql`. Windows may also be those
    of Azure Stream Analytics and Flink SQL; a statement with several becomes a query for each.

    A comment line `-- name: x` before a statement names it. A statement that slices cannot
    answer becomes a `PlainQuery` with the reason, and Spark answers it alone. Raises `ParseError`
    for a statement that Spark is certain to refuse.
    """
    if args is not None:
        text = bind_parameters(text, args)
    return [
        _parse(statement) for each in split_statements(text) for statement in to_spark_sql(each)
    ]


def _parse(statement: Statement) -> Query | PlainQuery:
    tree = None
    try:
        tree = read_tree(statement)
        return _read_query(statement, tree)
    except NotSharedError as reason:
        tokens = statement.tokens
        references = guess_tables(tokens) if tree is None else find_tables(tokens, tree)
        return PlainQuery(
            name=statement.name,
            statement=statement_text(statement.text, references),
            reason=str(reason),
            window=first_window(statement.query_statement),
        )
    except WrongSqlError as error:
        raise statement.error(str(error), error.at) from None


def _read_query(statement: Statement, tree: exp.Expr) -> Query:
    """Returns the query of a statement; raises `NotSharedError` with the reason if it cannot share.

    `tree` is the syntax tree of the statement as Spark runs it.
    """
    references = find_tables(statement.tokens, tree)
    whole = statement_text(statement.text, references)
    if statement.query_text is not None:
        statement = statement.query_statement
        tree = read_tree(statement)
        references = find_tables(statement.tokens, tree)
    text = statement.text
    clauses = split_clauses(statement, tree)
    for _, name in calls(clauses.relation):
        if name in UNSTABLE:
            raise NotSharedError(f"{name}() gives other values each time")
    check_row_expression(clauses.where, "WHERE")
    reserved = frozenset(token.norm for token in statement.tokens)
    group_by = read_group_by(text, clauses, reserved)
    projection = Projection(
        text=text,
        clauses=clauses,
        group_by=group_by,
        reserved=reserved,
    )
    columns = [
        Column(
            name=item.alias or _implied_name(item.tokens, clauses),
            expression=projection.rewrite(item.tokens),
        )
        for item in clauses.items
    ]
    aliases = _aliases(columns)
    having = projection.rewrite(clauses.having, aliases) if clauses.having else None
    ending = read_ending(projection, [column.expression for column in columns], aliases)
    projection.ensure_aggregate()
    return Query(
        name=statement.name,
        window=group_by.window.window,
        aggregates=projection.aggregates,
        time=group_by.time,
        keys={key.name: key.text for key in group_by.keys},
        sets=group_by.sets,
        marks=projection.marks,
        where=render(text, clauses.where) if clauses.where else None,
        having=having,
        ending=ending,
        relation=relation_text(text, clauses.relation, references),
        columns=columns,
        statement=whole,
        names_window=projection.names_window or group_by.names_window,
        mixes_case=projection.mixes_case or _mixes_case(statement.tokens, clauses),
        item_names=tuple(dict.fromkeys(projection.item_names)),
    )


def _mixes_case(tokens: Span, clauses: Clauses) -> bool:
    """Whether a column is written in two cases, which are one name in some sessions only."""
    names = {
        token.norm
        for place, token in enumerate(tokens)
        if token.is_name and (token.start in clauses.columns or tokens.kind_at(place - 1) == "DOT")
    }
    spellings: dict[str, str] = {}
    return any(
        token.is_name
        and token.norm in names
        and not is_call(tokens, place)
        and spellings.setdefault(token.norm, token.name) != token.name
        for place, token in enumerate(tokens)
    )


def _implied_name(tokens: Span, clauses: Clauses) -> str | None:
    """Returns the name of an item without an alias, or None if only Spark knows it."""
    if is_window(tokens) and tokens.is_bracketed(1):
        return tokens[0].norm
    return column_name(tokens) if tokens[0].start in clauses.columns else None


def _aliases(columns: list[Column]) -> dict[str, str | None]:
    """Returns the expressions of aliases in lower case; None for an ambiguous alias."""
    aliases: dict[str, str | None] = {}
    for column in columns:
        if column.name is not None:
            name = column.name.lower()
            aliases[name] = None if name in aliases else column.expression
    return aliases


def read_ending(
    projection: Projection, items: Sequence[str], aliases: Mapping[str, str | None]
) -> str | None:
    """Returns ORDER BY, SORT BY, LIMIT and OFFSET over key names, `window` and aggregate names.

    `items` are the expressions of SELECT over these names, and `aliases` has them by name. None
    means that the answer has no order and no limit.
    """
    clauses = []
    for word, tokens in projection.clauses.ending.items():
        if word.endswith("BY"):
            found = [_order(item, projection, items, aliases) for item in tokens.split_at_commas()]
            orders = [each for some in found for each in some]
            clauses += [f"{word} {', '.join(orders)}"] if orders else []
        elif len(tokens) == 1 and (tokens[0].norm == "all" or tokens[0].norm.isdecimal()):
            clauses.append(f"{word} {tokens[0].norm}")
        else:
            raise NotSharedError(f"{word} {render(projection.text, tokens)}")
    return " ".join(clauses) or None


def _order(
    tokens: Span,
    projection: Projection,
    items: Sequence[str],
    aliases: Mapping[str, str | None],
) -> list[str]:
    """Returns the expressions of an item of ORDER BY; an empty list for a constant."""
    stop = len(tokens)
    stop -= 2 * (tokens[stop - 2 : stop].norms() in _NULLS and stop > 2)
    stop -= tokens[stop - 1 : stop].norms() in _DIRECTIONS and stop > 1
    how = "".join(f" {word.upper()}" for word in tokens[stop:].norms())
    expression = tokens[:stop].strip_parentheses()
    if expression.norms() == ("all",) and "all" not in aliases:
        texts = list(items)
    elif len(expression) == 1 and expression[0].norm.isdecimal():
        place = int(expression[0].norm)
        if not 1 <= place <= len(items):
            raise NotSharedError(f"ORDER BY {place} has no item to stand for")
        texts = [items[place - 1]]
    else:
        texts = [projection.rewrite(expression, aliases, items_first=True)]
    # Spark would read a number as the position of an item.
    return [f"{text}{how}" for text in texts if not text.strip("() ").isdecimal()]
