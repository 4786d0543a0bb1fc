"""Writes the SQL over a family's relation: its events, or its events grouped by its keys."""

from collections.abc import Sequence

from pyspark.sql.types import DataType, StructField, StructType

from muntin.model.aggregates.aggregate import Aggregate, Component
from muntin.model.query import Family
from muntin.model.sql_text import SqlText
from muntin.spark.binding.relations import Relations


def key_column(index: int) -> str:
    """The name of a key in a family's slices and answers."""
    return f"k{index}"


def grouped(family: Family, by: str, columns: dict[str, str]) -> SqlText:
    """`SELECT keys, columns ... GROUP BY keys, by` over the family's relation and filter.

    The user's expressions keep the scope in which they were written, and are evaluated where Spark
    would: an argument under a FILTER is not computed for rows that the filter leaves out.
    """
    keys = {key_column(index): key for index, key in enumerate(family.keys)}
    groups = f" GROUP BY {', '.join([*family.keys, by])}"
    return selected(family, {**keys, **columns}).inside("", groups)


def answer_types(
    family: Family, aggregates: Sequence[Aggregate], relations: Relations
) -> tuple[tuple[StructField, ...], DataType, dict[Aggregate, DataType]]:
    """Returns Spark's types of a family's keys, its time and some aggregates, in one analysis.

    No column gets a name here: the user's expressions must be resolved among the events' columns.
    """
    window = f"window({family.time}, '1 second')"
    columns = ", ".join([*family.keys, window, *(aggregate.to_sql() for aggregate in aggregates)])
    where = f" WHERE {family.where}" if family.where else ""
    text = family.relation.inside(
        f"SELECT {columns} FROM ", f"{where} GROUP BY {', '.join([*family.keys, window])}"
    )
    fields = relations.sql(text).schema.fields
    count = len(family.keys)
    bounds = fields[count].dataType
    assert isinstance(bounds, StructType)
    types = (field.dataType for field in fields[count + 1 :])
    return (
        tuple(fields[:count]),
        bounds["start"].dataType,
        dict(zip(aggregates, types, strict=True)),
    )


def selected(family: Family, columns: dict[str, str]) -> SqlText:
    """`SELECT columns` over the family's relation and filter: its events one by one."""
    items = [f"{sql} AS {name}" for name, sql in columns.items()]
    conditions = [f"({family.time}) IS NOT NULL", *([f"({family.where})"] if family.where else [])]
    return family.relation.inside(
        f"SELECT {', '.join(items)} FROM ", f" WHERE {' AND '.join(reversed(conditions))}"
    )


def call(function: str, component: Component) -> str:
    """An aggregate function of a component's argument, under its filter."""
    only = "" if component.where is None else f" FILTER (WHERE {component.where})"
    return f"{function}({', '.join(component.arguments)}){only}"
