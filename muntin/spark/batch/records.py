"""Turns events into the records in which data windows are found: Spark SQL, no Python."""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import col, expr, to_json
from pyspark.sql.types import DataType, DoubleType, FloatType, IntegralType, MapType

from muntin.aggregates.aggregate import Component
from muntin.model.trees import DataTree
from muntin.model.windows.data_windows import Custom
from muntin.runtime.data_windows.read_records import RecordLayout
from muntin.runtime.storage.component_storage import ComponentStorage
from muntin.runtime.storage.layout import Layout
from muntin.runtime.storage.table import component_storage
from muntin.spark.batch.slices import START
from muntin.spark.binding.bound_tree import BoundDataTree
from muntin.spark.binding.grouping_sql import Types, grouped, key_column, selected, value_type_of
from muntin.spark.binding.instants import micros
from muntin.spark.binding.relations import Relations
from muntin.sql_text import SqlText

LAST = "last"


@dataclass(frozen=True, kw_only=True)
class OrderedRecords:
    """Records as the runtime reads them: those of a key in one partition, in order of time.

    Records of one time are ordered by all that windows and aggregates look at, so that answers do
    not depend on how the data was stored.
    """

    frame: DataFrame
    layout: RecordLayout


def records_in_order(bound: BoundDataTree, relations: Relations, *, ansi: bool) -> OrderedRecords:
    """Returns a tree's records: one for each event, or one for each key and grain."""
    tree = bound.tree
    layout = layout_of(tree, bound.types, ansi=ansi)
    if tree.grain is not None:
        text, records = _grains(bound, layout, ansi=ansi)
    else:
        text, records = _events(bound, relations, layout)
    keys = layout.key_columns
    frame = relations.sql(text).select(*keys, *records.names)
    placed = frame.repartition(*keys) if keys else frame.repartition(1)
    by = [_sortable(name, frame.schema[name].dataType) for name in records.names]
    return OrderedRecords(frame=placed.sortWithinPartitions(*keys, *by), layout=records.layout)


def _sortable(name: str, kind: DataType) -> Column:
    """Returns what a column is sorted by. A user's class may see a map, which has no order: its
    entries are sorted, and a value with maps inside is sorted as text."""
    if "map<" not in kind.simpleString():
        return col(name)
    if isinstance(kind, MapType) and "map<" not in kind.valueType.simpleString():
        return expr(f"sort_array(map_entries({name}))")
    return to_json(col(name))


@dataclass(frozen=True, kw_only=True)
class _Columns:
    """The names of the columns after the keys, time first, and their layout."""

    names: tuple[str, ...]
    layout: RecordLayout


def layout_of(tree: DataTree, types: Types, *, ansi: bool) -> Layout:
    """Returns the columns of a tree's keys and partials."""
    storages: dict[Component, ComponentStorage] = {}
    for aggregate in tree.aggregates:
        for component in aggregate.components:
            if component not in storages:
                value_type = value_type_of(component, aggregate, types)
                name = f"c{len(storages)}"
                storages[component] = component_storage(
                    component, value_type=value_type, name=name, ansi=ansi
                )
    keys = tuple(key_column(index) for index in range(len(tree.grouping.keys)))
    return Layout(key_columns=keys, start=START, storages=tuple(storages.values()))


def _grains(bound: BoundDataTree, layout: Layout, *, ansi: bool) -> tuple[SqlText, _Columns]:
    """Selects one record for the events of a key within a grain, from the first to the last."""
    grouping = bound.tree.grouping
    time = micros(grouping.time, bound.time_type)
    columns = {START: f"min({time})", LAST: f"max({time})"}
    for storage in layout.storages:
        name = storage.columns[0].split("_")[0]
        columns |= storage.component.group_by_columns(name, storage.value_type, ansi=ansi)
    text = grouped(grouping, f"{time} - pmod({time}, {bound.tree.grain}L)", columns)
    return text, _Columns(names=tuple(columns), layout=RecordLayout(layout=layout, last=LAST))


def _events(bound: BoundDataTree, relations: Relations, layout: Layout) -> tuple[SqlText, _Columns]:
    """Selects every event as a record, with its keys and its time."""
    grouping = bound.tree.grouping
    columns, record_layout = looked_at(bound, relations, layout)
    keys = {
        key_column(index): _plain_zero(key, bound.keys[index].dataType)
        for index, key in enumerate(grouping.keys)
    }
    columns = {START: micros(grouping.time, bound.time_type), **columns}
    text = selected(grouping, {**keys, **columns})
    return text, _Columns(names=tuple(columns), layout=record_layout)


def looked_at(
    bound: BoundDataTree, relations: Relations, layout: Layout
) -> tuple[dict[str, str], RecordLayout]:
    """Returns (columns of each event as Spark SQL, their layout): all that windows look at, and the
    arguments of aggregates."""
    tree = bound.tree
    grouping = tree.grouping
    columns: dict[str, str] = {}
    conditions = {sql: f"b{index}" for index, sql in enumerate(tree.conditions)}
    measures = {sql: f"m{index}" for index, sql in enumerate(tree.measures)}
    customs = [kind for kind in tree.data_windows if isinstance(kind, Custom)]
    seen = dict.fromkeys(sql for kind in customs for _, sql in kind.columns)
    others = {sql: f"u{index}" for index, sql in enumerate(seen)}
    columns.update(
        {name: f"coalesce(CAST({sql} AS BOOLEAN), false)" for sql, name in conditions.items()}
    )
    columns.update({name: f"({sql})" for sql, name in (*measures.items(), *others.items())})
    types = relations.sql(selected(grouping, columns or {START: "1"})).schema
    for sql, name in measures.items():
        number = "BIGINT" if isinstance(types[name].dataType, IntegralType) else "DOUBLE"
        columns[name] = f"CAST({sql} AS {number})"
    values: dict[Component, tuple[str, ...]] = {}
    lifted: dict[str, str] = {}
    for storage in layout.storages:
        component = storage.component
        values[component] = tuple(
            lifted.setdefault(value, f"v{len(lifted)}")
            for value in component.record_values(storage.value_type)
        )
    columns.update({name: sql for sql, name in lifted.items()})
    return columns, RecordLayout(
        layout=layout,
        conditions=conditions,
        measures=measures,
        columns=others,
        values=values,
    )


def _plain_zero(key: str, kind: DataType) -> str:
    """Returns a key to distribute rows by, with -0.0 as 0.0: to Spark they are one key."""
    if isinstance(kind, FloatType | DoubleType):
        return f"IF(({key}) = 0, CAST(0 AS {kind.simpleString()}), {key})"
    return key
