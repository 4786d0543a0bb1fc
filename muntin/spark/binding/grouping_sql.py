"""Writes the SQL over a grouping's relation: its events, or its events grouped by its keys."""

from collections.abc import Sequence

from pyspark.sql.types import DataType, StructField, StructType

from muntin.model.aggregates.aggregate import Aggregate, Component
from muntin.model.query import Grouping
from muntin.model.sql_text import SqlText
from muntin.spark.binding.relations import Relations


def key_column(index: int) -> str:
    """The name of a key in a grouping's slices and answers."""
    return f"k{index}"


def grouped(grouping: Grouping, by: str, columns: dict[str, str]) -> SqlText:
    """`SELECT keys, columns ... GROUP BY keys, by` over the grouping's relation and filter.

    The user's expressions keep the scope in which they were written, and are evaluated where Spark
    would: an argument under a FILTER is not computed for rows that the filter leaves out.
    """
    keys = {key_column(index): key for index, key in enumerate(grouping.keys)}
    groups = f" GROUP BY {', '.join([*grouping.keys, by])}"
    return selected(grouping, {**keys, **columns}).inside("", groups)


def answer_types(
    grouping: Grouping, aggregates: Sequence[Aggregate], relations: Relations
) -> tuple[tuple[StructField, ...], DataType, dict[Aggregate, DataType]]:
    """Returns Spark's types of a grouping's keys, its time and some aggregates, in one analysis.

    No column gets a name here: the user's expressions must be resolved among the events' columns.
    """
    window = f"window({grouping.time}, '1 second')"
    columns = ", ".join([*grouping.keys, window, *(aggregate.to_sql() for aggregate in aggregates)])
    where = f" WHERE {grouping.where}" if grouping.where else ""
    text = grouping.relation.inside(
        f"SELECT {columns} FROM ", f"{where} GROUP BY {', '.join([*grouping.keys, window])}"
    )
    fields = relations.sql(text).schema.fields
    count = len(grouping.keys)
    bounds = fields[count].dataType
    assert isinstance(bounds, StructType)
    types = (field.dataType for field in fields[count + 1 :])
    return (
        tuple(fields[:count]),
        bounds["start"].dataType,
        dict(zip(aggregates, types, strict=True)),
    )


def selected(grouping: Grouping, columns: dict[str, str]) -> SqlText:
    """`SELECT columns` over the grouping's relation and filter: its events one by one."""
    items = [f"{sql} AS {name}" for name, sql in columns.items()]
    conditions = [
        f"({grouping.time}) IS NOT NULL",
        *([f"({grouping.where})"] if grouping.where else []),
    ]
    return grouping.relation.inside(
        f"SELECT {', '.join(items)} FROM ", f" WHERE {' AND '.join(reversed(conditions))}"
    )


def call(function: str, component: Component) -> str:
    """An aggregate function of a component's argument, under its filter."""
    only = "" if component.where is None else f" FILTER (WHERE {component.where})"
    return f"{function}({', '.join(component.arguments)}){only}"
