"""Runs SQL over DataFrames, and asks Spark's parser and analyser about it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession

from muntin.spark.engine.catalyst import analyzed_plan, children, frame_of, node_name
from muntin.spark.engine.plan_reuse import with_unique_plan
from muntin.spark.engine.session_kind import is_connect, may_use_internals
from muntin.spark.error_text import first_line
from muntin.sql_text import SqlText

# The position of an error in Spark's messages.
_PLACE = re.compile(r"\s*\(line (\d+), pos (\d+)\)|;? line \d+ pos \d+")


def sql_over(session: SparkSession, text: SqlText, frames: Mapping[str, DataFrame]) -> DataFrame:
    """Returns the DataFrame of a statement that reads these DataFrames as tables.

    In the statement they have random names, which hide no table of the user's.
    """
    views = {
        table: f"muntin_{uuid4().hex}" for table in dict.fromkeys(text.tables) if table in frames
    }
    if is_connect(session):
        # The plan of a statement carries the DataFrames, and the server resolves it anew each time.
        if not views:
            return session.sql(text.fill())
        places = {table: f"\0{view}\1" for table, view in views.items()}
        template = text.fill(places).replace("{", "{{").replace("}", "}}")
        template = template.replace("\0", "{").replace("\1", "}")
        lent: dict[str, Any] = {view: frames[table] for table, view in views.items()}
        return session.sql(template, **lent)
    # The session's own `dropTempView` also drops what is stored of the view's relation: so that of
    # Spark's internal catalog is called, or the view is of a relation that is stored nowhere.
    has_internals = may_use_internals(session)
    catalog = session._jsparkSession.sessionState().catalog() if has_internals else session.catalog
    # Analysis happens here and now, so the views can go again at once.
    made = []
    try:
        for table, view in views.items():
            frame = frames[table]
            (frame if has_internals else with_unique_plan(frame)).createTempView(view)
            made.append(view)
        return session.sql(text.fill(views))
    finally:
        for view in made:
            catalog.dropTempView(view)


def temporary_view(session: SparkSession, table: str) -> DataFrame | None:
    """Returns the DataFrame of a temporary view as it is now; None if the table is no such view.

    On Spark Connect it is always None: the server looks up views each time a statement runs.
    """
    if is_connect(session):
        return None
    if not may_use_internals(session):
        try:
            is_view = session.catalog.getTable(table).isTemporary
        except (AnalysisException, ParseException):
            return None
        return session.table(table) if is_view else None
    state = session._jsparkSession.sessionState()
    try:
        name = state.sqlParser().parseMultipartIdentifier(table)
    except ParseException:
        # The statement that reads it raises the error.
        return None
    return session.table(table) if state.catalog().isTempView(name) else None


def strip_projection(frame: DataFrame) -> DataFrame:
    """Returns the rows of a `SELECT *` as the plan that every statement over them contains."""
    if not may_use_internals(frame.sparkSession):
        return frame
    plan = analyzed_plan(frame)
    if node_name(plan) != "Project":
        # With common table expressions inside, other statements have another plan.
        return frame
    # The asterisk is a projection, which other statements do not have.
    return frame_of(children(plan)[0], frame.sparkSession)


def expressions_text(frame: DataFrame) -> str | None:
    """Returns the expressions of a DataFrame as Spark shows them once resolved; None if unknown."""
    if not may_use_internals(frame.sparkSession):
        return None
    return str(analyzed_plan(frame).expressions().toString())


@dataclass(frozen=True, kw_only=True)
class SyntaxProblem:
    """An error of Spark's parser, and its character in the statement."""

    message: str
    at: int


def syntax_problem(session: SparkSession, statement: str) -> SyntaxProblem | None:
    """Returns why Spark cannot parse a statement; None if it can.

    Without Spark's internal classes a statement cannot be parsed before its tables exist: then the
    answer is None.
    """
    if not may_use_internals(session):
        return None
    try:
        session._jsparkSession.sessionState().sqlParser().parsePlan(statement)
    except ParseException as error:
        said = first_line(error)
        place = _PLACE.search(said)
        at = 0
        if place and place[1]:
            lines = statement.splitlines(keepends=True)
            at = sum(map(len, lines[: int(place[1]) - 1])) + int(place[2])
        return SyntaxProblem(message=drop_position(said), at=at)
    return None


def has_function(session: SparkSession, name: str) -> bool:
    """Whether the session has a function of this name."""
    return session.catalog.functionExists(name)


def drop_position(said: str) -> str:
    """Returns Spark's message without the line number, which counts from the statement's start."""
    return _PLACE.sub("", said)
