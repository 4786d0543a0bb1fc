"""Combines slices into windows in Spark SQL, for types that the compiled runtime does not take."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr
from pyspark.sql.types import DataType

from muntin.aggregates.aggregate import Aggregate, Component
from muntin.aggregates.table import VALUE
from muntin.model.trees import Node
from muntin.runtime.periodic.tree import BEGIN
from muntin.spark.binding.bound_tree import Types
from muntin.spark.binding.grouping_sql import START
from muntin.spark.binding.runtime_types import NUMERIC


@dataclass(frozen=True, kw_only=True)
class PartialColumns:
    """The columns of a tree's partials in the rows of a pass.

    The rows may have more keys and finer slices than the tree.
    """

    # SQL that is true for the rows of this tree; None if all rows are.
    condition: str | None
    key_columns: tuple[str, ...]
    # The column of every component, or the stem of its columns if it has several.
    names: dict[Component, str]


def native_columns(component: Component, name: str) -> dict[str, str]:
    """Returns the aggregate calls that make the partials of a component that Spark combines, by
    column."""
    scalars = component.partial_sql()
    if component.kind == "sum":
        return {name: component.call("sum"), _count_column(name): component.call("count")}
    if len(scalars) > 1:
        return {f"{name}_{index}": sql for index, sql in enumerate(scalars.values())}
    (value,) = scalars.values()
    return {name: value}


def _count_column(name: str) -> str:
    """Returns the column that counts a sum's values: a sum may be null because it overflowed."""
    return f"{name}_n"


def combine_natively(
    node: Node, rows: DataFrame, slices: PartialColumns, types: Types
) -> DataFrame:
    """Returns one node's answers: keys, `begin`, and a column `a0...` for each aggregate.

    Spark copies each slice into the windows that hold it, as it would copy events without muntin.
    """
    window = node.window
    last = f"{START} - pmod({START} - {window.offset}L, {window.slide}L)"
    if window.is_tumbling:
        begins = last
    else:
        # The first begin after `start - size`, which is never after the last one.
        since = f"{START} - {window.size}L"
        first = f"{since} + 1L + pmod({window.offset}L - ({since}) - 1L, {window.slide}L)"
        if window.grows:
            last = f"{START} - pmod({START} - {window.offset}L, {window.size}L)"
        begins = f"explode(sequence({first}, {last}, {window.slide}L))"
    columns = rows.columns
    answers = [
        f"{_aggregate_sql(aggregate, slices, types[aggregate], columns)} AS a{index}"
        for index, aggregate in enumerate(node.aggregates)
    ]
    own = rows if slices.condition is None else rows.where(slices.condition)
    return (
        own.selectExpr("*", f"{begins} AS {BEGIN}")
        .groupBy(*slices.key_columns, BEGIN)
        .agg(*(expr(answer) for answer in answers))
    )


def _aggregate_sql(
    aggregate: Aggregate, slices: PartialColumns, kind: DataType, columns: Sequence[str]
) -> str:
    """Returns Spark SQL that combines an aggregate's partials and lowers the result."""
    components = aggregate.components
    names = [slices.names[component] for component in components]
    if components[0].kind == "sum":
        return _sum_of_sums(names[0], kind, columns)
    if components[0].part.spark_combine is None:
        (component,) = components
        fields = list(component.part.scalars)
        places = ", ".join(f"'{field}', {names[0]}_{index}" for index, field in enumerate(fields))
        answer = aggregate.answer_sql([f"a.{field}" for field in fields])
        return component.combine_sql(f"named_struct({places})", finish=answer)
    pairs = zip(components, names, strict=True)
    answer = aggregate.answer_sql([component.combine_sql(name) for component, name in pairs])
    # Slices that the runtime reads, too, have a wider type.
    is_narrow = aggregate.definition.result == VALUE and isinstance(kind, NUMERIC)
    return f"CAST({answer} AS {kind.simpleString()})" if is_narrow else answer


def _sum_of_sums(name: str, kind: DataType, columns: Sequence[str]) -> str:
    """Returns SQL for a sum of sums, which overflows if one of them did."""
    if f"{name}_1" in columns:
        # The second is zero unless a sum overflowed; then this overflows, with Spark's own error.
        return f"sum({name}_0) + sum({name}_1) * 9223372036854775807L"
    total = f"CAST(sum({name}) AS {kind.simpleString()})"
    counted = _count_column(name)
    if counted not in columns:
        return total
    # A sum that is null although it has values has overflowed, and so has the window.
    lost = f"bool_or({name} IS NULL AND {counted} > 0)"
    return f"CASE WHEN {lost} THEN NULL ELSE {total} END"
