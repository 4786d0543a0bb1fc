"""Trees of a stream that are bound to its types: what they need of events, and how they run."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import AtomicType, DataType, TimestampType

from muntin.aggregates.aggregate import Aggregate, Component
from muntin.aggregates.representations import INTEGER
from muntin.aggregates.user_aggregate import AbsentAggregate, UserAggregate, function_name
from muntin.errors import RunError
from muntin.model.data_windows import Absent, Custom
from muntin.model.plan import Plan
from muntin.model.query import Query
from muntin.runtime.data_windows.custom_windows import save
from muntin.runtime.data_windows.read_records import RecordLayout
from muntin.runtime.state.data_tree import DataStreamTree
from muntin.runtime.state.stream_tree import START, StreamTree
from muntin.runtime.storage.layout import Layout
from muntin.runtime.storage.table import component_storage
from muntin.runtime.stream_plan.stored_data_tree import StoredDataTree
from muntin.runtime.stream_plan.stored_periodic_tree import StoredPeriodicTree
from muntin.runtime.stream_plan.stored_tree import Needs, StoredTree
from muntin.runtime.stream_plan.stream_plan import StreamPlan
from muntin.runtime.stream_plan.value_types import ValueTypes, read_by
from muntin.spark.binding.bound_tree import (
    BoundDataTree,
    BoundPeriodicTree,
    BoundTree,
    value_type_of,
)
from muntin.spark.binding.grouping_sql import select_events, time_to_micros
from muntin.spark.binding.relations import Relations
from muntin.spark.binding.runtime_types import can_be_key, is_compiled, is_order_known
from muntin.spark.binding.slicer_columns import layout_of_records, record_columns
from muntin.spark.stream.key_codes import key_code
from muntin.sql_text import SqlText


@dataclass(frozen=True, kw_only=True)
class BoundStreamTree(ABC):
    """A tree that is bound to the types of a stream, and what it needs columns for."""

    bound: BoundTree
    needs: Needs
    # The columns of records as Spark SQL, by the names that windows know, and their types.
    columns: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, DataType] = field(default_factory=dict)

    @abstractmethod
    def at_run_time(self, stored: StoredTree, running: StreamPlan) -> StreamTree:
        """Returns the tree as the operator runs it, with the columns that a checkpoint stores."""

    def record_columns(self, stored: StoredTree) -> Iterable[tuple[str, DataType]]:
        """Returns what a record carries, once each, in the order of the stored columns: the Spark
        SQL and its type."""
        return ()


@dataclass(frozen=True, kw_only=True)
class _BoundPeriodic(BoundStreamTree):
    bound: BoundPeriodicTree

    def at_run_time(self, stored: StoredTree, running: StreamPlan) -> StreamTree:
        assert isinstance(stored, StoredPeriodicTree)
        return stored.at_run_time(ansi=running.ansi, retain=running.retain)


@dataclass(frozen=True, kw_only=True)
class _BoundData(BoundStreamTree):
    bound: BoundDataTree
    layout: RecordLayout

    def record_columns(self, stored: StoredTree) -> Iterable[tuple[str, DataType]]:
        assert isinstance(stored, StoredDataTree)
        types = {sql: self.types[name] for name, sql in self.columns.items()}
        return [(sql, types[sql]) for sql in stored.columns]

    def at_run_time(self, stored: StoredTree, running: StreamPlan) -> StreamTree:
        assert isinstance(stored, StoredDataTree)
        if stored.tree.grain is not None:
            return self._of_grains(stored, ansi=running.ansi)
        layout = replace(self.layout.layout, key_columns=stored.key_columns, start=START)
        return DataStreamTree(
            number=stored.number,
            tree=stored.tree,
            record_layout=replace(self.layout, layout=layout),
            # In the order of the stored columns, in which they arrive.
            columns={
                name: (column, _arrow(self.types[name]))
                for sql, column in stored.columns.items()
                for name in self.columns
                if self.columns[name] == sql
            },
            since=stored.since,
            joined=stored.joined,
        )

    def _of_grains(self, stored: StoredDataTree, *, ansi: bool) -> StreamTree:
        entries = {
            each.component: component_storage(
                each.component, value_type=each.number, name=each.name, ansi=ansi
            )
            for each in stored.components
        }
        first, last, *_ = self.needs.numbers
        layout = Layout(
            key_columns=stored.key_columns,
            start=entries[first].columns[0],
            storages=tuple(entries[entry.component] for entry in self.layout.layout.storages),
        )
        return DataStreamTree(
            number=stored.number,
            tree=stored.tree,
            record_layout=RecordLayout(layout=layout, last=entries[last].columns[0]),
            grains=replace(layout, start=START, storages=tuple(entries.values())),
            since=stored.since,
            joined=stored.joined,
        )


def bind_stream_tree(bound: BoundTree, plan: Plan, relations: Relations) -> BoundStreamTree:
    """Returns a tree with what it needs columns for; an error names the query that cannot be
    streamed."""
    queries = plan.queries_of(bound.tree)
    try:
        keys = tuple(key_code(field.dataType).kind for field in bound.keys)
    except RunError as error:
        first = next(iter(queries.values()))
        raise RunError(f"query {first.whole_query.name!r}: {error}") from None
    if isinstance(bound, BoundDataTree):
        return _bind_data(bound, keys, relations)
    assert isinstance(bound, BoundPeriodicTree)
    return _bind_periodic(bound, keys, queries.values(), relations)


def _bind_periodic(
    bound: BoundPeriodicTree,
    keys: tuple[str, ...],
    queries: Iterable[Query],
    relations: Relations,
) -> BoundStreamTree:
    relation = bound.tree.grouping.relation
    for query in queries:
        for aggregate in query.aggregates.values():
            # A batch also needs keys that Python takes as they are; here they are encoded.
            if not is_compiled(aggregate, bound.types) or not is_order_known(
                aggregate, relation, relations
            ):
                raise RunError(
                    f"query {query.whole_query.name!r} cannot be streamed: {aggregate} is "
                    f"{bound.types[aggregate].simpleString()}; streams take aggregates of numbers "
                    f"and booleans, sums of decimals of up to 27 digits, and least and greatest "
                    f"decimals, strings without a collation, binary, dates, timestamps and "
                    f"intervals of days and seconds"
                )
    numbers = {
        component: value_type_of(component, aggregate, bound.types)
        for aggregate in bound.tree.aggregates
        for component in aggregate.components
    }
    return _BoundPeriodic(bound=bound, needs=Needs(keys=keys, numbers=numbers))


def _bind_data(
    bound: BoundDataTree, keys: tuple[str, ...], relations: Relations
) -> BoundStreamTree:
    layout = layout_of_records(bound, relations)
    if bound.tree.grain is not None:
        numbers = _of_grains(bound, layout)
        needs = Needs(keys=keys, numbers=numbers)
        return _BoundData(bound=bound, layout=RecordLayout(layout=layout), needs=needs)
    columns, record_layout = record_columns(bound, relations, layout)
    schema = relations.sql(select_events(bound.tree.grouping, columns or {START: "1"})).schema
    types = {column: schema[column].dataType for column in columns}
    counted = _counted_columns(bound, record_layout)
    for column, kind in types.items():
        if not can_be_key(kind) or not (isinstance(kind, AtomicType) or column in counted):
            raise RunError(
                f"query {bound.tree.queries[0]!r} cannot be streamed: {columns[column]} is "
                f"{kind.simpleString()}; data windows of a stream see numbers, booleans, strings "
                f"without a collation, binary, dates and timestamps"
            )
    kinds = {columns[column]: key_code(kind).kind for column, kind in types.items()}
    return _BoundData(
        bound=bound,
        layout=record_layout,
        columns=columns,
        types=types,
        needs=Needs(keys=keys, numbers={}, columns=kinds),
    )


def _counted_columns(bound: BoundDataTree, layout: RecordLayout) -> set[str]:
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
    time = time_to_micros(bound.tree.grouping.time, bound.time_type)
    first, last = Component(kind="min", argument=time), Component(kind="max", argument=time)
    return {
        first: INTEGER,
        last: INTEGER,
        **{entry.component: entry.value_type for entry in layout.storages},
    }


def _arrow(kind: DataType) -> pa.DataType:
    """Returns the type of what a user's class is given, as in batch; of nested values, text."""
    if not isinstance(kind, AtomicType):
        return pa.string()
    return pa.timestamp("us", "UTC") if isinstance(kind, TimestampType) else to_arrow_type(kind)


def value_types(
    queries: Sequence[Query],
    trees: Sequence[BoundStreamTree],
    relations: Relations,
) -> ValueTypes:
    """Returns the types of times, keys, arguments and the columns of records, by their Spark SQL.

    Arguments take one analysis of Spark's for each relation; the other types are known. Where text
    means something else in a join, the type is that of the stream: so a join that is added makes no
    other query of one over the stream.
    """
    found: dict[SqlText, dict[str, str]] = {}
    for tree in trees:
        types = found.setdefault(tree.bound.tree.grouping.relation, {})
        for name, sql in tree.columns.items():
            types[sql] = tree.types[name].simpleString()
    for tree in trees:
        grouping = tree.bound.tree.grouping
        types = found.setdefault(grouping.relation, {})
        types[grouping.time] = tree.bound.time_type.simpleString()
        for key, column in zip(grouping.keys, tree.bound.keys, strict=True):
            types[key] = column.dataType.simpleString()
    others: dict[SqlText, dict[str, None]] = {}
    for query in queries:
        more = sorted(read_by(query) - found.get(query.source, {}).keys())
        others.setdefault(query.source, {}).update(dict.fromkeys(more))
    for relation, read in others.items():
        if read:
            items = ", ".join(f"({sql})" for sql in read)
            schema = relations.sql(relation.surround(f"SELECT {items} FROM ", "")).schema
            types = found.setdefault(relation, {})
            for sql, column in zip(read, schema.fields, strict=True):
                types[sql] = column.dataType.simpleString()
    merged: dict[str, str] = {}
    for relation in sorted(found, key=lambda each: (len(each.tables), str(each)), reverse=True):
        merged |= found[relation]
    return merged


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
