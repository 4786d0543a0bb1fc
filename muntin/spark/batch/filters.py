"""Filters of trees that are made in one pass: as bits, and which of them fail for no row."""

from collections.abc import Iterable

from pyspark.sql.types import DoubleType, FloatType, NumericType

from muntin.aggregates.aggregate import Component
from muntin.spark.binding.bound_tree import BoundPeriodicTree
from muntin.spark.binding.relations import Relations
from muntin.sql.filters import conjuncts, is_reference, is_simple
from muntin.sql_text import SqlText

# The bits of an integer that say which conditions hold; the sign is left out.
_BITS = 63


class SafeExpressions:
    """What is known of the expressions over one relation, of which `filters` will be asked."""

    def __init__(
        self, relation: SqlText, relations: Relations, filters: Iterable[str | None]
    ) -> None:
        self._relation, self._relations = relation, relations
        self._conditions = self._without_casts(filters)
        self._numbers: dict[str, NumericType | None] = {}

    def _without_casts(self, filters: Iterable[str | None]) -> dict[str, bool]:
        """Returns all simple conditions of filters, if none has a cast: that is one question."""
        simple = dict.fromkeys(
            condition
            for where in filters
            if where is not None
            for condition in conjuncts(where)
            if is_simple(condition)
        )
        if not simple or self._relations.casts(self._relation, ", ".join(simple)):
            return {}
        return dict.fromkeys(simple, True)

    def is_filter(self, where: str) -> bool:
        """Whether every conjunct can be evaluated for any row."""
        return all(map(self.is_condition, conjuncts(where)))

    def is_condition(self, condition: str) -> bool:
        """Whether a condition compares columns, without a cast."""
        if condition not in self._conditions:
            self._conditions[condition] = is_simple(condition) and not self._relations.casts(
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
            component.argument is None or self._is_number(argument)
            for argument in component.arguments
        )

    def is_float(self, argument: str) -> bool:
        """Whether an argument is a column of floats."""
        return isinstance(self._number_type(argument), FloatType | DoubleType)

    def _is_number(self, argument: str) -> bool:
        return self._number_type(argument) is not None

    def _number_type(self, argument: str) -> NumericType | None:
        """Returns the type of an argument that is a column of numbers; None for any other."""
        if argument not in self._numbers:
            self._numbers[argument] = None
            if is_reference(argument):
                kind = self._relations.type_of(self._relation, argument)
                self._numbers[argument] = kind if isinstance(kind, NumericType) else None
        return self._numbers[argument]


class ConditionBits:
    """A bit for each condition that someone asked for. It is set where the condition is true."""

    def __init__(self, prefix: str = "") -> None:
        """`prefix` is what the names of its columns begin with."""
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


def conditions_of(where: str, safe: SafeExpressions) -> tuple[str, ...]:
    """Returns the conditions that a filter is made of, which other filters may share.

    A filter of which a part may fail is one condition: another part may guard it.
    """
    return conjuncts(where) if safe.is_filter(where) else (f"({where})",)


def has_bits(masks: dict[str, int]) -> str:
    """Returns the condition that all bits of some masks are set, as SQL."""
    return " AND ".join(f"({name} & {mask}L) = {mask}L" for name, mask in masks.items())
