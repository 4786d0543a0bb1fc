"""Events to partials per (keys, slice): Spark SQL that the JVM compiles, no Python."""

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, DoubleType, FloatType

from muntin.model.aggregate import Aggregate, Component
from muntin.model.plan import Tree
from muntin.runtime.layout import FLOAT, INTEGER, Kept, Layout, kept
from muntin.spark.events import TIME, Events
from muntin.spark.instants import micros, slice_start
from muntin.spark.relations import Relations

START = "start"


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
    numeric: set[Aggregate],
    checked: bool,
) -> Slices:
    """Cut a family's events into partials; `numeric` aggregates are laid out for the runtime.

    `checked` integer sums notice overflow, as Spark's do under ANSI.
    """
    components = list(dict.fromkeys(c for a in tree.aggregates for c in a.components))
    for_runtime = {component for aggregate in numeric for component in aggregate.components}
    events = Events(tree.family, components)
    names = {component: f"c{index}" for index, component in enumerate(components)}
    lifted = [
        f"{call} AS {column}"
        for component in components
        for column, call in _lift(component, names[component], events).items()
    ]
    lifted += [
        f"{events.call('count', component)} AS {present_column(names[component])}"
        for component in components
        if component.kind == "sum" and component not in for_runtime
    ]
    cut = f"{slice_start(tree.slicing, 'm')} AS {START}"
    # The subquery gives the instant a name, so that the cut may mention it more than once.
    frame = relations.sql(
        events.select(f"*, {micros(TIME, time_type)} AS m", f"WHERE {TIME} IS NOT NULL").inside(
            f"SELECT {', '.join([*events.keys, cut, *lifted])} FROM (",
            f") GROUP BY {', '.join([*events.keys, START])}",
        )
    )
    layout = []
    for component in components:
        if component in for_runtime:
            layout.append(_keep(component, names[component], frame, checked=checked))
    return Slices(
        frame=_cast(frame, layout),
        layout=Layout(key_columns=events.keys, start=START, kept=tuple(layout)),
        names=names,
    )


def present_column(name: str) -> str:
    """The column that counts the values behind a sum: it may also be null because it overflowed."""
    return f"{name}_n"


def _keep(component: Component, name: str, frame: DataFrame, *, checked: bool) -> Kept:
    """How the runtime keeps a component: Spark's type decides between integers and floats."""
    is_float = component.kind == "moments" or isinstance(
        frame.schema[name].dataType, FloatType | DoubleType
    )
    return kept(component, number=FLOAT if is_float else INTEGER, name=name, checked=checked)


def _cast(frame: DataFrame, layout: list[Kept]) -> DataFrame:
    """All integers (and booleans) as one type, all floats as one."""
    types = {
        column: "BIGINT" if one.number == INTEGER else "DOUBLE"
        for one in layout
        for column in one.columns
    }
    return frame.selectExpr(
        *(
            f"CAST({name} AS {types[name]}) AS {name}" if name in types else name
            for name in frame.columns
        )
    )


def _lift(component: Component, name: str, events: Events) -> dict[str, str]:
    """Column names to aggregate calls: what a slice keeps of a component."""
    match component.kind:
        case "float_sum":
            return {name: events.call("sum", component, "DOUBLE")}
        case "moments":
            count = events.call("count", component)
            return {
                f"{name}_0": f"CAST({count} AS DOUBLE)",
                f"{name}_1": events.call("avg", component, "DOUBLE"),
                f"{name}_2": f"{events.call('var_pop', component, 'DOUBLE')} * {count}",
            }
        case kind:
            return {name: events.call(kind, component)}
