"""A file of SQL: its queries, and errors that point at its lines."""

import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from muntin.errors import ParseError, RefusedError, RunError
from muntin.model.query import PlainQuery, Query
from muntin.spark.syntax import has_function, syntax_problem, without_place
from muntin.sql import parse_sql
from muntin.sql.dialects import in_spark_sql
from muntin.sql.doubts import Doubt, find_doubts
from muntin.sql.statements import Statement, split_statements

# What a command calls its standard input.
STDIN = "-"


@dataclass(frozen=True, kw_only=True)
class SqlFile:
    """The text of a file at one moment, and the queries in it."""

    path: Path
    text: str
    queries: list[Query | PlainQuery]

    @staticmethod
    def read(path: Path) -> "SqlFile":
        """Read a file, or the standard input for `-`, and refuse what is no SQL."""
        try:
            is_stdin = str(path) == STDIN
            text = sys.stdin.read() if is_stdin else path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise RunError(f"{path} is not text in UTF-8") from None
        with _pointing_into(path):
            return SqlFile(path=path, text=text, queries=parse_sql(text))

    def check(self, functions: Collection[str] = ()) -> None:
        """Refuse statements that Spark would refuse, as far as that can be told without it.

        `functions` are the user's own: Spark does not know them before they are registered.
        """
        for statement, doubt in self._doubts(functions):
            hint = (
                "if it is a function of your own, name it with --udf"
                if doubt.function
                else "if Spark can read it, add --check"
            )
            with _pointing_into(self.path):
                raise statement.error(f"{doubt.message} ({hint})", doubt.at)

    def check_syntax(self, session: SparkSession) -> None:
        """Refuse statements that Spark's own parser refuses."""
        with _pointing_into(self.path):
            for statement in self._statements():
                problem = syntax_problem(session, statement.text)
                if problem is not None:
                    raise statement.error(problem.message, problem.at)

    def check_functions(self, session: SparkSession, functions: Collection[str] = ()) -> None:
        """Refuse functions that neither Spark nor the user has."""
        for statement, doubt in self._doubts(functions):
            if doubt.function is not None and not has_function(session, doubt.function):
                with _pointing_into(self.path):
                    raise statement.error(doubt.message, doubt.at)

    def _statements(self) -> list[Statement]:
        """The statements as Spark reads them."""
        return [each for given in split_statements(self.text) for each in in_spark_sql(given)]

    def _doubts(self, functions: Collection[str]) -> Iterator[tuple[Statement, Doubt]]:
        """What Spark may refuse in each statement, but for functions of the user's own."""
        own = {name.lower() for name in functions}
        for statement in self._statements():
            for doubt in find_doubts(statement):
                if doubt.function not in own:
                    yield statement, doubt

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Add the place in the file to what Spark refuses in the block."""
        try:
            yield
        except RefusedError as error:
            for statement in self._statements():
                if statement.name == error.query:
                    line, column = statement.place(statement.find(error.fragment or ""))
                    said = f"query {error.query!r}: {without_place(error.said)}"
                    raise RunError(f"{self.path}:{line}:{column}: {said}") from None
            raise


@contextmanager
def _pointing_into(path: Path) -> Iterator[None]:
    """Add the file to errors of the block, as `file:line:column: message`."""
    try:
        yield
    except ParseError as error:
        place = "" if error.line is None else f":{error.line}:{error.column}"
        raise ParseError(f"{path}{place}: {error.message}") from None
