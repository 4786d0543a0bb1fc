"""Cuts events into partials per (keys, slice): Spark SQL that the JVM compiles, no Python."""

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, DoubleType, FloatType

from muntin.model.aggregates.aggregate import Aggregate, Component
from muntin.model.aggregates.monoids import ADD_WIDE
from muntin.model.aggregates.table import FLOAT, INTEGER
from muntin.model.plan import Tree
from muntin.model.query import Grouping
from muntin.runtime.columns.layout import Kept, Layout, kept
from muntin.spark.binding.grouping_sql import call, grouped, key_column
from muntin.spark.binding.instants import micros, slice_start
from muntin.spark.binding.relations import Relations

START = "start"
# Added to the turns of a sum that overflowed inside one slice: more than other turns can undo.
OVERFLOWED = 1 << 32


@dataclass(frozen=True, kw_only=True)
class Slices:
    """A tree's partials as a DataFrame: `k0...`, `start`, and the columns of each component.

    `names` has the column of every component (the stem of its columns where it has several);
    `layout` describes those that the compiled runtime takes.
    """

    frame: DataFrame
    layout: Layout
    names: dict[Component, str]


def slice_events(
    tree: Tree,
    relations: Relations,
    *,
    time_type: DataType,
    types: dict[Aggregate, DataType],
    numeric: set[Aggregate],
    ansi: bool,
    grouping: Grouping,
    part: str | None = None,
) -> Slices:
    """Cut a grouping's events into partials; `numeric` aggregates are laid out for the runtime.

    With `ansi`, integer sums detect overflow, as Spark's do under ANSI. `grouping` has the tree's
    events; with `part`, a column of theirs, slices are cut for each part.
    """
    names: dict[Component, str] = {}
    layout: dict[Component, Kept] = {}
    for aggregate in tree.aggregates:
        for component in aggregate.components:
            name = names.setdefault(component, f"c{len(names)}")
            if aggregate in numeric:
                number = number_of(component, types[aggregate])
                layout[component] = kept(component, number=number, name=name, ansi=ansi)
    start = slice_start(tree.slicing, micros(tree.grouping.time, time_type))
    lifted = {START: start} if part is None else {START: start, part: part}
    for component, name in names.items():
        lifted.update(lift(component, name, layout.get(component)))
    keys = tuple(key_column(index) for index in range(len(tree.grouping.keys)))
    return Slices(
        frame=relations.sql(
            grouped(grouping, start if part is None else f"{part}, {start}", lifted)
        ),
        layout=Layout(key_columns=keys, start=START, kept=tuple(layout.values())),
        names=names,
    )


def present_column(name: str) -> str:
    """The column that counts a sum's values: a sum may also be null because it overflowed."""
    return f"{name}_n"


def number_of(component: Component, kind: DataType) -> str:
    """Whether a component of an aggregate of Spark's type `kind` is kept as integers or floats."""
    if component.storage is not None:
        return component.storage
    return FLOAT if isinstance(kind, FloatType | DoubleType) else INTEGER


def lift(component: Component, name: str, keep: Kept | None) -> dict[str, str]:
    """Returns the columns that a slice keeps of a component, as aggregate calls by name.

    For the runtime all integers (and booleans) are one type, and all floats are one.
    """
    if component.kind == "sum" and (keep is None or keep.monoid == ADD_WIDE):
        return _lift_sum(component, name, is_wide=keep is not None)
    scalars = component.lifted()
    if len(scalars) > 1:
        return {f"{name}_{index}": sql for index, sql in enumerate(scalars.values())}
    (value,) = scalars.values()
    if keep is not None and component.storage is None:
        value = f"CAST({value} AS {'BIGINT' if keep.number == INTEGER else 'DOUBLE'})"
    return {name: value}


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
