"""A file of SQL queries, with errors that name the line and column in the file."""

import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from muntin.errors import ParseError, RefusedError, RunError
from muntin.model.query import PlainQuery, Query
from muntin.spark.engine.statements import drop_position, has_function, syntax_problem
from muntin.sql import parse_sql
from muntin.sql.dialects import to_spark_sql
from muntin.sql.likely_errors import LikelyError, find_likely_errors
from muntin.sql.statements import Statement, split_statements

# The path that stands for standard input.
STDIN = "-"


@dataclass(frozen=True, kw_only=True)
class SqlFile:
    """The text of a file at one moment, and the queries in it."""

    path: Path
    text: str
    queries: list[Query | PlainQuery]

    @staticmethod
    def read(path: Path) -> "SqlFile":
        """Reads a file, or standard input for `-`; raises an error if it is not SQL."""
        try:
            is_stdin = str(path) == STDIN
            text = sys.stdin.read() if is_stdin else path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise RunError(f"{path} is not text in UTF-8") from None
        with _add_file_to_errors(path):
            return SqlFile(path=path, text=text, queries=parse_sql(text))

    def check(self, functions: Collection[str] = ()) -> None:
        """Refuses statements that Spark would refuse, as far as this is known without Spark.

        `functions` are names of user-defined functions, which are allowed.
        """
        for statement, doubt in self._doubts(functions):
            hint = (
                "if it is a function of your own, name it with --udf"
                if doubt.function
                else "if Spark can read it, add --check"
            )
            with _add_file_to_errors(self.path):
                raise statement.error(f"{doubt.message} ({hint})", doubt.at)

    def check_syntax(self, session: SparkSession) -> None:
        """Refuses statements that Spark's own parser refuses."""
        with _add_file_to_errors(self.path):
            for statement in self._statements():
                problem = syntax_problem(session, statement.text)
                if problem is not None:
                    raise statement.error(problem.message, problem.at)

    def check_functions(self, session: SparkSession, functions: Collection[str] = ()) -> None:
        """Refuses functions that neither Spark nor the user has."""
        for statement, doubt in self._doubts(functions):
            if doubt.function is not None and not has_function(session, doubt.function):
                with _add_file_to_errors(self.path):
                    raise statement.error(doubt.message, doubt.at)

    def _statements(self) -> list[Statement]:
        return [
            translated
            for statement in split_statements(self.text)
            for translated in to_spark_sql(statement)
        ]

    def _doubts(self, functions: Collection[str]) -> Iterator[tuple[Statement, LikelyError]]:
        """Yields what Spark may refuse in each statement, except for the user's own functions."""
        own = {name.lower() for name in functions}
        for statement in self._statements():
            for doubt in find_likely_errors(statement):
                if doubt.function not in own:
                    yield statement, doubt

    @contextmanager
    def locate_errors(self) -> Iterator[None]:
        """Adds file, line and column to an error about a query that is raised in the block."""
        try:
            yield
        except RefusedError as error:
            for statement in self._statements():
                if statement.name == error.query:
                    line, column = statement.place(statement.find(error.fragment or ""))
                    message = f"query {error.query!r}: {drop_position(error.spark_message)}"
                    raise RunError(f"{self.path}:{line}:{column}: {message}") from None
            raise


@contextmanager
def _add_file_to_errors(path: Path) -> Iterator[None]:
    """Adds the file to parse errors of the block, as `file:line:column: message`."""
    try:
        yield
    except ParseError as error:
        place = "" if error.line is None else f":{error.line}:{error.column}"
        raise ParseError(f"{path}{place}: {error.message}") from None
