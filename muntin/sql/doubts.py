"""Finds, without Spark, what Spark would probably refuse: misspelled keywords and functions."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from muntin.errors import ParseError
from muntin.sql.clauses import masked
from muntin.sql.functions import calls
from muntin.sql.spark_functions import SPARK_FUNCTIONS
from muntin.sql.statements import Statement
from muntin.sql.tokens import DIALECT, kind_at

# Misspelled, one of these is read as a name, and the parser stops at the word behind it.
_KEYWORDS = (
    *("SELECT", "DISTINCT", "FROM", "JOIN", "INNER", "LEFT", "RIGHT", "CROSS", "USING", "LATERAL"),
    *("WHERE", "GROUP", "BY", "HAVING", "ORDER", "LIMIT", "UNION", "BETWEEN", "FILTER", "OVER"),
)
# Something has to follow these, and these cannot be it.
_CONTINUED = {"COMMA", "WHERE", "GROUP_BY", "HAVING", "ORDER_BY"}
_ENDING = {"", "R_PAREN", "FROM", "WHERE", "GROUP_BY", "HAVING", "ORDER_BY", "LIMIT"}
# Functions that the parser has nodes of its own for; many of them are not Spark's.
_OTHER_DIALECTS = frozenset(name.lower() for name in exp.FUNCTION_BY_NAME)


@dataclass(frozen=True, kw_only=True)
class Doubt:
    """Something that only Spark can accept, and where it stands in the statement.

    `function` is its name where it is a function, and none where the syntax cannot be read.
    """

    statement: Statement
    at: int
    message: str
    function: str | None = None

    @property
    def error(self) -> ParseError:
        """The doubt as an error, with its place in the whole text."""
        return self.statement.error(self.message, self.at)


def find_doubts(statement: Statement) -> list[Doubt]:
    """Returns what looks wrong in a statement, in order; empty where Spark should accept it."""
    text = _without_comments(statement, masked(statement))
    try:
        tree = sqlglot.parse_one(text, read=DIALECT)
    except SqlglotError as error:
        return [_unreadable(statement, text, error)]
    except RecursionError:
        return [Doubt(statement=statement, at=0, message="it is nested too deeply to be read")]
    return [*_unfinished(statement), *_unknown_functions(statement, tree)]


def _without_comments(statement: Statement, text: str) -> str:
    """The text with blanks for comments: sqlglot does not read `GROUP /* so */ BY`."""
    for before, after in pairwise(statement.tokens):
        gap = text[before.end : after.start]
        if "--" in gap or "/*" in gap:
            blank = "".join(sign if sign == "\n" else " " for sign in gap)
            text = text[: before.end] + blank + text[after.start :]
    return text


def _unfinished(statement: Statement) -> Iterator[Doubt]:
    """Lists that end with a comma and clauses that are empty: sqlglot reads both."""
    tokens = statement.tokens
    for place, token in enumerate(tokens):
        if token.kind not in _CONTINUED or kind_at(tokens, place - 1) == "DOT":
            continue
        if kind_at(tokens, place + 1) in _ENDING:
            message = f"nothing follows {token.name!r}"
            yield Doubt(statement=statement, at=token.start, message=message)


def _unreadable(statement: Statement, text: str, error: SqlglotError) -> Doubt:
    tokens = statement.tokens
    place = _stopped_at(statement, text, error)
    if place is None:
        return Doubt(statement=statement, at=0, message="its syntax cannot be read")
    # A misspelled keyword stands right before the place, or at it.
    for near in (place - 1, place):
        if near >= 0 and kind_at(tokens, near) == "VAR":
            word = tokens[near].name
            meant = get_close_matches(word.upper(), _KEYWORDS, n=1, cutoff=0.7)
            if meant and meant[0] != word.upper():
                message = f"syntax error at {word!r}; did you mean {meant[0]}?"
                return Doubt(statement=statement, at=tokens[near].start, message=message)
    token = tokens[place]
    return Doubt(statement=statement, at=token.start, message=f"syntax error at {token.name!r}")


def _stopped_at(statement: Statement, text: str, error: SqlglotError) -> int | None:
    """Finds the token at which the parser stopped, from the text that its error quotes."""
    if not isinstance(error, sqlglot.ParseError) or not error.errors:
        return None
    before, here = error.errors[0]["start_context"], error.errors[0]["highlight"]
    for place, token in enumerate(statement.tokens):
        if text[token.start : token.end] == here and text[: token.start].endswith(before):
            return place
    return None


def _unknown_functions(statement: Statement, tree: exp.Expr) -> Iterator[Doubt]:
    unknown = {node.name.lower() for node in tree.find_all(exp.Anonymous)}
    aliases = {node.name.lower() for node in tree.find_all(exp.TableAlias)}
    suspects = (unknown | _OTHER_DIALECTS) - SPARK_FUNCTIONS - aliases
    for place, name in calls(statement.tokens):
        token = statement.tokens[place]
        # `db.f(x)` is a function of a catalog's.
        if name not in suspects or token.kind not in {"VAR", "IDENTIFIER"}:
            continue
        if kind_at(statement.tokens, place - 1) != "DOT":
            yield Doubt(
                statement=statement,
                at=token.start,
                message=f"Spark has no function {token.name}{_meant(name)}",
                function=name,
            )


def _meant(name: str) -> str:
    """A hint at the function that was probably meant."""
    near = get_close_matches(name, sorted(SPARK_FUNCTIONS), n=5)
    # Of words equally near, letters that changed places are the likelier mistake: agv is avg.
    near.sort(key=lambda word: (sorted(word) != sorted(name), word[0] != name[0]))
    return f"; did you mean {near[0]}?" if near else ""
