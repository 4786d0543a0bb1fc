"""Tokens with their positions, so that every piece of SQL is a part of the user's own text.

Nothing here generates SQL: sqlglot's generator rewrites casts, date formats and literals, which
would change answers.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import SupportsIndex, overload

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


class Span(tuple[Token, ...]):
    """Tokens in a row, with questions about kinds and brackets. A slice of a span is a span."""

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> Token: ...

    @overload
    def __getitem__(self, index: slice, /) -> "Span": ...

    def __getitem__(self, index: SupportsIndex | slice, /) -> "Token | Span":
        found = super().__getitem__(index)
        return Span(found) if isinstance(found, tuple) else found

    def norms(self) -> tuple[str, ...]:
        """Returns the tokens in the form for comparisons, without white space and comments."""
        return tuple(token.norm for token in self)

    def kind_at(self, index: int) -> str:
        """Returns the kind of the token at an index, or an empty text if there is none."""
        return self[index].kind if 0 <= index < len(self) else ""

    def closing_position(self, index: int) -> int:
        """Returns the index of the bracket that closes the one at `index`, if brackets balance."""
        depth = 0
        for place in range(index, len(self)):
            depth += (self[place].kind in _CLOSERS) - (self[place].kind in _CLOSERS.values())
            if depth == 0:
                return place
        raise NotSharedError("its SQL is beyond the parser: a bracket is cut in two")

    def unbalanced_bracket(self) -> Token | None:
        """Returns the first bracket without a partner, if there is one."""
        open_: list[Token] = []
        for token in self:
            if token.kind in _CLOSERS:
                open_.append(token)
            elif token.kind in _CLOSERS.values():
                if not open_ or _CLOSERS[open_[-1].kind] != token.kind:
                    return token
                open_.pop()
        return open_[-1] if open_ else None

    def top_level_positions(self) -> list[int]:
        """Returns the indexes of the tokens outside all brackets, without the brackets."""
        places: list[int] = []
        depth = 0
        for place, token in enumerate(self):
            depth -= token.kind in _CLOSERS.values()
            if depth == 0 and token.kind not in _CLOSERS and token.kind not in _CLOSERS.values():
                places.append(place)
            depth += token.kind in _CLOSERS
        return places

    def find_top_level(self, *kinds: str) -> list[int]:
        """Returns the indexes of the tokens of some kinds outside all brackets."""
        return [place for place in self.top_level_positions() if self[place].kind in kinds]

    def is_bracketed(self, start: int = 0) -> bool:
        """Whether the token at `start` is a bracket that the last token closes."""
        is_open = self.kind_at(start) in _CLOSERS
        return is_open and self.closing_position(start) == len(self) - 1

    def split_at_commas(self) -> list["Span"]:
        """Returns the pieces between commas outside brackets; no pieces if there are no tokens."""
        if not self:
            return []
        bounds = [-1, *self.find_top_level("COMMA"), len(self)]
        return [self[a + 1 : b] for a, b in pairwise(bounds)]

    def strip_parentheses(self) -> "Span":
        """Returns the tokens without parentheses around all of them."""
        if len(self) > 2 and self[0].kind == "L_PAREN" and self.is_bracketed():
            return self[1:-1].strip_parentheses()
        return self


@lru_cache(maxsize=4096)
def tokenize(text: str) -> Span:
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
    return Span(tokens)


def line_and_column(text: str, at: int) -> tuple[int, int]:
    """Returns the line and the column of a position; both start at 1.

    >>> line_and_column("SELECT a,\\n  b FROM t", 12)
    (2, 3)
    """
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


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


def is_call(tokens: Span, place: int) -> bool:
    """Whether a function call starts at an index; `LIKE ANY (...)` is not a call."""
    return (
        tokens[place].is_name
        and tokens.kind_at(place + 1) == "L_PAREN"
        and tokens.kind_at(place - 1) not in {"LIKE", "ILIKE", "RLIKE"}
    )


def calls(tokens: Span) -> Iterator[tuple[int, str]]:
    """Yields the index of every function call, and the function's name in lower case."""
    for place, token in enumerate(tokens):
        if is_call(tokens, place):
            yield place, token.norm


def column_name(tokens: Span) -> str | None:
    """Returns the last part of the name of a column or field; None for other expressions."""
    names, dots = tokens[::2], tokens[1::2]
    if len(tokens) % 2 and all(t.is_name for t in names) and all(t.kind == "DOT" for t in dots):
        return tokens[-1].name
    return None
