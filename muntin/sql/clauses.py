"""Splits a statement into its clauses, or finds the reason why its shape cannot share.

An item of SELECT alone, without a statement, is read by `replace_columns`.
"""

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from muntin.sql.statements import Statement
from muntin.sql.tokens import (
    DIALECT,
    NotSharedError,
    Replacement,
    Span,
    WrongSqlError,
    render,
    tokenize,
)

_SELECT = "SELECT "
_BEYOND = "its SQL is beyond the parser"

# The parts of sqlglot's SELECT that a shared query may have, and the names of other parts.
_SHARED_PARTS = {
    *("expressions", "from_", "joins", "where", "group", "having"),
    *("order", "sort", "limit", "offset"),
}
_OTHER_PARTS = {
    "with_": "WITH",
    "distinct": "SELECT DISTINCT",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "laterals": "LATERAL VIEW",
    "windows": "a WINDOW clause",
    "qualify": "QUALIFY",
    "hint": "a hint",
    "pivots": "PIVOT",
}
_SHARED_GROUPINGS = {"expressions", "rollup", "cube", "grouping_sets"}
# The clauses of a statement that can share, in Spark's order.
_ORDER = ("SELECT", "FROM", "WHERE", "GROUP_BY", "HAVING", "ORDER_BY", "SORT_BY", "LIMIT", "OFFSET")
# The last clauses, with the names of their parts in sqlglot's SELECT.
_ENDING = {"ORDER_BY": "order", "SORT_BY": "sort", "LIMIT": "limit", "OFFSET": "offset"}


@dataclass(frozen=True, kw_only=True)
class Item:
    """An item of SELECT without its alias."""

    tokens: Span
    alias: str | None


@dataclass(frozen=True, kw_only=True)
class Clauses:
    """`SELECT items FROM relation WHERE where GROUP BY group_by HAVING having ending`, as tokens.

    `ending` has the ORDER BY, SORT BY, LIMIT and OFFSET of the statement, by keyword.
    """

    items: tuple[Item, ...]
    relation: Span
    where: Span
    group_by: Span
    having: Span
    ending: Mapping[str, Span]
    # Positions of column references, in all clauses but FROM and WHERE.
    columns: frozenset[int]
    # Functions that sqlglot does not know, in lower case.
    unknown: frozenset[str]
    # The names of the relations of FROM, and the name of the relation if there is one.
    relations: frozenset[str]
    only_relation: str | None


def read_tree(statement: Statement) -> exp.Expr:
    """Returns the syntax tree of a statement; raises `NotSharedError` if sqlglot cannot read it."""
    try:
        tree = sqlglot.parse_one(mask_window(statement), read=DIALECT)
    except SqlglotError as error:
        raise NotSharedError(f"{_BEYOND}: {_detail(error)}") from None
    except RecursionError:
        raise NotSharedError(f"{_BEYOND}: it is nested too deeply") from None
    if isinstance(tree, exp.DML | exp.DDL) and not isinstance(tree, exp.Query):
        raise WrongSqlError(f"it holds {tree.key.upper()}; only SELECT statements are run")
    return tree


def mask_window(statement: Statement) -> str:
    """Returns the text with `window` replaced by a word of equal length.

    sqlglot reads `window(...)` at the start of GROUP BY as a WINDOW clause.
    """
    text = statement.text
    tokens = statement.tokens
    for place, token in enumerate(tokens):
        is_clause = tokens.kind_at(place + 2) == "ALIAS" and tokens[place + 1].is_name
        if token.kind == "WINDOW" and not is_clause:
            text = f"{text[: token.start]}wind0w{text[token.end :]}"
    return text


def _detail(error: SqlglotError) -> str:
    if isinstance(error, sqlglot.ParseError) and error.errors:
        first = error.errors[0]
        return f"{first['description']} at {first['highlight']!r}"
    return str(error).splitlines()[0]


def split_clauses(statement: Statement, tree: exp.Expr) -> Clauses:
    """Returns the clauses of a statement; raises `NotSharedError` if its shape cannot share."""
    select = _check_select(statement, tree)
    tokens = statement.tokens
    ends = {kind for kind, part in _ENDING.items() if select.args.get(part)}
    # A column may have the name of a clause that is not there.
    bounds = _bounds(tokens, {*_ORDER} - {*_ENDING} | ends)
    items_from = 2 if tokens.kind_at(1) == "ALL" else 1
    items = tokens[items_from : bounds["FROM"]].split_at_commas()
    group_by = _clause(tokens, bounds, "GROUP_BY")
    keys = group_by.split_at_commas()
    where, having = _clause(tokens, bounds, "WHERE"), _clause(tokens, bounds, "HAVING")
    ending = {kind: _clause(tokens, bounds, kind) for kind in _ENDING if kind in ends}
    group = select.args["group"]
    agree = (
        len(items) == len(select.expressions)
        and len(keys) == len(group.expressions)
        and bool(where) == bool(select.args.get("where"))
        and bool(having) == bool(select.args.get("having"))
        and all(items)
        and all(keys)
        and all(ending.values())
    )
    if not agree:
        raise NotSharedError(f"{_BEYOND}: its clauses cannot be told apart")
    relation = _clause(tokens, bounds, "FROM")
    for place in relation.top_level_positions():
        if relation[place].kind in {"PIVOT", "UNPIVOT"}:
            raise NotSharedError("PIVOT")
        if relation[place].kind == "LATERAL" and relation.kind_at(place + 1) == "VIEW":
            raise NotSharedError("LATERAL VIEW")
    others = [select.args.get(part) for part in ("having", *_ENDING.values())]
    parts = [*select.expressions, group, *filter(None, others)]
    relations = [
        select.args["from_"].this,
        *(join.this for join in select.args.get("joins") or ()),
    ]
    names = [relation.alias_or_name.lower() for relation in relations]
    if {"window", "session_window"} & {*names}:
        raise NotSharedError("a relation that is called like its window")
    return Clauses(
        items=tuple(
            _item(item, node) for item, node in zip(items, select.expressions, strict=True)
        ),
        relation=relation,
        where=where,
        group_by=group_by,
        having=having,
        ending={kind.replace("_", " "): piece for kind, piece in ending.items()},
        columns=frozenset(_column_starts(parts)),
        unknown=frozenset(
            node.name.lower() for part in parts for node in part.find_all(exp.Anonymous)
        ),
        relations=frozenset(names),
        only_relation=names[0] if len(names) == 1 and names[0] else None,
    )


def _check_select(statement: Statement, tree: exp.Expr) -> exp.Select:
    """Returns a statement's SELECT; raises `NotSharedError` if parts of it cannot share."""
    if isinstance(tree, exp.SetOperation):
        raise NotSharedError(tree.key.upper())
    if not isinstance(tree, exp.Select):
        raise NotSharedError("it is not one plain SELECT")
    if tree.args.get("with_"):
        raise NotSharedError("WITH")
    if statement.tokens.find_top_level("PIPE_GT"):
        raise NotSharedError("the pipe syntax |>")
    if statement.tokens[0].kind != "SELECT":
        raise NotSharedError("FROM stands before SELECT")
    for part, value in tree.args.items():
        if value and part not in _SHARED_PARTS:
            raise NotSharedError(_OTHER_PARTS.get(part, part.strip("_").upper()))
    for part, reason in (("from_", "no FROM"), ("group", "no GROUP BY")):
        if not tree.args.get(part):
            raise NotSharedError(reason)
    _check_expressions(tree)
    return tree


def _check_expressions(select: exp.Select) -> None:
    """Refuses subqueries, window functions, `*`, and grouping that cannot share."""
    for part, value in select.args["group"].args.items():
        if value and part not in _SHARED_GROUPINGS:
            raise NotSharedError(f"GROUP BY {part.upper()}")
    for clause, nodes in (
        ("SELECT", select.expressions),
        ("WHERE", [select.args.get("where")]),
        ("GROUP BY", [select.args["group"]]),
        ("HAVING", [select.args.get("having")]),
        ("ORDER BY", [select.args.get(part) for part in _ENDING.values()]),
    ):
        for node in filter(None, nodes):
            if node.find(exp.Query):
                raise NotSharedError(f"a subquery in {clause}")
            if node.find(exp.Window):
                raise NotSharedError("a window function (OVER)")
    for item in select.expressions:
        if item.is_star:
            raise NotSharedError("SELECT *")
        if isinstance(item, exp.Aliases):
            raise NotSharedError("an item of SELECT that is several columns")


def _bounds(tokens: Span, kinds: Set[str]) -> dict[str, int]:
    """Returns the index of each clause's keyword; refuses clauses in another order than Spark's."""
    bounds: dict[str, int] = {}
    for place in tokens.top_level_positions():
        kind = tokens[place].kind
        if kind not in kinds:
            continue
        # `x IS DISTINCT FROM y`, and a field with the name of a clause.
        if kind == "FROM" and tokens.kind_at(place - 1) == "DISTINCT":
            continue
        if tokens.kind_at(place - 1) == "DOT":
            continue
        if kind in bounds:
            raise NotSharedError(f"{_BEYOND}: {kind.replace('_', ' ')} stands twice")
        bounds[kind] = place
    if not {"SELECT", "FROM", "GROUP_BY"} <= bounds.keys():
        raise NotSharedError(f"{_BEYOND}: its clauses cannot be told apart")
    if list(bounds) != [kind for kind in _ORDER if kind in bounds]:
        raise NotSharedError(f"{_BEYOND}: its clauses are not in the usual order")
    return bounds


def _clause(tokens: Span, bounds: dict[str, int], kind: str) -> Span:
    """Returns the tokens of a clause without its keyword."""
    if kind not in bounds:
        return Span()
    start = bounds[kind]
    return tokens[start + 1 : min([b for b in bounds.values() if b > start], default=len(tokens))]


def _item(tokens: Span, node: exp.Expr) -> Item:
    if not isinstance(node, exp.Alias):
        return Item(tokens=tokens, alias=None)
    start = node.args["alias"].meta.get("start")
    if len(tokens) < 2 or tokens[-1].start != start or not tokens[-1].is_name:
        raise NotSharedError(f"{_BEYOND}: the alias {node.alias!r}")
    rest = tokens[:-1]
    return Item(tokens=rest[:-1] if rest[-1].kind == "ALIAS" else rest, alias=tokens[-1].name)


def _column_starts(nodes: list[exp.Expr]) -> set[int]:
    """Returns the positions of column references, without parameters of lambdas."""
    starts: set[int] = set()
    for node in nodes:
        for column in node.find_all(exp.Column):
            start = column.parts[0].meta.get("start")
            if start is None:
                raise NotSharedError(f"{_BEYOND}: the column {column.name!r} cannot be found")
            starts.add(start)
    return starts


@dataclass(frozen=True, kw_only=True)
class SelectItem:
    """An item of SELECT without its alias, and whether it had one."""

    text: str
    has_alias: bool


def replace_columns(text: str, meaning: Callable[[str], str]) -> SelectItem | None:
    """Returns an item of SELECT with the meaning of each column in the place of its name.

    None if it cannot be read, or has a subquery.

    >>> replace_columns("a.b + max(c) AS d", {"a": "x", "c": "(y + 1)"}.__getitem__)
    SelectItem(text='x.b + max((y + 1))', has_alias=True)
    """
    whole = _SELECT + text
    try:
        tree = sqlglot.parse_one(whole, read=DIALECT)
        tokens = tokenize(whole)
    except (SqlglotError, RecursionError):
        return None
    if not isinstance(tree, exp.Select) or len(tree.expressions) != 1:
        return None
    if any(value for part, value in tree.args.items() if part != "expressions"):
        return None
    (item,) = tree.expressions
    if list(item.find_all(exp.Query)):
        return None
    inside = tokens[1:]
    if isinstance(item, exp.Alias):
        if inside[-1].start != item.args["alias"].meta.get("start"):
            return None
        inside = inside[:-1]
        inside = inside[:-1] if inside[-1].kind == "ALIAS" else inside
    starts = {column.parts[0].meta.get("start") for column in item.find_all(exp.Column)}
    if None in starts:
        return None
    replacements = {
        place: Replacement(stop=place + 1, text=meaning(token.name))
        for place, token in enumerate(inside)
        if token.start in starts
    }
    return SelectItem(
        text=render(whole, inside, replacements), has_alias=isinstance(item, exp.Alias)
    )
