"""Columns that the slicer and data windows read of each event: arguments, filters as bits."""

from collections.abc import Iterable
from functools import cached_property

from pyspark.sql.types import DoubleType, FloatType, IntegralType, NumericType

from muntin.aggregates.aggregate import Component
from muntin.aggregates.representations import FLOAT, sql_type
from muntin.model.data_windows import Custom
from muntin.model.trees import Tree
from muntin.runtime.data_windows.read_records import RecordLayout
from muntin.runtime.storage.component_storage import ComponentStorage
from muntin.runtime.storage.layout import Layout
from muntin.runtime.storage.table import component_storage
from muntin.spark.binding.bound_tree import BoundDataTree, BoundPeriodicTree, Types, value_type_of
from muntin.spark.binding.grouping_sql import START, key_column, select_events
from muntin.spark.binding.relations import Relations, is_ansi
from muntin.sql.filters import conjuncts, is_reference, is_simple
from muntin.sql_text import SqlText

# How many conditions have their bits in one integer; the sign bit is not used.
_BITS = 63


class SafeExpressions:
    """Finds out which expressions over one relation fail for no row."""

    def __init__(
        self, relation: SqlText, relations: Relations, filters: Iterable[str | None]
    ) -> None:
        """`filters` are those of all trees over the relation."""
        self._relation, self._relations = relation, relations
        self._filters = [where for where in filters if where is not None]
        self._numbers: dict[str, NumericType | None] = {}

    @cached_property
    def _conditions(self) -> dict[str, bool]:
        """Whether conditions are safe, as far as they were looked at.

        The simple conditions of all filters are looked at first, in one analysis.
        """
        simple = dict.fromkeys(
            condition
            for where in self._filters
            for condition in conjuncts(where)
            if is_simple(condition)
        )
        if not simple or self._relations.has_casts(self._relation, ", ".join(simple)):
            return {}
        return dict.fromkeys(simple, True)

    def is_filter(self, where: str) -> bool:
        """Whether every conjunct can be evaluated for any row."""
        return all(map(self.is_condition, conjuncts(where)))

    def is_condition(self, condition: str) -> bool:
        """Whether a condition compares columns, without a cast."""
        if condition not in self._conditions:
            self._conditions[condition] = is_simple(condition) and not self._relations.has_casts(
                self._relation, condition
            )
        return self._conditions[condition]

    def are_arguments(self, bound: BoundPeriodicTree) -> bool:
        """Whether all that a tree aggregates can be computed for any row."""
        return all(
            self.is_argument(component)
            for aggregate in bound.tree.aggregates
            for component in aggregate.components
        )

    def is_argument(self, component: Component) -> bool:
        """Whether a component is of columns of numbers, or counts rows."""
        return component.where is None and all(
            component.argument is None or self._number_type(argument) is not None
            for argument in component.arguments
        )

    def is_float(self, argument: str) -> bool:
        """Whether an argument is a column of floats."""
        return isinstance(self._number_type(argument), FloatType | DoubleType)

    def _number_type(self, argument: str) -> NumericType | None:
        """Returns the type of an argument that is a column of numbers; None for any other."""
        if argument not in self._numbers:
            self._numbers[argument] = None
            if is_reference(argument):
                kind = self._relations.type_of(self._relation, argument)
                self._numbers[argument] = kind if isinstance(kind, NumericType) else None
        return self._numbers[argument]


class ConditionBits:
    """A bit for each condition, set in the rows where the condition is true."""

    def __init__(self, prefix: str = "") -> None:
        """The names of all columns start with `prefix`."""
        self._prefix = prefix
        self._bits: dict[str, int] = {}

    @property
    def columns(self) -> dict[str, str]:
        """The SQL of each integer."""
        columns: dict[str, list[str]] = {}
        for condition, bit in self._bits.items():
            column = columns.setdefault(self._column(bit), [])
            column.append(f"IF({condition}, {1 << bit % _BITS}L, 0L)")
        return {name: " | ".join(parts) for name, parts in columns.items()}

    def masks(self, conditions: Iterable[str]) -> dict[str, int]:
        """Returns, by column, the bits that are set where all these conditions hold."""
        masks: dict[str, int] = {}
        for condition in conditions:
            bit = self._bits.setdefault(condition, len(self._bits))
            column = self._column(bit)
            masks[column] = masks.get(column, 0) | 1 << bit % _BITS
        return masks

    def _column(self, bit: int) -> str:
        return f"{self._prefix}bits{bit // _BITS}"


def filter_conditions(where: str, safe: SafeExpressions) -> tuple[str, ...]:
    """Returns the conditions of a filter, each of which may be part of other filters, too.

    If one of them may fail, the whole filter is one condition, since the others may guard that one.
    """
    return conjuncts(where) if safe.is_filter(where) else (f"({where})",)


def masks_condition(masks: dict[str, int]) -> str:
    """Returns the condition that all bits of some masks are set, as SQL."""
    return " AND ".join(f"({name} & {mask}L) = {mask}L" for name, mask in masks.items())


class ArgumentColumns:
    """Collects the columns of arguments, each once."""

    def __init__(self, safe: SafeExpressions, prefix: str = "") -> None:
        """The names of all columns start with `prefix`."""
        self._safe, self._prefix = safe, prefix
        self._names: dict[str, str] = {}

    @property
    def columns(self) -> dict[str, str]:
        """The SQL of each column."""
        return {name: sql for sql, name in self._names.items()}

    def of(self, storage: ComponentStorage, guard: str | None) -> tuple[str, ...]:
        """Returns the columns of a component's arguments.

        Arguments that could fail are computed only where the filter `guard` holds.
        """
        component = storage.component
        needs_guard = guard is not None and (
            component.argument is not None or component.where is not None
        )
        if needs_guard and not self._safe.is_argument(component):
            component = component.filtered_by(guard)
        if self._is_count_of_floats(component):
            # Sums and extremes read the same column.
            values = tuple(component.values(sql_type(FLOAT)).values())
        else:
            values = component.event_values(storage.value_type)
        return tuple(
            self._names.setdefault(sql, f"{self._prefix}v{len(self._names)}") for sql in values
        )

    def _is_count_of_floats(self, component: Component) -> bool:
        return (
            not component.part.needs_values
            and component.argument is not None
            and not component.others
            and component.where is None
            and self._safe.is_float(component.argument)
        )


def storages_of(tree: Tree, types: Types, *, ansi: bool) -> tuple[ComponentStorage, ...]:
    """Returns how the compiled runtime stores the components of a tree, each once."""
    storages: dict[Component, ComponentStorage] = {}
    for aggregate in tree.aggregates:
        for component in aggregate.components:
            if component not in storages:
                storages[component] = component_storage(
                    component,
                    value_type=value_type_of(component, aggregate, types),
                    name=f"c{len(storages)}",
                    ansi=ansi,
                )
    return tuple(storages.values())


def layout_of_records(bound: BoundDataTree, relations: Relations) -> Layout:
    """Returns the columns of the keys and partials of a tree's records."""
    tree = bound.tree
    return Layout(
        key_columns=tuple(key_column(index) for index in range(len(tree.grouping.keys))),
        start=START,
        storages=storages_of(tree, bound.types, ansi=is_ansi(relations.session)),
    )


def record_columns(
    bound: BoundDataTree, relations: Relations, layout: Layout
) -> tuple[dict[str, str], RecordLayout]:
    """Returns the columns of each event as Spark SQL, and their layout.

    They are the conditions and measures of data windows, and the arguments of aggregates.
    """
    tree = bound.tree
    grouping = tree.grouping
    conditions = {sql: f"b{index}" for index, sql in enumerate(tree.conditions)}
    measures = {sql: f"m{index}" for index, sql in enumerate(tree.measures)}
    customs = [kind for kind in tree.data_windows if isinstance(kind, Custom)]
    seen = dict.fromkeys(sql for kind in customs for _, sql in kind.columns)
    others = {sql: f"u{index}" for index, sql in enumerate(seen)}
    columns = {
        **{name: f"coalesce(CAST({sql} AS BOOLEAN), false)" for sql, name in conditions.items()},
        **{name: f"({sql})" for sql, name in (*measures.items(), *others.items())},
    }
    types = relations.sql(select_events(grouping, columns or {START: "1"})).schema
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
