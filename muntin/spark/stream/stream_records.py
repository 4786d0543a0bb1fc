"""Data windows in a stream: what each event carries as Spark SQL, and their lane at run time."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import AtomicType, DataType, TimestampType

from muntin.errors import RunError
from muntin.model.aggregates.aggregate import Aggregate, Component
from muntin.model.aggregates.representations import INTEGER
from muntin.model.aggregates.user_aggregate import AbsentAggregate, UserAggregate, function_name
from muntin.model.plan import Plan
from muntin.model.query import Query
from muntin.model.windows.data_windows import Absent, Custom
from muntin.runtime.record_steps.custom_state import save
from muntin.runtime.records.read_records import RecordLayout
from muntin.runtime.state.lane import START
from muntin.runtime.state.record_lane import RecordLane, RecordNeeds, RunningRecords
from muntin.runtime.storage.layout import Layout
from muntin.runtime.storage.table import component_storage
from muntin.spark.batch.records import layout_of, looked_at
from muntin.spark.binding.bind_data_windows import BoundDataTree
from muntin.spark.binding.grouping_sql import selected
from muntin.spark.binding.instants import micros
from muntin.spark.binding.relations import Relations, is_ansi
from muntin.spark.binding.runtime_types import is_carried
from muntin.spark.stream.key_codes import key_code


@dataclass(frozen=True, kw_only=True)
class BoundRecords:
    """A tree of data windows on a stream: what its records carry, and of which types."""

    bound: BoundDataTree
    layout: RecordLayout
    # The columns of records as Spark SQL, and their types; grains have none.
    columns: Mapping[str, str]
    types: Mapping[str, DataType]
    needs: RecordNeeds

    def carried(self, order: Iterable[str]) -> list[tuple[str, DataType]]:
        """What a record carries, once each, in an order of the Spark SQL: that and the type."""
        types = {sql: self.types[name] for name, sql in self.columns.items()}
        return [(sql, types[sql]) for sql in order]


def check_classes(plan: Plan) -> None:
    """Refuse users' classes and functions that could not be kept between two batches."""
    own: dict[str, UserAggregate] = {}
    for query in plan.queries:
        if not isinstance(query, Query):
            continue
        for aggregate in query.aggregates.values():
            _check_aggregate(query, aggregate, own)
        window = query.window
        if isinstance(window, Absent):
            raise RunError(f"query {query.name!r} was made with the class {window.name}; give it")
        if isinstance(window, Custom):
            if window.full_name is None:
                raise RunError(
                    f"query {query.name!r} cannot be streamed: {window} has no name to be known by "
                    f"after a restart; give a class, or a function with a name"
                )
            try:
                save(window.make(), window)
            except RunError as error:
                raise RunError(f"query {query.name!r} cannot be streamed: {error}") from None


def _check_aggregate(query: Query, aggregate: Aggregate, own: dict[str, UserAggregate]) -> None:
    """Refuse users' functions that are missing, or share a name with others."""
    if isinstance(aggregate, AbsentAggregate):
        raise RunError(f"query {query.name!r} was made with {aggregate.combine}; give it")
    if isinstance(aggregate, UserAggregate):
        name = f"{aggregate.argument} {function_name(aggregate.monoid.combine)}"
        known = own.setdefault(name, aggregate)
        if (known.components, known.lower) != (aggregate.components, aggregate.lower):
            raise RunError(
                f"query {query.name!r} cannot be streamed: two different aggregates are known by "
                f"{name}; give their functions names of their own"
            )


def bind_records(bound: BoundDataTree, relations: Relations) -> BoundRecords:
    """Find out what the records of a tree carry, or say why that cannot be streamed."""
    layout = layout_of(bound.tree, bound.types, ansi=is_ansi(relations.session))
    name = bound.tree.nodes[0].queries[0]
    try:
        keys = tuple(key_code(field.dataType).kind for field in bound.keys)
    except RunError as error:
        raise RunError(f"query {name!r}: {error}") from None
    if bound.tree.grain is not None:
        return BoundRecords(
            bound=bound,
            layout=RecordLayout(layout=layout),
            columns={},
            types={},
            needs=RecordNeeds(keys=keys, columns={}, numbers=_of_grains(bound, layout)),
        )
    columns, record_layout = looked_at(bound, relations, layout)
    schema = relations.sql(selected(bound.tree.grouping, columns or {START: "1"})).schema
    types = {column: schema[column].dataType for column in columns}
    counted = _only_counted(bound, record_layout)
    for column, kind in types.items():
        if not is_carried(kind) or not (isinstance(kind, AtomicType) or column in counted):
            raise RunError(
                f"query {name!r} cannot be streamed: {columns[column]} is {kind.simpleString()}; "
                f"data windows of a stream see numbers, booleans, strings without a collation, "
                f"binary, dates and timestamps"
            )
    kinds = {columns[column]: key_code(kind).kind for column, kind in types.items()}
    return BoundRecords(
        bound=bound,
        layout=record_layout,
        columns=columns,
        types=types,
        needs=RecordNeeds(keys=keys, columns=kinds, numbers={}),
    )


def _only_counted(bound: BoundDataTree, layout: RecordLayout) -> set[str]:
    """Returns the columns of values that are counted, so that it is enough to tell them apart."""
    assert layout.values is not None
    others = set(layout.columns.values())
    counted: set[str] = set()
    for aggregate in bound.tree.aggregates:
        is_count = aggregate.definition.summary == "count"
        for component in aggregate.components:
            (counted if is_count else others).update(layout.values[component])
    return counted - others


def _of_grains(bound: BoundDataTree, layout: Layout) -> dict[Component, str]:
    """Returns what a grain has: its first and its last instant, and the partials of its events."""
    time = micros(bound.tree.grouping.time, bound.time_type)
    first, last = Component(kind="min", argument=time), Component(kind="max", argument=time)
    return {
        first: INTEGER,
        last: INTEGER,
        **{storage.component: storage.value_type for storage in layout.storages},
    }


def record_lane(lane: RunningRecords, records: BoundRecords, *, ansi: bool) -> RecordLane:
    """Returns the lane as the operator runs it."""
    if lane.tree.grain is None:
        return RecordLane(
            number=lane.number,
            tree=lane.tree,
            layout=replace(
                records.layout,
                layout=replace(records.layout.layout, key_columns=lane.key_columns, start=START),
            ),
            # In the order of the lane's columns, in which they arrive.
            columns={
                name: (column, _arrow(records.types[name]))
                for sql, column in lane.columns.items()
                for name in records.columns
                if records.columns[name] == sql
            },
            since=lane.since,
            joined=lane.joined,
        )
    entries = {
        entry.component: component_storage(
            entry.component, value_type=entry.number, name=entry.name, ansi=ansi
        )
        for entry in lane.held
    }
    first, last, *_ = records.needs.numbers
    return RecordLane(
        number=lane.number,
        tree=lane.tree,
        layout=RecordLayout(
            layout=Layout(
                key_columns=lane.key_columns,
                start=entries[first].columns[0],
                storages=tuple(
                    entries[entry.component] for entry in records.layout.layout.storages
                ),
            ),
            last=entries[last].columns[0],
        ),
        grains=Layout(key_columns=lane.key_columns, start=START, storages=tuple(entries.values())),
        since=lane.since,
        joined=lane.joined,
    )


def _arrow(kind: DataType) -> pa.DataType:
    """Returns the type of what a user's class is given, as in batch; of nested values, text."""
    if not isinstance(kind, AtomicType):
        return pa.string()
    return pa.timestamp("us", "UTC") if isinstance(kind, TimestampType) else to_arrow_type(kind)
