"""Tokens with their positions, so that every piece of SQL is a part of the user's own text.

Nothing here generates SQL: sqlglot's generator rewrites casts, date formats and literals, which
would change answers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import sqlglot

from muntin.errors import MuntinError

DIALECT = "spark"

_CLOSERS = {"L_PAREN": "R_PAREN", "L_BRACKET": "R_BRACKET", "L_BRACE": "R_BRACE"}
_LITERALS = {"STRING", "RAW_STRING", "HEX_STRING", "NUMBER"}


class NotSharedError(MuntinError):
    """The reason why a statement cannot share. `parse_sql` turns it into a `PlainQuery`."""


class WrongSqlError(MuntinError):
    """Spark is certain to refuse the SQL at position `at` of the statement's text.

    `parse_sql` turns it into a `ParseError` with a line and a column.
    """

    def __init__(self, message: str, at: int = 0) -> None:
        super().__init__(message)
        self.at = at


@dataclass(frozen=True, kw_only=True)
class Token:
    """A word of SQL, at `[start, end)` of its text."""

    kind: str
    # The form for comparisons: lower case, without backquotes; literals as they are written.
    norm: str
    # As written, without backquotes.
    name: str
    start: int
    end: int

    @property
    def is_name(self) -> bool:
        """Whether it may be a part of a column's name; most keywords may."""
        if self.kind.endswith("STRING"):
            # A prefix belongs to the literal, as in `r'x'` and `X'1F'`.
            return False
        return self.kind == "IDENTIFIER" or self.name[:1].isalpha() or self.name[:1] == "_"


Span = Sequence[Token]


@lru_cache(maxsize=4096)
def tokenize(text: str) -> tuple[Token, ...]:
    """Returns the tokens of a text without comments; raises `sqlglot.errors.TokenError`.

    It is cached, because planning reads the same few filters and keys again and again.
    """
    tokens: list[Token] = []
    for raw in sqlglot.tokenize(text, read=DIALECT):
        start, end = raw.start, raw.end + 1
        if tokens and tokens[-1].start == start:
            # sqlglot reads `1000L` as three tokens of one place: `1000`, `::`, `BIGINT`.
            continue
        kind, source = raw.token_type.name, text[start:end]
        name = raw.text if kind == "IDENTIFIER" else source
        norm = name if kind in _LITERALS else " ".join(name.lower().split())
        tokens.append(Token(kind=kind, norm=norm, name=name, start=start, end=end))
    return tuple(tokens)


def line_and_column(text: str, at: int) -> tuple[int, int]:
    """Returns the line and the column of a position; both start at 1.

    >>> line_and_column("SELECT a,\\n  b FROM t", 12)
    (2, 3)
    """
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def norms(tokens: Span) -> tuple[str, ...]:
    """Returns the tokens in the form for comparisons, without white space and comments."""
    return tuple(token.norm for token in tokens)


def kind_at(tokens: Span, index: int) -> str:
    """Returns the kind of the token at an index, or an empty text if there is none."""
    return tokens[index].kind if 0 <= index < len(tokens) else ""


def closing_position(tokens: Span, index: int) -> int:
    """Returns the index of the bracket that closes the one at `index`; brackets must balance."""
    depth = 0
    for place in range(index, len(tokens)):
        depth += (tokens[place].kind in _CLOSERS) - (tokens[place].kind in _CLOSERS.values())
        if depth == 0:
            return place
    raise NotSharedError("its SQL is beyond the parser: a bracket is cut in two")


def unbalanced_bracket(tokens: Span) -> Token | None:
    """Returns the first bracket without a partner, if there is one."""
    open_: list[Token] = []
    for token in tokens:
        if token.kind in _CLOSERS:
            open_.append(token)
        elif token.kind in _CLOSERS.values():
            if not open_ or _CLOSERS[open_[-1].kind] != token.kind:
                return token
            open_.pop()
    return open_[-1] if open_ else None


def top_level_positions(tokens: Span) -> list[int]:
    """Returns the indexes of the tokens outside all brackets, without the brackets themselves."""
    places: list[int] = []
    depth = 0
    for place, token in enumerate(tokens):
        depth -= token.kind in _CLOSERS.values()
        if depth == 0 and token.kind not in _CLOSERS and token.kind not in _CLOSERS.values():
            places.append(place)
        depth += token.kind in _CLOSERS
    return places


def find_top_level(tokens: Span, *kinds: str) -> list[int]:
    """Returns the indexes of the tokens of some kinds outside all brackets."""
    return [place for place in top_level_positions(tokens) if tokens[place].kind in kinds]


def is_bracketed(tokens: Span, start: int = 0) -> bool:
    """Whether the token at `start` is a bracket that the last token closes."""
    return kind_at(tokens, start) in _CLOSERS and closing_position(tokens, start) == len(tokens) - 1


def split_at_commas(tokens: Span) -> list[Span]:
    """Returns the pieces between commas outside brackets; no pieces if there are no tokens."""
    if not tokens:
        return []
    commas = find_top_level(tokens, "COMMA")
    bounds = [-1, *commas, len(tokens)]
    return [tokens[a + 1 : b] for a, b in pairwise(bounds)]


def strip_parentheses(tokens: Span) -> Span:
    """Returns the tokens without parentheses around all of them."""
    while len(tokens) > 2 and tokens[0].kind == "L_PAREN" and is_bracketed(tokens):
        tokens = tokens[1:-1]
    return tokens


@dataclass(frozen=True, kw_only=True)
class Replacement:
    """A text in the place of the tokens up to the index `stop`."""

    stop: int
    text: str


def render(text: str, tokens: Span, replacements: Mapping[int, Replacement] | None = None) -> str:
    """Returns the user's text of some tokens, with replacements by the index of their first token.

    White space and comments become one space, so that equal SQL is equal text.
    """
    pieces: list[str] = []
    place = 0
    end = tokens[0].start if tokens else 0
    while place < len(tokens):
        replacement = (replacements or {}).get(place)
        stop = replacement.stop if replacement else place + 1
        if tokens[place].start > end:
            pieces.append(" ")
        pieces.append(
            replacement.text if replacement else text[tokens[place].start : tokens[place].end]
        )
        end = tokens[stop - 1].end
        place = stop
    return "".join(pieces)
