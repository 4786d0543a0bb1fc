"""Predicates as text: their conjuncts, and keys by which equal predicates are recognised.

A conjunct is a part of the user's own text and can be run. A key can only be compared.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError, TokenError

from muntin.model.query import PlainQuery, Query
from muntin.sql.conditions import CONSTANTS, condition_key, spell
from muntin.sql.functions import NO_FUNCTIONS, SPARK_FUNCTIONS, UNSTABLE
from muntin.sql.tokens import DIALECT, Span, calls, column_name, tokenize
from muntin.sql_text import SqlText, collapse_spaces, name_parts, strip_comments

_PREFIX = "SELECT 1 WHERE "
# Functions that are nondeterministic in Spark, or draw random numbers.
_RANDOM = UNSTABLE | {"aes_encrypt", "java_method", "reflect", "try_reflect"}
_KNOWN_FUNCTIONS = SPARK_FUNCTIONS | NO_FUNCTIONS


@lru_cache(maxsize=4096)
def conjuncts(where: str) -> tuple[str, ...]:
    """Returns the operands of a predicate's top-level ANDs, in the order written.

    Joined by AND they are equivalent to the predicate. White space, comments, the case of keywords
    and brackets around an operand are normalised. A predicate that cannot be split safely is one
    conjunct, as it was written.

    >>> conjuncts("(a=1  and (b in(2,3) AND (c or d)))")
    ('a = 1', 'b IN (2, 3)', 'c OR d')
    """
    whole = collapse_spaces(strip_comments(where))
    if not whole:
        return ()
    try:
        tokens = tokenize(whole)
        if tokens.unbalanced_bracket() is not None:
            return (whole,)
        predicate = _parse_predicate(whole)
        operands = list(_operands(predicate))
        # Columns may have the names of keywords.
        starts = (
            column.parts[0].meta.get("start", -1) for column in predicate.find_all(exp.Column)
        )
        columns = frozenset(start - len(_PREFIX) for start in starts)
        pieces = [spell(whole, piece, columns) for piece in _pieces(tokens)]
        same = len(pieces) == len(operands) and all(
            _parse_predicate(piece).unnest() == operand
            for piece, operand in zip(pieces, operands, strict=True)
        )
    except (SqlglotError, RecursionError):
        return (whole,)
    return tuple(pieces) if same else (whole,)


def conjunction(parts: Iterable[str]) -> str:
    """Returns conditions joined by AND, in brackets if they need them.

    >>> conjunction(["a = 1", "c OR d"])
    'a = 1 AND (c OR d)'
    """
    parts = tuple(parts)
    if len(parts) == 1:
        return parts[0]
    return " AND ".join(f"({part})" if _joins_conditions(part) else part for part in parts)


def canonical_key(where: str | None, *, case_sensitive: bool = True) -> str:
    """Returns a key that two predicates share only if they select the same rows.

    The key of simple conjuncts does not depend on their order, on the order of their operands, or
    on the order of values of IN. Other conjuncts keep their text and their place, because one may
    guard the next: `x <> 0 AND 1 / x > 2`. See also `is_deterministic`.

    >>> canonical_key("b > a AND x IN (2, 1)") == canonical_key("x in (1, 2, 1) and a < b")
    True
    """
    parts = conjuncts(where or "")
    simple = [_simple_key(part, case_sensitive) for part in parts]
    keys = [part if key is None else f"[{key}]" for part, key in zip(parts, simple, strict=True)]
    return " AND ".join(keys if None in simple else sorted(set(keys)))


@lru_cache(maxsize=4096)
def split_by_keys(where: str, keys: tuple[str, ...]) -> tuple[str | None, str | None]:
    """Returns the part of a filter that depends only on the keys, and the rest.

    A filter is not split if a part of it might fail, because another part may guard that one.

    >>> split_by_keys("kind = 1 AND temp > 80", ("site", "kind"))
    ('kind = 1', 'temp > 80')
    """
    columns = [name_parts(key) for key in keys if is_reference(key)]
    if not any(names[-1] in where for names in columns):
        return None, where
    known = {".".join(names) for names in columns}
    parts = conjuncts(where)
    if not all(map(is_simple, parts)):
        return None, where
    decided = [part for part in parts if _column_names(part) <= known]
    others = [part for part in parts if part not in decided]
    return conjunction(decided) if decided else None, conjunction(others) if others else None


def unify_filters(queries: Iterable[Query | PlainQuery]) -> tuple[Query | PlainQuery, ...]:
    """Returns the queries with one text for all filters of a relation that select the same rows.

    The planner then puts them into one grouping. A query keeps its statement.
    """
    queries = tuple(queries)
    if len({query.where for query in queries if isinstance(query, Query)} - {None}) < 2:
        return queries
    texts: dict[tuple[SqlText, str], str] = {}
    unified: list[Query | PlainQuery] = []
    for query in queries:
        if isinstance(query, Query) and query.where and is_deterministic(query.where):
            text = texts.setdefault((query.source, canonical_key(query.where)), query.where)
            query = query if text == query.where else replace(query, where=text)
        unified.append(query)
    return tuple(unified)


def is_simple(conjunct: str) -> bool:
    """Whether a conjunct only compares columns with literals or columns.

    It may use comparisons, IN, BETWEEN, IS NULL, LIKE, a boolean column, and NOT, but no functions,
    casts or arithmetic. It fails for no row, unless types differ and Spark inserts a cast.

    >>> is_simple("NOT t.x BETWEEN 1 AND 5"), is_simple("x + 1 > 2")
    (True, False)
    """
    return _simple_key(conjunct, True) is not None


def is_deterministic(text: str, functions: Collection[str] = ()) -> bool:
    """Whether an expression always has the same value for the same row.

    False for subqueries, and for functions that are neither Spark's nor in `functions`. The current
    time is the same for all rows of a statement, so it is allowed.
    """
    try:
        tokens = tokenize(text)
    except TokenError:
        return False
    if any(token.kind in {"SELECT", "PLACEHOLDER", "PARAMETER"} for token in tokens):
        return False
    own = {name.lower() for name in functions}
    return all(
        (name in _KNOWN_FUNCTIONS or name in own)
        and name not in _RANDOM
        and tokens.kind_at(place - 1) != "DOT"
        for place, name in calls(tokens)
    )


def is_reference(expression: str) -> bool:
    """Whether an expression is a column or a field, with or without qualifiers and backquotes.

    >>> is_reference("t.`a b`.c"), is_reference("f(x)"), is_reference("NULL")
    (True, False, False)
    """
    try:
        tokens = tokenize(expression).strip_parentheses()
    except TokenError:
        return False
    if column_name(tokens) is None:
        return False
    return len(tokens) > 1 or tokens[0].kind == "IDENTIFIER" or tokens[0].norm not in CONSTANTS


@lru_cache(maxsize=4096)
def _simple_key(conjunct: str, case_sensitive: bool) -> str | None:
    try:
        tokens = tokenize(conjunct)
    except TokenError:
        return None
    if tokens.unbalanced_bracket() is not None:
        return None
    return condition_key(tokens, case_sensitive)


def _parse_predicate(text: str) -> exp.Expr:
    """Returns the syntax tree of a predicate; raises `SqlglotError` if sqlglot cannot read it."""
    tree = sqlglot.parse_one(_PREFIX + text, read=DIALECT)
    where = tree.args.get("where")
    if where is None or {*filter(tree.args.get, tree.args)} != {"expressions", "where"}:
        raise SqlglotError("more than a predicate")
    predicate = where.this
    assert isinstance(predicate, exp.Expr)
    return predicate


@lru_cache(maxsize=4096)
def _column_names(text: str) -> frozenset[str]:
    """Returns the names of the columns in a predicate, without backquotes."""
    columns = _parse_predicate(text).find_all(exp.Column)
    return frozenset(".".join(part.name for part in column.parts) for column in columns)


def _joins_conditions(text: str) -> bool:
    """Whether there is an AND or OR outside brackets, including that of BETWEEN."""
    try:
        tokens = tokenize(text)
    except TokenError:
        return True
    return bool(tokens.find_top_level("AND", "OR", "XOR"))


def _operands(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yields the operands of nested ANDs, from left to right."""
    waiting = [node]
    while waiting:
        node = waiting.pop().unnest()
        if isinstance(node, exp.And):
            waiting += [node.expression, node.this]
        else:
            yield node


def _pieces(tokens: Span) -> Iterator[Span]:
    """Yields the pieces between ANDs, also inside brackets around several conditions.

    The AND of BETWEEN and ANDs inside CASE do not count.
    """
    tokens = tokens.strip_parentheses()
    bounds = [-1]
    betweens = cases = 0
    for place in tokens.top_level_positions():
        kind = tokens[place].kind
        if tokens.kind_at(place - 1) == "DOT":
            continue
        cases += (kind == "CASE") - (kind == "END" and cases > 0)
        if cases:
            continue
        if kind in {"OR", "XOR"}:
            yield tokens
            return
        betweens += kind == "BETWEEN"
        if kind == "AND" and betweens:
            betweens -= 1
        elif kind == "AND":
            bounds.append(place)
    if len(bounds) == 1:
        yield tokens
        return
    for start, stop in zip(bounds, [*bounds[1:], len(tokens)], strict=True):
        yield from _pieces(tokens[start + 1 : stop])
