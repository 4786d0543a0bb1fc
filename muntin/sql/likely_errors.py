"""Finds, without Spark, what Spark would probably refuse: misspelled keywords and functions."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from muntin.errors import ParseError
from muntin.sql.clauses import mask_window
from muntin.sql.functions import SPARK_FUNCTIONS
from muntin.sql.statements import Statement
from muntin.sql.tokens import DIALECT, calls

# The parser reads a misspelled keyword as a name, and stops at the next word.
_KEYWORDS = (
    *("SELECT", "DISTINCT", "FROM", "JOIN", "INNER", "LEFT", "RIGHT", "CROSS", "USING", "LATERAL"),
    *("WHERE", "GROUP", "BY", "HAVING", "ORDER", "LIMIT", "UNION", "BETWEEN", "FILTER", "OVER"),
)
# Something must follow the first, and it cannot be one of the second.
_CONTINUED = {"COMMA", "WHERE", "GROUP_BY", "HAVING", "ORDER_BY"}
_ENDING = {"", "R_PAREN", "FROM", "WHERE", "GROUP_BY", "HAVING", "ORDER_BY", "LIMIT"}
# Functions that sqlglot knows from any dialect; many of them are not Spark's.
_OTHER_DIALECTS = frozenset(name.lower() for name in exp.FUNCTION_BY_NAME)


@dataclass(frozen=True, kw_only=True)
class LikelyError:
    """SQL that is probably wrong, and its position in the statement.

    `function` is the name of an unknown function; None for a syntax error.
    """

    statement: Statement
    at: int
    message: str
    function: str | None = None

    @property
    def error(self) -> ParseError:
        """The error, with its line and column in the whole text."""
        return self.statement.error(self.message, self.at)


def find_likely_errors(statement: Statement) -> list[LikelyError]:
    """Returns what looks wrong in a statement, in order; empty if Spark should accept it."""
    text = _without_comments(statement, mask_window(statement))
    try:
        tree = sqlglot.parse_one(text, read=DIALECT)
    except SqlglotError as error:
        return [_syntax_error(statement, text, error)]
    except RecursionError:
        return [
            LikelyError(statement=statement, at=0, message="it is nested too deeply to be read")
        ]
    return [*_unfinished_clauses(statement), *_unknown_functions(statement, tree)]


def _without_comments(statement: Statement, text: str) -> str:
    """Returns the text with spaces for comments: sqlglot cannot read `GROUP /* so */ BY`."""
    for before, after in pairwise(statement.tokens):
        gap = text[before.end : after.start]
        if "--" in gap or "/*" in gap:
            blank = "".join(sign if sign == "\n" else " " for sign in gap)
            text = text[: before.end] + blank + text[after.start :]
    return text


def _unfinished_clauses(statement: Statement) -> Iterator[LikelyError]:
    """Yields lists that end with a comma and empty clauses, which sqlglot accepts."""
    tokens = statement.tokens
    for place, token in enumerate(tokens):
        if token.kind not in _CONTINUED or tokens.kind_at(place - 1) == "DOT":
            continue
        if tokens.kind_at(place + 1) in _ENDING:
            message = f"nothing follows {token.name!r}"
            yield LikelyError(statement=statement, at=token.start, message=message)


def _syntax_error(statement: Statement, text: str, error: SqlglotError) -> LikelyError:
    tokens = statement.tokens
    place = _error_place(statement, text, error)
    if place is None:
        return LikelyError(statement=statement, at=0, message="its syntax cannot be read")
    # The misspelled keyword is the token before this one, or this one.
    for near in (place - 1, place):
        if near >= 0 and tokens.kind_at(near) == "VAR":
            word = tokens[near].name
            meant = get_close_matches(word.upper(), _KEYWORDS, n=1, cutoff=0.7)
            if meant and meant[0] != word.upper():
                message = f"syntax error at {word!r}; did you mean {meant[0]}?"
                return LikelyError(statement=statement, at=tokens[near].start, message=message)
    token = tokens[place]
    return LikelyError(
        statement=statement, at=token.start, message=f"syntax error at {token.name!r}"
    )


def _error_place(statement: Statement, text: str, error: SqlglotError) -> int | None:
    """Returns the token at which the parser stopped, found by the text in its error."""
    if not isinstance(error, sqlglot.ParseError) or not error.errors:
        return None
    before, here = error.errors[0]["start_context"], error.errors[0]["highlight"]
    for place, token in enumerate(statement.tokens):
        if text[token.start : token.end] == here and text[: token.start].endswith(before):
            return place
    return None


def _unknown_functions(statement: Statement, tree: exp.Expr) -> Iterator[LikelyError]:
    unknown = {node.name.lower() for node in tree.find_all(exp.Anonymous)}
    aliases = {node.name.lower() for node in tree.find_all(exp.TableAlias)}
    suspects = (unknown | _OTHER_DIALECTS) - SPARK_FUNCTIONS - aliases
    for place, name in calls(statement.tokens):
        token = statement.tokens[place]
        # `db.f(x)` is a function of a catalog.
        if name not in suspects or token.kind not in {"VAR", "IDENTIFIER"}:
            continue
        if statement.tokens.kind_at(place - 1) != "DOT":
            yield LikelyError(
                statement=statement,
                at=token.start,
                message=f"Spark has no function {token.name}{_spelling_hint(name)}",
                function=name,
            )


def _spelling_hint(name: str) -> str:
    near = get_close_matches(name, sorted(SPARK_FUNCTIONS), n=5)
    # Swapped letters are the likelier mistake: agv is avg.
    near.sort(key=lambda word: (sorted(word) != sorted(name), word[0] != name[0]))
    return f"; did you mean {near[0]}?" if near else ""
