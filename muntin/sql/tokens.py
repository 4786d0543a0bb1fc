"""Tokens that know where they stand, so that every piece of SQL is cut from the user's own text.

Nothing here writes SQL. sqlglot's generator would rewrite casts, date formats and literals, and the
answers would no longer be Spark's.
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
    """Unwinds to a `PlainQuery`; its message is the reason. It never leaves this package."""


class WrongSqlError(MuntinError):
    """Spark is sure to refuse what stands at `at`, a place in the statement's text.

    It leaves this package as a `ParseError`, with the line and the column of that place.
    """

    def __init__(self, message: str, at: int = 0) -> None:
        super().__init__(message)
        self.at = at


@dataclass(frozen=True, kw_only=True)
class Token:
    """A word of SQL: its kind, what it is compared by, and its half-open place in the text."""

    kind: str
    # Equal for two spellings of one thing: lower case, no backquotes; literals stay as written.
    norm: str
    # As written, without backquotes.
    name: str
    start: int
    end: int

    @property
    def is_name(self) -> bool:
        """Whether it could be (part of) a column's name: any word, since most keywords may be."""
        if self.kind.endswith("STRING"):
            # A prefix belongs to the literal, as in `r'x'` and `X'1F'`.
            return False
        return self.kind == "IDENTIFIER" or self.name[:1].isalpha() or self.name[:1] == "_"


Span = Sequence[Token]


@lru_cache(maxsize=4096)
def tokenize(text: str) -> tuple[Token, ...]:
    """The tokens of a text, comments left out; raises `sqlglot.errors.TokenError`.

    Planning asks for those of the same few filters and keys over and over.
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
    """A place in a text as people count it: both from 1.

    >>> line_and_column("SELECT a,\\n  b FROM t", 12)
    (2, 3)
    """
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def norms(tokens: Span) -> tuple[str, ...]:
    """Returns the form in which SQL is compared: no white space, comments or upper case."""
    return tuple(token.norm for token in tokens)


def kind_at(tokens: Span, index: int) -> str:
    """The kind of the token at a place, or nothing outside of them."""
    return tokens[index].kind if 0 <= index < len(tokens) else ""


def closing(tokens: Span, index: int) -> int:
    """The place of the bracket that closes the one at `index`, in tokens known to balance."""
    depth = 0
    for place in range(index, len(tokens)):
        depth += (tokens[place].kind in _CLOSERS) - (tokens[place].kind in _CLOSERS.values())
        if depth == 0:
            return place
    raise NotSharedError("its SQL is beyond the parser: a bracket is cut in two")


def unbalanced(tokens: Span) -> Token | None:
    """The first bracket without a partner."""
    open_: list[Token] = []
    for token in tokens:
        if token.kind in _CLOSERS:
            open_.append(token)
        elif token.kind in _CLOSERS.values():
            if not open_ or _CLOSERS[open_[-1].kind] != token.kind:
                return token
            open_.pop()
    return open_[-1] if open_ else None


def outside(tokens: Span) -> list[int]:
    """The places of the tokens that stand in no bracket, brackets themselves left out."""
    places: list[int] = []
    depth = 0
    for place, token in enumerate(tokens):
        depth -= token.kind in _CLOSERS.values()
        if depth == 0 and token.kind not in _CLOSERS and token.kind not in _CLOSERS.values():
            places.append(place)
        depth += token.kind in _CLOSERS
    return places


def split(tokens: Span) -> list[Span]:
    """Splits tokens at commas outside brackets; no tokens give no pieces."""
    if not tokens:
        return []
    commas = [place for place in outside(tokens) if tokens[place].kind == "COMMA"]
    bounds = [-1, *commas, len(tokens)]
    return [tokens[a + 1 : b] for a, b in pairwise(bounds)]


def unwrapped(tokens: Span) -> Span:
    """The tokens without the parentheses around all of them."""
    while len(tokens) > 2 and tokens[0].kind == "L_PAREN":
        if closing(tokens, 0) != len(tokens) - 1:
            break
        tokens = tokens[1:-1]
    return tokens


@dataclass(frozen=True, kw_only=True)
class Swap:
    """Replace the tokens up to the place `stop` by a text."""

    stop: int
    text: str


def render(text: str, tokens: Span, swaps: Mapping[int, Swap] | None = None) -> str:
    """The user's text of some tokens, with some places swapped.

    White space and comments become one blank, so that equal SQL is equal text, and so that a line
    comment cannot swallow what is put after it.
    """
    pieces: list[str] = []
    place = 0
    end = tokens[0].start if tokens else 0
    while place < len(tokens):
        swap = (swaps or {}).get(place)
        stop = swap.stop if swap else place + 1
        if tokens[place].start > end:
            pieces.append(" ")
        pieces.append(swap.text if swap else text[tokens[place].start : tokens[place].end])
        end = tokens[stop - 1].end
        place = stop
    return "".join(pieces)
