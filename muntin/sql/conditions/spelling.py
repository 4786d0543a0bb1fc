"""Spells an expression in one way: one blank between words, keywords in upper case."""

from muntin.sql.tokens import Span, Token, kind_at

# Keywords of predicates. A column, field or parameter may be called like one.
_KEYWORDS = {
    *("AND", "OR", "NOT", "IN", "IS", "NULL", "BETWEEN", "LIKE", "ILIKE", "RLIKE", "ESCAPE"),
    *("TRUE", "FALSE", "CASE", "WHEN", "THEN", "ELSE", "END", "DISTINCT", "FROM", "INTERVAL"),
}
# Two spellings of one operator.
_OPERATORS = {"EQ": "=", "NEQ": "<>", "NOT": "NOT"}
# Names that are written here may be names of parameters or fields.
_NAMING = {"ARROW", "FARROW", "ALIAS"}
_COMPARISONS = {"EQ", "NEQ", "NULLSAFE_EQ", "LT", "LTE", "GT", "GTE"}
_SPACED = _COMPARISONS | {"PLUS", "DASH", "STAR", "SLASH", "MOD", "DPIPE"}
_SIGNS = {"PLUS", "DASH"}


def spell(text: str, tokens: Span, columns: frozenset[int]) -> str:
    """Returns the text of some tokens in one spelling; `columns` are where columns begin.

    It means what the text means: names, literals and functions stay as they are written.
    """
    renames = any(token.kind in _NAMING for token in tokens)
    pieces: list[str] = []
    for place, token in enumerate(tokens):
        if place and _is_apart(tokens, place):
            pieces.append(" ")
        written = text[token.start : token.end]
        is_name = token.start in columns or kind_at(tokens, place - 1) == "DOT"
        if not renames and not is_name:
            if token.kind in _KEYWORDS:
                written = written.upper()
            written = _OPERATORS.get(token.kind, written)
        pieces.append(written)
    return "".join(pieces)


def _is_apart(tokens: Span, place: int) -> bool:
    """Whether a blank stands before the token at a place."""
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
        # A sign stands at its number, but two of them would begin a comment.
        return here.kind in _SIGNS
    if before.kind in _SPACED or here.kind in _SPACED:
        return True
    return here.start > before.end


def _is_path(tokens: Span, place: int) -> bool:
    """Whether the dot at a place or before it stands between names, and not before digits."""
    dot = place if tokens[place].kind == "DOT" else place - 1
    return 0 < dot < len(tokens) - 1 and tokens[dot + 1].is_name and tokens[dot - 1].is_name


def _is_operand_end(token: Token) -> bool:
    """Whether an operand may end here, so that a sign behind it is an operator's."""
    if token.kind in {"R_PAREN", "R_BRACKET", "NUMBER", "STRING", "NULL", "TRUE", "FALSE", "END"}:
        return True
    return token.is_name and token.kind not in _KEYWORDS
