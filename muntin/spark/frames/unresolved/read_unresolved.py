"""Reads DataFrames of Spark Connect as queries over the relations that they have in common."""

from collections.abc import Mapping
from dataclasses import replace

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from muntin.errors import MuntinError
from muntin.model.query import Column, PlainQuery, Query
from muntin.spark.binding.relations import Relations, is_case_sensitive
from muntin.spark.engine.connect_plans import canonical_bytes, relation_of
from muntin.spark.frames.frame_queries import (
    OTHER_TIME,
    FrameGroup,
    FrameQuery,
    NotSharedError,
    note_reason,
    statement_of,
    table_of_group,
)
from muntin.spark.frames.unresolved.flat_statement import (
    FlatStatement,
    below_watermark,
    flat_statement,
    levels_below,
)
from muntin.spark.frames.unresolved.operators import Operators
from muntin.sql import parse_sql
from muntin.sql_text import collapse_spaces, quote_name


def read_unresolved(
    frames: Mapping[str, DataFrame],
    session: SparkSession,
    reasons: dict[str, str],
    *,
    own_definitions: bool,
) -> list[FrameGroup]:
    """Returns the queries of DataFrames that read the same rows; adds the reasons of the others.

    `own_definitions` is as in `read_frames`.
    """
    operators = Operators(session=session, is_case_sensitive=is_case_sensitive(session))
    groups: dict[bytes, dict[str, FlatStatement]] = {}
    relations = {name: relation_of(frame) for name, frame in frames.items()}
    if own_definitions:
        floors = {base for each in relations.values() if (base := below_watermark(each))}
    else:
        floors = _common_bases([levels_below(relation) for relation in relations.values()])
    for name, relation in relations.items():
        try:
            with note_reason(reasons, name):
                found = flat_statement(relation, operators, floors)
                groups.setdefault(canonical_bytes(found.base), {})[name] = found
        except PySparkException:
            # Spark raises the error when the DataFrame runs.
            reasons[name] = "Spark cannot resolve it"
    return [
        _group_queries(members, table_of_group(number), frames, operators, reasons)
        for number, members in enumerate(groups.values())
    ]


def _common_bases(plans: list[list[bytes]]) -> set[bytes]:
    """Returns, of all plans that begin alike, the last operator that all of them begin with."""
    groups: dict[bytes, list[list[bytes]]] = {}
    for levels in filter(None, plans):
        groups.setdefault(levels[0], []).append(levels)
    floors = set()
    for group in groups.values():
        common = [alike[0] for alike in zip(*group, strict=False) if len(set(alike)) == 1]
        floors.add(common[-1])
    return floors


def _group_queries(
    statements: Mapping[str, FlatStatement],
    table: str,
    frames: Mapping[str, DataFrame],
    operators: Operators,
    reasons: dict[str, str],
) -> FrameGroup:
    """Returns the queries over one base; adds the reasons of DataFrames that are none."""
    data = operators.base_frame(next(iter(statements.values())).base)
    members: dict[str, FrameQuery] = {}
    for name, statement in statements.items():
        with note_reason(reasons, name):
            query = _parse_query(name, statement, table, frames[name])
            _confirm_types(query, frames[name], Relations({table: data}, [query], streaming=True))
            members[name] = FrameQuery(query=query, watermark=statement.watermark)
    return FrameGroup(table=table, frame=data, members=members)


def _parse_query(name: str, statement: FlatStatement, table: str, frame: DataFrame) -> Query:
    """Returns the query of a statement."""
    try:
        (parsed,) = parse_sql(statement.to_sql(table))
    except MuntinError as error:
        raise NotSharedError(str(error)) from None
    if isinstance(parsed, PlainQuery):
        raise NotSharedError(parsed.reason)
    watermark = statement.watermark
    if watermark is not None and collapse_spaces(watermark.column) != collapse_spaces(parsed.time):
        raise NotSharedError(OTHER_TIME)
    fields = frame.schema.fields
    return replace(
        parsed,
        name=name,
        columns=[
            Column(
                name=field.name if frame.isStreaming else None,
                expression=_column_expression(column.expression, field.metadata),
            )
            for field, column in zip(fields, parsed.columns, strict=True)
        ],
        statement=statement_of(name, frame),
    )


def _column_expression(text: str, metadata: Mapping[str, object]) -> str:
    """Returns the expression of a column with this metadata."""
    # A window that was made by `withColumn` has lost the mark of a window, which any function
    # removes.
    return f"coalesce({text})" if text == quote_name("window") and not metadata else text


def _confirm_types(query: Query, frame: DataFrame, relations: Relations) -> None:
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
