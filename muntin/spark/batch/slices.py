"""Writes what slices keep of their events, as Spark SQL: aggregate calls, or their arguments."""

from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    BooleanType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
)

from muntin.model.aggregates.aggregate import Aggregate, Component
from muntin.model.aggregates.monoids import ADD_WIDE
from muntin.model.aggregates.parts import FLOAT, INTEGER, is_typed
from muntin.model.aggregates.user_aggregate import UserComponent
from muntin.model.sql_text import only_where
from muntin.runtime.columns.layout import Kept, Layout
from muntin.spark.binding.grouping_sql import Types, call

START = "start"
# Added to the turns of a sum that overflowed inside one slice: more than other turns can undo.
OVERFLOWED = 1 << 32
# The types in which sets of numbers are handed over, by how they are kept: by a storage, or by the
# name of their type.
_WIDE_TYPES = {
    **dict.fromkeys((INTEGER, "tinyint", "smallint", "int", "bigint"), "BIGINT"),
    **dict.fromkeys((FLOAT, "float", "double"), "DOUBLE"),
}


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


def number_of(component: Component, aggregate: Aggregate, types: Types) -> str:
    """Returns how a component of an aggregate is kept: as integers, as floats, or as a column of
    the type of its values."""
    if component.storage is not None:
        return component.storage
    kind = types[component if component.part.is_of_entries else aggregate]
    if component.part.names_types:
        return kind.simpleString()
    if component.part.has_doubles and isinstance(kind, DecimalType):
        # Spark's percentiles are doubles. So few digits are told apart as doubles, too.
        return FLOAT
    if component.part.is_chosen:
        # Spark's name of the type would be that of the storage of floats.
        return "real" if isinstance(kind, FloatType) else kind.simpleString()
    if isinstance(kind, FloatType | DoubleType):
        return FLOAT
    return INTEGER if isinstance(kind, IntegralType | BooleanType) else kind.simpleString()


def sql_type(storage: str) -> str:
    """Returns the type of a storage in Spark SQL."""
    if is_typed(storage):
        return storage
    return "BIGINT" if storage == INTEGER else "DOUBLE"


def lift(component: Component, name: str, keep: Kept | None) -> dict[str, str]:
    """Returns the columns that a slice keeps of a component, as aggregate calls by name.

    For the runtime all integers (and booleans) are one type, and all floats are one; any other
    type is its own.
    """
    if component.kind == "sum" and (keep is None or keep.monoid == ADD_WIDE):
        return _lift_sum(component, name, is_wide=keep is not None)
    if component.kind == "sum" and keep is not None and keep.number == FLOAT:
        # A mean sums the same values.
        component = replace(component, kind="float_sum")
    scalars = component.lifted()
    if len(scalars) > 1:
        return {f"{name}_{index}": sql for index, sql in enumerate(scalars.values())}
    (value,) = scalars.values()
    if keep is not None and component.storage is None and not component.part.is_chosen:
        value = f"CAST({value} AS {sql_type(keep.number)})"
    return {name: value}


def arguments_of(entry: Kept) -> tuple[str, ...]:
    """Returns what a component is lifted from, as Spark SQL; nothing if it counts every row."""
    component = entry.component
    if isinstance(component, UserComponent):
        return tuple(f"CAST(({sql}) AS DOUBLE)" for sql in component.lift)
    if component.argument is None and component.where is None:
        return ()
    if entry.is_of_entries:
        value = component.entry
        wide = _WIDE_TYPES.get(entry.number)
        values = [value if wide is None else f"CAST({value} AS {wide})"]
    elif not component.part.is_of_values:
        values = [f"IF(({value}) IS NULL, NULL, 1L)" for value in component.values().values()]
    elif component.part.reads is not None:
        values = [component.part.reads.format(**dict(zip("xy", component.arguments, strict=False)))]
    elif component.kind == "count_if":
        values = [f"IF({component.arguments[0]}, 1L, 0L)"]
    else:
        values = list(component.values(sql_type(entry.number)).values())
    if component.where is not None:
        values = [only_where(component.where, value) for value in values]
    return tuple(values)


def carried_by_records(entry: Kept) -> tuple[str, ...]:
    """Returns what records carry for a component, as Spark SQL: what it is lifted from. A value
    that another one chooses is beside that one, since records of a stream carry no structs."""
    component = entry.component
    if isinstance(component, UserComponent) or not component.part.is_chosen:
        return arguments_of(entry)
    value, by = component.arguments
    if component.where is None:
        return by, value
    return only_where(component.where, by), only_where(component.where, value)


def _lift_sum(component: Component, name: str, *, is_wide: bool) -> dict[str, str]:
    """Returns a sum that may overflow: two words for the runtime, or Spark's sum and a count."""
    count = call("count", component)
    if not is_wide:
        return {name: call("sum", component), present_column(name): count}
    # An overflow is an error of the queries that ask for this sum, not of all in the tree.
    total = call("try_sum", component)
    lost = f"CASE WHEN {total} IS NULL AND {count} > 0 THEN {OVERFLOWED}L ELSE 0L END"
    # Null means that there was no value; a sum that overflowed had some.
    word = f"coalesce({total}, CASE WHEN {count} > 0 THEN 0L END)"
    return {f"{name}_0": word, f"{name}_1": lost}
