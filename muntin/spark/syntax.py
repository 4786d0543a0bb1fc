"""Asks Spark's own parser and its list of functions, without any data."""

import re
from dataclasses import dataclass

from pyspark.errors import ParseException
from pyspark.sql import SparkSession

from muntin.spark.binding.relations import first_line
from muntin.spark.engine.statements import parse

_PLACE = re.compile(r"\s*\(line (\d+), pos (\d+)\)|;? line \d+ pos \d+")


@dataclass(frozen=True, kw_only=True)
class SyntaxProblem:
    """What Spark's parser finds wrong in a statement, and at which character."""

    message: str
    at: int


def syntax_problem(session: SparkSession, statement: str) -> SyntaxProblem | None:
    """Returns why Spark cannot parse a statement; None if it can."""
    try:
        parse(session, statement)
    except ParseException as error:
        said = first_line(error)
        place = _PLACE.search(said)
        at = 0
        if place and place[1]:
            lines = statement.splitlines(keepends=True)
            at = sum(map(len, lines[: int(place[1]) - 1])) + int(place[2])
        return SyntaxProblem(message=without_place(said), at=at)
    return None


def has_function(session: SparkSession, name: str) -> bool:
    """Whether Spark has a function, of its own or of the session's."""
    return session.catalog.functionExists(name)


def without_place(said: str) -> str:
    """Removes the line from what Spark says, as it counts from the start of the statement alone."""
    return _PLACE.sub("", said)
