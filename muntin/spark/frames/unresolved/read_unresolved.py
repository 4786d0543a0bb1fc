"""Reads DataFrames of Spark Connect as queries over the relations that they have in common."""

from collections.abc import Mapping
from dataclasses import replace

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from muntin.errors import MuntinError
from muntin.model.query import Column, PlainQuery, Query
from muntin.spark.binding.relations import Relations, is_case_sensitive
from muntin.spark.engine.connect_plans import canonical, relation_of
from muntin.spark.frames.chain import NotSharedError, Watermark
from muntin.spark.frames.frame_queries import FoundFrames, FrameGroup, table_of_group, whole_frame
from muntin.spark.frames.unresolved.flat_statement import (
    FlatStatement,
    below_watermark,
    flat_statement,
    levels_below,
)
from muntin.spark.frames.unresolved.operators import Operators
from muntin.sql import parse_sql
from muntin.sql_text import quoted, squeeze


def read_unresolved(frames: Mapping[str, DataFrame], *, own_definitions: bool) -> FoundFrames:
    """Returns what DataFrames ask for, in groups that read the same, and why others do not.

    `own_definitions` is as in `read_frames`.
    """
    session = next(iter(frames.values())).sparkSession
    operators = Operators(session=session, is_case_sensitive=is_case_sensitive(session))
    reasons: dict[str, str] = {}
    groups: dict[bytes, dict[str, FlatStatement]] = {}
    relations = {name: relation_of(frame) for name, frame in frames.items()}
    if own_definitions:
        floors = {base for each in relations.values() if (base := below_watermark(each))}
    else:
        floors = _floors([levels_below(relation) for relation in relations.values()])
    for name, relation in relations.items():
        try:
            found = flat_statement(relation, operators, floors)
        except NotSharedError as reason:
            reasons[name] = str(reason)
        except PySparkException:
            # What is wrong with it is said when it runs.
            reasons[name] = "Spark cannot resolve it"
        else:
            groups.setdefault(canonical(found.base), {})[name] = found
    return FoundFrames(
        groups=[
            _group(members, table_of_group(number), frames, operators)
            for number, members in enumerate(groups.values())
        ],
        reasons=reasons,
    )


def _floors(plans: list[list[bytes]]) -> set[bytes]:
    """Returns, of all plans that begin alike, the last operator that all of them begin with."""
    groups: dict[bytes, list[list[bytes]]] = {}
    for levels in filter(None, plans):
        groups.setdefault(levels[0], []).append(levels)
    floors = set()
    for group in groups.values():
        common = [alike[0] for alike in zip(*group, strict=False) if len(set(alike)) == 1]
        floors.add(common[-1])
    return floors


def _group(
    statements: Mapping[str, FlatStatement],
    table: str,
    frames: Mapping[str, DataFrame],
    operators: Operators,
) -> FrameGroup:
    """Returns the queries over one base."""
    data = operators.base(next(iter(statements.values())).base)
    queries: dict[str, Query] = {}
    reasons: dict[str, str] = {}
    watermarks: dict[str, Watermark] = {}
    for name, statement in statements.items():
        try:
            query = _query(name, statement, table, frames[name])
            _confirm(query, frames[name], Relations({table: data}, [query], streaming=True))
        except NotSharedError as reason:
            reasons[name] = str(reason)
            continue
        queries[name] = query
        if statement.watermark is not None:
            watermarks[name] = statement.watermark
    return FrameGroup(
        table=table, frame=data, queries=queries, reasons=reasons, watermarks=watermarks
    )


def _query(name: str, statement: FlatStatement, table: str, frame: DataFrame) -> Query:
    """Returns the query of a statement."""
    try:
        (parsed,) = parse_sql(statement.to_sql(table))
    except MuntinError as error:
        raise NotSharedError(str(error)) from None
    if isinstance(parsed, PlainQuery):
        raise NotSharedError(parsed.reason)
    watermark = statement.watermark
    if watermark is not None and squeeze(watermark.column) != squeeze(parsed.time):
        raise NotSharedError("its watermark is on another column than its window")
    # Spark gives the columns their names and metadata; a stream's are asked for too often.
    streaming = frame.isStreaming
    fields = frame.schema.fields
    return replace(
        parsed,
        name=name,
        columns=[
            Column(
                name=field.name if streaming else None,
                expression=_expression(column.expression, field.metadata),
            )
            for field, column in zip(fields, parsed.columns, strict=True)
        ],
        statement=None if streaming else whole_frame(name),
    )


def _expression(text: str, metadata: Mapping[str, object]) -> str:
    """Returns the expression of a column with this metadata."""
    # A window that was made by `withColumn` has lost the mark of a window, which any function
    # removes.
    return f"coalesce({text})" if text == quoted("window") and not metadata else text


def _confirm(query: Query, frame: DataFrame, relations: Relations) -> None:
    """Raises `NotSharedError` unless the columns of a query have the types of the DataFrame's."""
    asked = [field.dataType for field in frame.schema.fields]
    core = replace(
        query,
        statement=None,
        columns=[
            Column(name=f"c{number}", expression=column.expression)
            for number, column in enumerate(query.columns)
        ],
    )
    try:
        found = [field.dataType for field in relations.sql(core.to_sql()).schema.fields]
    except PySparkException:
        raise NotSharedError("Spark cannot read what it computes as SQL") from None
    if found != asked:
        raise NotSharedError("its columns have other types in SQL")
