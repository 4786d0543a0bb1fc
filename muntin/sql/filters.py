"""Predicates as text: their conjuncts, and a key by which equal predicates are recognised.

Every conjunct is cut from the user's own text and can be run in its place. A key can not: it stands
for all predicates that keep the same rows, and is only compared.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError, TokenError

from muntin.model.query import PlainQuery, Query
from muntin.model.sql_text import SqlText, squeeze, uncommented
from muntin.sql.conditions.simple import CONSTANTS, condition_key
from muntin.sql.conditions.spelling import spell
from muntin.sql.functions import UNSTABLE, calls
from muntin.sql.group_by.keys import column_name
from muntin.sql.spark_functions import SPARK_FUNCTIONS
from muntin.sql.tokens import DIALECT, Span, kind_at, outside, tokenize, unbalanced, unwrapped

_PREFIX = "SELECT 1 WHERE "
# Spark calls these nondeterministic, or they draw a random number themselves.
_RANDOM = UNSTABLE | {"aes_encrypt", "java_method", "reflect", "try_reflect"}
# Words that may stand before a bracket and call nothing.
NO_FUNCTIONS = {"else", "escape", "from", "is", "then"}
NO_FUNCTIONS |= {"character", "dec", "numeric", "varchar", "where"}
_KNOWN_FUNCTIONS = SPARK_FUNCTIONS | NO_FUNCTIONS


@lru_cache(maxsize=4096)
def conjuncts(where: str) -> tuple[str, ...]:
    """Returns the operands of a predicate's top-level ANDs, in the order written.

    Joined by AND they mean what the predicate means. Each is spelled in one way, whatever white
    space, comments, case of keywords and brackets around it were written. A predicate that cannot
    be taken apart safely is one conjunct, as it was written.

    >>> conjuncts("(a=1  and (b in(2,3) AND (c or d)))")
    ('a = 1', 'b IN (2, 3)', 'c OR d')
    """
    whole = squeeze(uncommented(where))
    if not whole:
        return ()
    try:
        tokens = tokenize(whole)
        if unbalanced(tokens) is not None:
            return (whole,)
        operands = list(_operands(_parsed(whole)))
        pieces = [spell(whole, piece, _columns(whole)) for piece in _pieces(tokens)]
        same = len(pieces) == len(operands) and all(
            _parsed(piece).unnest() == operand
            for piece, operand in zip(pieces, operands, strict=True)
        )
    except (SqlglotError, RecursionError):
        return (whole,)
    return tuple(pieces) if same else (whole,)


def conjunction(parts: Iterable[str]) -> str:
    """Returns conditions joined by AND, in brackets where they need them.

    >>> conjunction(["a = 1", "c OR d"])
    'a = 1 AND (c OR d)'
    """
    parts = tuple(parts)
    if len(parts) == 1:
        return parts[0]
    return " AND ".join(f"({part})" if _joins_conditions(part) else part for part in parts)


def canonical(where: str | None, *, case_sensitive: bool = True) -> str:
    """Returns a key that two predicates share only if they keep the same rows.

    Simple conjuncts are equal in any order, with their operands swapped, and with the values of IN
    in any order. Others are equal as they are spelled, and each keeps its place, because one may
    guard the next: `x <> 0 AND 1 / x > 2`. Whether the predicate is the
    same each time is another question: `is_deterministic`.

    >>> canonical("b > a AND x IN (2, 1)") == canonical("x in (1, 2, 1) and a < b")
    True
    """
    parts = conjuncts(where or "")
    simple = [_simple_key(part, case_sensitive) for part in parts]
    keys = [part if key is None else f"[{key}]" for part, key in zip(parts, simple, strict=True)]
    return " AND ".join(keys if None in simple else sorted(set(keys)))


def split_by_keys(where: str, keys: Iterable[str]) -> tuple[str | None, str | None]:
    """Returns the part of a filter that the keys alone decide, and the rest.

    A filter of which a part might fail is not taken apart: another part may guard it.

    >>> split_by_keys("kind = 1 AND temp > 80", ["site", "kind"])
    ('kind = 1', 'temp > 80')
    """
    return _split_by_keys(where, frozenset(keys))


@lru_cache(maxsize=4096)
def _split_by_keys(where: str, keys: frozenset[str]) -> tuple[str | None, str | None]:
    parts = conjuncts(where)
    known = {name for key in keys if (name := _name_of(key)) is not None}
    if not known or not all(map(is_simple, parts)):
        return None, where
    decided = [part for part in parts if _column_names(part) <= known]
    others = [part for part in parts if part not in decided]
    return conjunction(decided) if decided else None, conjunction(others) if others else None


def same_filter(a: str | None, b: str | None, *, case_sensitive: bool = True) -> bool:
    """Whether two predicates are known to keep the same rows; no predicate keeps all."""
    return canonical(a, case_sensitive=case_sensitive) == canonical(
        b, case_sensitive=case_sensitive
    )


def unify_filters(queries: Iterable[Query | PlainQuery]) -> tuple[Query | PlainQuery, ...]:
    """Returns the queries with one text for all filters of a relation that keep the same rows.

    Then they are one grouping to the planner. A query keeps the statement that it was parsed from.
    """
    texts: dict[tuple[SqlText, str], str] = {}
    unified: list[Query | PlainQuery] = []
    for query in queries:
        if isinstance(query, Query) and query.where and is_deterministic(query.where):
            text = texts.setdefault((query.source, canonical(query.where)), query.where)
            query = query if text == query.where else replace(query, where=text)
        unified.append(query)
    return tuple(unified)


def is_simple(conjunct: str) -> bool:
    """Whether a conjunct compares columns with literals or columns, and nothing else.

    That is `=`, `<>`, `<`, `<=>` and the like, IN, BETWEEN, IS NULL, LIKE, a boolean column, and
    NOT of these, without functions, casts or arithmetic. It fails for no row, unless Spark inserts
    a cast: whoever relies on it must know the types.

    >>> is_simple("NOT t.x BETWEEN 1 AND 5"), is_simple("x + 1 > 2")
    (True, False)
    """
    return _simple_key(conjunct, True) is not None


def is_deterministic(text: str, functions: Collection[str] = ()) -> bool:
    """Whether an expression of rows gives the same value each time that it sees the same row.

    A function that is not Spark's may do anything, unless its name is in `functions`, and so may a
    subquery. The current time is the same for all rows of a statement, so it does not count.
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
        and kind_at(tokens, place - 1) != "DOT"
        for place, name in calls(tokens)
    )


def is_reference(expression: str) -> bool:
    """Whether an expression is a column or a field, with or without qualifier and backquotes.

    >>> is_reference("t.`a b`.c"), is_reference("f(x)"), is_reference("NULL")
    (True, False, False)
    """
    try:
        tokens = unwrapped(tokenize(expression))
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
    if unbalanced(tokens) is not None:
        return None
    return condition_key(tokens, case_sensitive)


def _parsed(text: str) -> exp.Expr:
    """The syntax tree of a predicate; raises `SqlglotError` where sqlglot cannot read it."""
    tree = sqlglot.parse_one(_PREFIX + text, read=DIALECT)
    where = tree.args.get("where")
    if where is None or {*filter(tree.args.get, tree.args)} != {"expressions", "where"}:
        raise SqlglotError("more than a predicate")
    predicate = where.this
    assert isinstance(predicate, exp.Expr)
    return predicate


def _columns(text: str) -> frozenset[int]:
    """Returns where column references begin: words that are no keywords there."""
    starts = (
        column.parts[0].meta.get("start", -1) for column in _parsed(text).find_all(exp.Column)
    )
    return frozenset(start - len(_PREFIX) for start in starts)


@lru_cache(maxsize=4096)
def _column_names(text: str) -> frozenset[str]:
    """Returns the columns of a predicate, without backquotes."""
    columns = _parsed(text).find_all(exp.Column)
    return frozenset(".".join(part.name for part in column.parts) for column in columns)


@lru_cache(maxsize=4096)
def _name_of(key: str) -> str | None:
    """Returns the column that a key is, as `_column_names` spells it; None if it is more."""
    if not is_reference(key):
        return None
    try:
        names = _column_names(key)
    except SqlglotError:
        return None
    return next(iter(names)) if len(names) == 1 else None


def _joins_conditions(text: str) -> bool:
    """Whether AND or OR stands outside brackets, though it may be that of BETWEEN."""
    try:
        tokens = tokenize(text)
    except TokenError:
        return True
    return any(tokens[place].kind in {"AND", "OR", "XOR"} for place in outside(tokens))


def _operands(node: exp.Expr) -> Iterator[exp.Expr]:
    """The operands of nested ANDs, from left to right."""
    waiting = [node]
    while waiting:
        node = waiting.pop().unnest()
        if isinstance(node, exp.And):
            waiting += [node.expression, node.this]
        else:
            yield node


def _pieces(tokens: Span) -> Iterator[Span]:
    """Splits tokens at every AND that joins conditions, through brackets around several of them.

    The AND of BETWEEN joins none, nor does one inside CASE.
    """
    tokens = unwrapped(tokens)
    bounds = [-1]
    betweens = cases = 0
    for place in outside(tokens):
        kind = tokens[place].kind
        if kind_at(tokens, place - 1) == "DOT":
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
