"""Conditions that compare columns and literals alone, and the key by which equal ones are found."""

from dataclasses import dataclass

from muntin.model.sql_text import quoted
from muntin.sql.group_by.keys import column_name
from muntin.sql.tokens import Span, closing, kind_at, outside, split, unwrapped

# Words that Spark reads as values where there is no column of that name.
CONSTANTS = frozenset(
    """
    true false null current_catalog current_database current_date current_path current_schema
    current_time current_timestamp current_user localtime localtimestamp session_user user
    """.split()  # noqa: SIM905
)
# A comparison, and the one that is written with its operands swapped.
_SWAPPED = {"EQ": "EQ", "NULLSAFE_EQ": "NULLSAFE_EQ", "LT": "GT", "LTE": "GTE"}
_COMPARISONS = {**_SWAPPED, "NEQ": "NEQ", "GT": "LT", "GTE": "LTE"}
# Types that stand before a text and make a literal of it.
_TYPES = {"date", "timestamp", "timestamp_ntz", "timestamp_ltz"}


@dataclass(frozen=True, kw_only=True)
class _Operand:
    """A column or a literal; literals of one kind have one type, or types that Spark orders."""

    key: str
    kind: str


def condition_key(tokens: Span, case_sensitive: bool) -> str | None:
    """Returns a key that conditions share only if they are true, false and null for the same rows.

    It is None for a condition that is not simple: one that has operands other than columns and
    literals, and so might fail for some row. Brackets of the tokens must balance.
    """
    tokens = unwrapped(tokens)
    if kind_at(tokens, 0) == "NOT" and len(tokens) > 1:
        return _negated(condition_key(tokens[1:], case_sensitive))
    operators = [place for place in outside(tokens) if tokens[place].kind in _READERS]
    if not operators:
        return _boolean(_operand(tokens, case_sensitive))
    place = operators[0]
    is_not = kind_at(tokens, place - 1) == "NOT"
    left = _operand(tokens[: place - is_not], case_sensitive)
    kind = tokens[place].kind
    if left is None or (is_not and kind in {*_COMPARISONS, "IS"}):
        return None
    key = _READERS[kind](kind, left, tokens[place + 1 :], case_sensitive)
    return _negated(key) if is_not else key


def _boolean(operand: _Operand | None) -> str | None:
    """Returns the key of an operand that may stand alone as a condition."""
    if operand is None or operand.kind not in {"column", "boolean"}:
        return None
    return operand.key


def _negated(key: str | None) -> str | None:
    if key is None:
        return None
    # `x <> 1` is NOT of `x = 1`, and `x IS NOT NULL` of `x IS NULL`: null, too, for the same rows.
    return key[5:-1] if key.startswith("NOT (") else f"NOT ({key})"


def _comparison(kind: str, left: _Operand, rest: Span, case_sensitive: bool) -> str | None:
    right = _operand(rest, case_sensitive)
    if right is None or "column" not in {left.kind, right.kind}:
        return None
    if kind == "NEQ":
        return _negated(_comparison("EQ", left, rest, case_sensitive))
    first, second = left.key, right.key
    if kind not in _SWAPPED or (_SWAPPED[kind] == kind and second < first):
        kind, first, second = _COMPARISONS[kind], second, first
    return f"{kind} ({first}, {second})"


def _in(kind: str, left: _Operand, rest: Span, case_sensitive: bool) -> str | None:
    if kind_at(rest, 0) != "L_PAREN" or closing(rest, 0) != len(rest) - 1:
        return None
    values = [_operand(value, case_sensitive) for value in split(rest[1:-1])]
    literals = [value for value in values if value is not None and value.kind != "column"]
    if left.kind != "column" or not literals or len(literals) < len(values):
        return None
    keys = [value.key for value in literals]
    # The type of mixed values could depend on their order.
    if len({value.kind for value in literals} - {"null"}) <= 1:
        keys = sorted(set(keys))
    return f"IN ({left.key}, {', '.join(keys)})"


def _between(kind: str, left: _Operand, rest: Span, case_sensitive: bool) -> str | None:
    places = [place for place in outside(rest) if rest[place].kind == "AND"]
    if len(places) != 1:
        return None
    low = _operand(rest[: places[0]], case_sensitive)
    high = _operand(rest[places[0] + 1 :], case_sensitive)
    if low is None or high is None or left.kind != "column":
        return None
    return f"BETWEEN ({left.key}, {low.key}, {high.key})"


def _is_null(kind: str, left: _Operand, rest: Span, case_sensitive: bool) -> str | None:
    words = [token.kind for token in rest]
    if left.kind != "column" or words not in (["NULL"], ["NOT", "NULL"]):
        return None
    key = f"IS NULL ({left.key})"
    return key if words == ["NULL"] else _negated(key)


def _like(kind: str, left: _Operand, rest: Span, case_sensitive: bool) -> str | None:
    pattern = _operand(rest, case_sensitive)
    # Spark refuses some patterns with a backslash, when it comes to a row.
    if left.kind != "column" or pattern is None or pattern.kind != "text" or "\\" in pattern.key:
        return None
    return f"{kind} ({left.key}, {pattern.key})"


_READERS = {
    **dict.fromkeys(_COMPARISONS, _comparison),
    "IN": _in,
    "BETWEEN": _between,
    "IS": _is_null,
    "LIKE": _like,
    "ILIKE": _like,
}


def _operand(tokens: Span, case_sensitive: bool) -> _Operand | None:
    """Returns the column or literal that the tokens are, or None for anything else."""
    tokens = unwrapped(tokens)
    kinds = [token.kind for token in tokens]
    if not tokens:
        return None
    if kinds == ["NUMBER"] or kinds == ["DASH", "NUMBER"]:
        written = "".join(token.name for token in tokens)
        is_integer = tokens[-1].name.isdecimal()
        return _Operand(key=written, kind="integer" if is_integer else "number")
    if kinds == ["STRING"] and tokens[0].name.startswith("'"):
        return _Operand(key=tokens[0].norm, kind="text")
    if len(tokens) == 2 and tokens[0].norm in _TYPES and kinds[1] == "STRING":
        return _Operand(key=f"{tokens[0].norm} {tokens[1].norm}", kind=tokens[0].norm)
    if len(tokens) == 1 and kinds[0] != "IDENTIFIER" and tokens[0].norm in CONSTANTS:
        kind = {"null": "null", "true": "boolean", "false": "boolean"}.get(tokens[0].norm)
        return None if kind is None else _Operand(key=tokens[0].norm, kind=kind)
    if column_name(tokens) is None:
        return None
    names = [token.name for token in tokens[::2]]
    if not case_sensitive:
        names = [name.lower() if name.isascii() else name for name in names]
    return _Operand(key=".".join(map(quoted, names)), kind="column")
