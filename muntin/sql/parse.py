"""`parse_sql`: statements to `Query` where slices can answer them, else to `PlainQuery`."""

from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from muntin.model.query import Column, PlainQuery, Query
from muntin.model.sql_text import SqlText
from muntin.sql.aggregates import check_row_expression
from muntin.sql.clauses import Clauses, cut, read_tree
from muntin.sql.dialects import in_spark_sql
from muntin.sql.ending import read_ending
from muntin.sql.functions import UNSTABLE, calls, is_call
from muntin.sql.group_by.keys import column_name, read_group_by
from muntin.sql.group_by.windows import first_window, is_window
from muntin.sql.parameters import bound
from muntin.sql.projection import Projection
from muntin.sql.statements import Statement, split_statements
from muntin.sql.tables import find_holes, guess_holes, relation_with_holes, with_holes
from muntin.sql.tokens import NotSharedError, Span, WrongSqlError, closing, kind_at, render


def parse_sql(text: str, args: Mapping[str, Any] | None = None) -> list[Query | PlainQuery]:
    """The queries of Spark SQL statements separated by `;`, in order.

    `args` are the values of named parameters, `:name`, as in `spark.sql`. Windows may also be those
    of Azure Stream Analytics and Flink SQL; a statement with several becomes a query for each.

    A comment line `-- name: x` ahead of a statement names it. A statement that slices cannot
    answer is given with the reason, and Spark answers it alone. Raises `ParseError` where Spark is
    sure to refuse.
    """
    if args is not None:
        text = bound(text, args)
    return [
        _parse(statement) for given in split_statements(text) for statement in in_spark_sql(given)
    ]


def _parse(statement: Statement) -> Query | PlainQuery:
    holes = guess_holes(statement.tokens)
    try:
        tree = read_tree(statement)
        holes = find_holes(statement.tokens, tree)
        read = statement.to_read
        if read is not statement:
            tree = read_tree(read)
        return _shared(read, tree, with_holes(statement.text, holes))
    except NotSharedError as reason:
        whole = with_holes(statement.text, holes)
        return PlainQuery(
            name=statement.name,
            statement=whole,
            reason=str(reason),
            window=first_window(statement.to_read),
        )
    except WrongSqlError as error:
        raise statement.error(str(error), error.at) from None


def _shared(statement: Statement, tree: exp.Expr, whole: SqlText) -> Query:
    """Build the query of a statement; raises `NotSharedError` with the reason where it cannot.

    `whole` is the statement as Spark runs it.
    """
    text = statement.text
    clauses = cut(statement, tree)
    for _, name in calls(clauses.relation):
        if name in UNSTABLE:
            raise NotSharedError(f"{name}() gives other values each time")
    check_row_expression(clauses.where, "WHERE")
    taken = frozenset(token.norm for token in statement.tokens)
    group_by = read_group_by(text, clauses, taken)
    projection = Projection(
        text=text,
        clauses=clauses,
        group_by=group_by,
        taken=taken,
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
        relation=relation_with_holes(text, clauses.relation, find_holes(statement.tokens, tree)),
        columns=columns,
        statement=whole,
        names_window=projection.names_window or group_by.names_window,
        mixes_case=projection.mixes_case or _mixes_case(statement.tokens, clauses),
        item_names=tuple(dict.fromkeys(projection.item_names)),
    )


def _mixes_case(tokens: Span, clauses: Clauses) -> bool:
    """Whether a column is spelled in two cases, which only some sessions take for one name."""
    names = {
        token.norm
        for place, token in enumerate(tokens)
        if token.is_name and (token.start in clauses.columns or kind_at(tokens, place - 1) == "DOT")
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
    """Returns the name of an item without an alias, or None where only Spark can tell."""
    if is_window(tokens) and closing(tokens, 1) == len(tokens) - 1:
        return tokens[0].norm
    return column_name(tokens) if tokens[0].start in clauses.columns else None


def _aliases(columns: list[Column]) -> dict[str, str | None]:
    """Returns the aliases that HAVING may use, in lower case; ambiguous ones map to None."""
    aliases: dict[str, str | None] = {}
    for column in columns:
        if column.name is not None:
            name = column.name.lower()
            aliases[name] = None if name in aliases else column.expression
    return aliases
