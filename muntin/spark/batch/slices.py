"""Writes what slices keep of their events, as Spark SQL: aggregate calls, or their arguments."""

from dataclasses import dataclass

from pyspark.sql import DataFrame

from muntin.aggregates.aggregate import Component
from muntin.runtime.storage.layout import Layout

START = "start"


@dataclass(frozen=True, kw_only=True)
class Slices:
    """Partials of a tree as a DataFrame: its keys, `start`, and the columns of each component.

    `names` has the column of every component (the stem of its columns where it has several);
    `layout` describes those that the compiled runtime takes. The rows may have more keys and finer
    slices than the tree.
    """

    # The rows of all trees of the pass; those for which `condition` holds belong to this tree.
    rows: DataFrame
    condition: str | None
    layout: Layout
    names: dict[Component, str]

    @property
    def frame(self) -> DataFrame:
        """The rows of this tree; Spark analyses them anew with every call."""
        return self.rows if self.condition is None else self.rows.where(self.condition)


def present_column(name: str) -> str:
    """The column that counts a sum's values: a sum may also be null because it overflowed."""
    return f"{name}_n"


def native_columns(component: Component, name: str) -> dict[str, str]:
    """Returns the columns that a slice keeps of a component for Spark's own combine, as aggregate
    calls by name."""
    scalars = component.partial_sql()
    if component.kind == "sum":
        return {name: component.call("sum"), present_column(name): component.call("count")}
    if len(scalars) > 1:
        return {f"{name}_{index}": sql for index, sql in enumerate(scalars.values())}
    (value,) = scalars.values()
    return {name: value}
