"""Splits a text into statements at `;`, each with a name, and edits their texts."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from sqlglot.errors import TokenError

from muntin.errors import ModelError, ParseError
from muntin.model.query import check_name
from muntin.sql.tokens import Span, line_and_column, tokenize

_NAME_LINE = re.compile(r"^[ \t]*--[ \t]*name[ \t]*:(.*)$", re.MULTILINE | re.IGNORECASE)
_BLOCK_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)

# Comments, literals and quoted names as a whole, or one other character. A quote that only the last
# group matches is not closed.
_LEXEME = re.compile(
    r"""--[^\n]* | /\*.*?\*/
      | [rR]'[^']*' | [rR]"[^"]*"
      | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `[^`]*`
      | (?P<open>/\*|['"`]) | .""",
    re.VERBOSE | re.DOTALL,
)

# The first words of queries in Spark SQL. Anything else is a command.
_OPENINGS = {"select", "with", "from", "values", "table", "map", "reduce", "("}


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A statement with its name, its text from the first to the last token, and its tokens."""

    name: str
    text: str
    tokens: Span
    # Where the statement starts in the whole text, from 1.
    line: int
    column: int
    # The text from which the query is read, if Spark has no function for its window.
    query_text: str | None = None

    @property
    def query_statement(self) -> "Statement":
        """The statement from which the query is read."""
        if self.query_text is None:
            return self
        tokens = tokenize(self.query_text)
        return replace(self, text=self.query_text, tokens=tokens, query_text=None)

    def error(self, message: str, at: int = 0) -> ParseError:
        """Returns an error with the line and column of a position in this statement."""
        line, column = self.place(at)
        return ParseError(f"query {self.name!r}: {message}", line=line, column=column)

    def find(self, fragment: str) -> int:
        """Returns the first position of a piece of SQL in the statement; 0 if it is not there."""
        try:
            sought = tokenize(fragment).norms()
        except TokenError:
            return 0
        mine = self.tokens.norms()
        for place in range(len(mine) - len(sought) + 1):
            if sought and mine[place : place + len(sought)] == sought:
                return self.tokens[place].start
        return 0

    def place(self, at: int) -> tuple[int, int]:
        """Returns the line and column, in the whole text, of a position in this statement."""
        line, column = line_and_column(self.text, at)
        return self.line + line - 1, column + (self.column - 1 if line == 1 else 0)


def split_statements(text: str) -> list[Statement]:
    """Returns the statements of a text, in order.

    The last comment line `-- name: x` before a statement names it. Without one, it is named by its
    position: q1, q2, ...
    """
    # Some editors write a byte order mark.
    text = text.removeprefix("\ufeff")
    try:
        tokens = tokenize(text)
    except TokenError as error:
        raise _unclosed_error(text) from error
    cuts = list(_split(text, tokens))
    if not cuts:
        raise ParseError("there is no SQL statement; write at least one SELECT")
    places = [line_and_column(text, body[0].start) for _, body in cuts]
    names = _names([given for given, _ in cuts], places)
    statements = []
    for name, (_, body), (line, column) in zip(names, cuts, places, strict=True):
        own = text[body[0].start : body[-1].end]
        statement = Statement(name=name, text=own, tokens=tokenize(own), line=line, column=column)
        _check(statement)
        statements.append(statement)
    return statements


def _split(text: str, tokens: Span) -> Iterator[tuple[str | None, Span]]:
    """Yields the name in the comments, if any, and the tokens of each non-empty statement."""
    start = comments_from = 0
    for end in range(len(tokens) + 1):
        if tokens.kind_at(end) not in {"SEMICOLON", ""}:
            continue
        body, start = tokens[start:end], end + 1
        # Comments go on after an empty statement: `; -- name: x` may be followed by a second `;`.
        if body:
            comments = _BLOCK_COMMENT.sub("", text[comments_from : body[0].start])
            names = _NAME_LINE.findall(comments)
            yield names[-1].strip() if names else None, body
            comments_from = tokens[end].end if end < len(tokens) else len(text)


def _names(given: list[str | None], places: list[tuple[int, int]]) -> list[str]:
    """Returns a name for every statement; refuses names that differ only in case."""
    positions: dict[str, int] = {}
    for position, name in enumerate(given, 1):
        if name is None:
            continue
        try:
            check_name(name)
        except ModelError as error:
            line, column = places[position - 1]
            raise ParseError(f"statement {position}: {error}", line=line, column=column) from None
        first = positions.setdefault(name.lower(), position)
        if first != position:
            line, column = places[position - 1]
            raise ParseError(
                f"statements {first} and {position} are called {given[first - 1]!r} and {name!r}; "
                f"name them apart, by more than upper and lower case",
                line=line,
                column=column,
            )
    names = []
    for position, name in enumerate(given, 1):
        if name is None:
            name = f"q{position}"
            while name in positions:
                name += "_"
        names.append(name)
    return names


def _check(statement: Statement) -> None:
    """Refuses commands, and what Spark is certain to refuse."""
    first = statement.tokens[0]
    if first.norm not in _OPENINGS:
        raise statement.error(f"it begins with {first.name!r}; only SELECT statements are run")
    for place, token in enumerate(statement.tokens):
        # Spark would read FROM as a column, and its error would point at a later word.
        if token.kind == "COMMA" and statement.tokens.kind_at(place + 1) in {"", "FROM"}:
            raise statement.error("nothing follows ','", token.start)
    stray = statement.tokens.unbalanced_bracket()
    if stray is not None:
        around = statement.text[stray.start : stray.start + 30].splitlines()[0]
        raise statement.error(f"the bracket {stray.name!r} has no partner: {around}", stray.start)


def _unclosed_error(text: str) -> ParseError:
    """Returns the error for a text that cannot be split into tokens."""
    for lexeme in _LEXEME.finditer(text):
        opening = lexeme.group("open")
        if opening is None:
            continue
        start = lexeme.start()
        kind = "comment" if opening == "/*" else "quote"
        line, column = line_and_column(text, start)
        around = text[start : start + 30].splitlines()[0]
        message = f"{_query_at(text, start)}: the {kind} is not closed: {around}"
        return ParseError(message, line=line, column=column)
    return ParseError("the text cannot be read as SQL")


def _query_at(text: str, start: int) -> str:
    """Returns the name of the query at a position."""
    # The extra word counts as the statement that starts at the position.
    before = text[:start] + " x"
    cuts = list(_split(before, tokenize(before)))
    places = [line_and_column(before, body[0].start) for _, body in cuts]
    return f"query {_names([given for given, _ in cuts], places)[-1]!r}"


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
