"""Replaces parts of a statement's text, with the same number of lines."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from muntin.errors import ParseError, nearest
from muntin.sql.statements import Statement
from muntin.sql.tokens import Span, Token, tokenize

# Spellings of units of time in the dialects, by Spark's name.
_UNITS = {
    "microsecond": ("microseconds", "mcs", "us"),
    "millisecond": ("milliseconds", "ms"),
    "second": ("seconds", "ss", "s"),
    "minute": ("minutes", "mi", "n"),
    "hour": ("hours", "hh"),
    "day": ("days", "dd", "d"),
    "week": ("weeks", "wk", "ww"),
}
UNITS = {spelling: unit for unit, others in _UNITS.items() for spelling in (unit, *others)}


@dataclass(frozen=True, kw_only=True)
class Edit:
    """A text in the place of `[start, end)`."""

    start: int
    end: int
    text: str

    @staticmethod
    def of(tokens: Span, text: str) -> "Edit":
        """Returns the edit that replaces some tokens."""
        return Edit(start=tokens[0].start, end=tokens[-1].end, text=text)


def apply_edits(statement: Statement, edits: Iterable[Edit], name: str | None = None) -> Statement:
    """Returns a statement with some parts replaced; the rest stays on its line."""
    whole = apply_text_edits(statement.text, edits)
    return replace(statement, text=whole, tokens=tokenize(whole), name=name or statement.name)


def apply_text_edits(text: str, edits: Iterable[Edit]) -> str:
    """Returns a text with some parts replaced; the rest stays on its line."""
    end, pieces = 0, []
    for edit in sorted(edits, key=lambda edit: edit.start):
        lines = text.count("\n", edit.start, edit.end)
        pieces += [text[end : edit.start], edit.text, "\n" * lines]
        end = edit.end
    return "".join([*pieces, text[end:]])


def duration(statement: Statement, count: str, unit: Token) -> str:
    """Returns a duration for Spark's `window`, in quotes."""
    spelled = unit.norm.strip("'\"")
    if spelled not in UNITS:
        hint = nearest(spelled, list(_UNITS))
        raise error_at(statement, f"{unit.name} is no unit of a window's length; {hint}", unit)
    return f"'{count} {UNITS[spelled]}'"


def error_at(statement: Statement, message: str, at: Token) -> ParseError:
    """Returns an error with the position of a token."""
    return statement.error(message, at.start)
