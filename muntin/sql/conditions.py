"""Conditions as text: one spelling for all ways to write one, and keys that equal ones share."""

from dataclasses import dataclass

from muntin.sql.tokens import Span, Token, column_name
from muntin.sql_text import quote_name

# Words that Spark reads as values, unless there is a column of that name.
CONSTANTS = frozenset(
    """
    true false null current_catalog current_database current_date current_path current_schema
    current_time current_timestamp current_user localtime localtimestamp session_user user
    """.split()  # noqa: SIM905
)
# Comparisons, each with the one that means the same with swapped operands.
_SWAPPED = {"EQ": "EQ", "NULLSAFE_EQ": "NULLSAFE_EQ", "LT": "GT", "LTE": "GTE"}
_COMPARISONS = {**_SWAPPED, "NEQ": "NEQ", "GT": "LT", "GTE": "LTE"}
# Types before a quoted text that make it a literal.
_TYPES = {"date", "timestamp", "timestamp_ntz", "timestamp_ltz"}

# Keywords of predicates, which may also be names of columns, fields and parameters.
_KEYWORDS = {
    *("AND", "OR", "NOT", "IN", "IS", "NULL", "BETWEEN", "LIKE", "ILIKE", "RLIKE", "ESCAPE"),
    *("TRUE", "FALSE", "CASE", "WHEN", "THEN", "ELSE", "END", "DISTINCT", "FROM", "INTERVAL"),
}
# The spelling of operators that have several.
_OPERATORS = {"EQ": "=", "NEQ": "<>", "NOT": "NOT"}
# Around these tokens, a keyword may be the name of a parameter or a field.
_NAMING = {"ARROW", "FARROW", "ALIAS"}
_SPACED = {*_COMPARISONS} | {"PLUS", "DASH", "STAR", "SLASH", "MOD", "DPIPE"}
_SIGNS = {"PLUS", "DASH"}


@dataclass(frozen=True, kw_only=True)
class _Operand:
    """A column or a literal. Literals of one kind have the same type, or comparable types."""

    key: str
    kind: str


def condition_key(tokens: Span, case_sensitive: bool) -> str | None:
    """Returns a key that conditions share only if they are true, false and null for the same rows.

    It is None for a condition with operands other than columns and literals, which might fail for
    some row. Brackets of the tokens must balance.
    """
    tokens = tokens.strip_parentheses()
    if tokens.kind_at(0) == "NOT" and len(tokens) > 1:
        return _negate(condition_key(tokens[1:], case_sensitive))
    operators = tokens.find_top_level(*_READERS)
    if not operators:
        return _boolean_key(_operand(tokens, case_sensitive))
    place = operators[0]
    is_not = tokens.kind_at(place - 1) == "NOT"
    left = _operand(tokens[: place - is_not], case_sensitive)
    kind = tokens[place].kind
    if left is None or (is_not and kind in {*_COMPARISONS, "IS"}):
        return None
    key = _READERS[kind](kind, left, tokens[place + 1 :], case_sensitive)
    return _negate(key) if is_not else key


def _boolean_key(operand: _Operand | None) -> str | None:
    """Returns the key of an operand that is a condition by itself."""
    if operand is None or operand.kind not in {"column", "boolean"}:
        return None
    return operand.key


def _negate(key: str | None) -> str | None:
    if key is None:
        return None
    # `x <> 1` is NOT of `x = 1`, and `x IS NOT NULL` of `x IS NULL`.
    return key[5:-1] if key.startswith("NOT (") else f"NOT ({key})"


def _comparison_key(kind: str, left: _Operand, rest: Span, case_sensitive: bool) -> str | None:
    right = _operand(rest, case_sensitive)
    if right is None or "column" not in {left.kind, right.kind}:
        return None
    if kind == "NEQ":
        return _negate(_comparison_key("EQ", left, rest, case_sensitive))
    first, second = left.key, right.key
    if kind not in _SWAPPED or (_SWAPPED[kind] == kind and second < first):
        kind, first, second = _COMPARISONS[kind], second, first
    return f"{kind} ({first}, {second})"


def _in_key(kind: str, left: _Operand, rest: Span, case_sensitive: bool) -> str | None:
    if rest.kind_at(0) != "L_PAREN" or not rest.is_bracketed():
        return None
    values = [_operand(value, case_sensitive) for value in rest[1:-1].split_at_commas()]
    literals = [value for value in values if value is not None and value.kind != "column"]
    if left.kind != "column" or not literals or len(literals) < len(values):
        return None
    keys = [value.key for value in literals]
    # The common type of mixed values could depend on their order.
    if len({value.kind for value in literals} - {"null"}) <= 1:
        keys = sorted(set(keys))
    return f"IN ({left.key}, {', '.join(keys)})"


def _between_key(kind: str, left: _Operand, rest: Span, case_sensitive: bool) -> str | None:
    places = rest.find_top_level("AND")
    if len(places) != 1:
        return None
    low = _operand(rest[: places[0]], case_sensitive)
    high = _operand(rest[places[0] + 1 :], case_sensitive)
    if low is None or high is None or left.kind != "column":
        return None
    return f"BETWEEN ({left.key}, {low.key}, {high.key})"


def _null_key(kind: str, left: _Operand, rest: Span, case_sensitive: bool) -> str | None:
    words = [token.kind for token in rest]
    if left.kind != "column" or words not in (["NULL"], ["NOT", "NULL"]):
        return None
    key = f"IS NULL ({left.key})"
    return key if words == ["NULL"] else _negate(key)


def _like_key(kind: str, left: _Operand, rest: Span, case_sensitive: bool) -> str | None:
    pattern = _operand(rest, case_sensitive)
    # Spark refuses some patterns with a backslash at run time.
    if left.kind != "column" or pattern is None or pattern.kind != "text" or "\\" in pattern.key:
        return None
    return f"{kind} ({left.key}, {pattern.key})"


_READERS = {
    **dict.fromkeys(_COMPARISONS, _comparison_key),
    "IN": _in_key,
    "BETWEEN": _between_key,
    "IS": _null_key,
    "LIKE": _like_key,
    "ILIKE": _like_key,
}


def _operand(tokens: Span, case_sensitive: bool) -> _Operand | None:
    """Returns the column or literal that the tokens are; None for anything else."""
    tokens = tokens.strip_parentheses()
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
    return _Operand(key=".".join(map(quote_name, names)), kind="column")


def spell(text: str, tokens: Span, columns: frozenset[int]) -> str:
    """Returns tokens with one space between words and keywords in upper case.

    `columns` are the positions of columns. Names, literals and functions stay as they are written.
    """
    renames = any(token.kind in _NAMING for token in tokens)
    pieces: list[str] = []
    for place, token in enumerate(tokens):
        if place and _needs_space(tokens, place):
            pieces.append(" ")
        written = text[token.start : token.end]
        is_name = token.start in columns or tokens.kind_at(place - 1) == "DOT"
        if not renames and not is_name:
            if token.kind in _KEYWORDS:
                written = written.upper()
            written = _OPERATORS.get(token.kind, written)
        pieces.append(written)
    return "".join(pieces)


def _needs_space(tokens: Span, place: int) -> bool:
    """Whether there is a space before the token at an index."""
    before, here = tokens[place - 1], tokens[place]
    if before.kind in {"L_PAREN", "L_BRACKET"} or here.kind in {"R_PAREN", "R_BRACKET", "COMMA"}:
        return False
    if before.kind in {"COMMA", "NOT"}:
        return True
    if here.kind in {"L_PAREN", "L_BRACKET"}:
        return not _is_operand_end(before)
    if "DOT" in (before.kind, here.kind) and _is_path(tokens, place):
        return False
    if before.kind in _SIGNS and not (place > 1 and _is_operand_end(tokens[place - 2])):
        # There is no space after a sign, except between two signs, which would be a comment.
        return here.kind in _SIGNS
    if before.kind in _SPACED or here.kind in _SPACED:
        return True
    return here.start > before.end


def _is_path(tokens: Span, place: int) -> bool:
    """Whether the dot at an index or before it is between names, and not before digits."""
    dot = place if tokens[place].kind == "DOT" else place - 1
    return 0 < dot < len(tokens) - 1 and tokens[dot + 1].is_name and tokens[dot - 1].is_name


def _is_operand_end(token: Token) -> bool:
    """Whether an operand may end with a token, so that a sign after it is an operator."""
    if token.kind in {"R_PAREN", "R_BRACKET", "NUMBER", "STRING", "NULL", "TRUE", "FALSE", "END"}:
        return True
    return token.is_name and token.kind not in _KEYWORDS
