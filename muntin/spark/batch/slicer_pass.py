"""Hands events to the compiled slicer: one projection with all that the trees of a pass need."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.types import NumericType

from muntin.model.aggregates.aggregate import Component
from muntin.model.query import Grouping
from muntin.runtime.columns.layout import Kept, Layout, kept
from muntin.runtime.slicer.target import Target
from muntin.spark.batch.group_by_pass import common_filter
from muntin.spark.batch.slices import START, arguments_of, guarded, number_of
from muntin.spark.binding.bind_periodic import BoundTree
from muntin.spark.binding.grouping_sql import selected
from muntin.spark.binding.instants import micros
from muntin.spark.binding.relations import Relations, is_ansi
from muntin.sql.filters import conjuncts, is_reference, is_simple

TIME = "t"
# The bits of an integer that say which conditions hold; the sign is left out.
_BITS = 63


@dataclass(frozen=True, kw_only=True)
class SlicerPass:
    """Events as the slicer reads them, and the slices that it makes of them."""

    frame: DataFrame
    targets: tuple[Target, ...]


def slicer_pass(
    trees: Mapping[int, BoundTree],
    keys: Sequence[str],
    names: Mapping[str, str],
    relations: Relations,
) -> SlicerPass:
    """Selects time, keys, arguments and conditions of a family's events, each once.

    `names` has the column of each key. Events that no tree's filter lets in are left out.
    """
    first = next(iter(trees.values()))
    grouping = Grouping(
        relation=first.tree.grouping.relation,
        time=first.tree.grouping.time,
        where=common_filter([bound.tree.grouping.where for bound in trees.values()]),
        keys=tuple(keys),
    )
    arguments = _Arguments(grouping, relations)
    conditions = _Conditions(grouping, relations)
    targets = []
    for number, bound in trees.items():
        tree, where = bound.tree, bound.tree.grouping.where
        guard = None if where == grouping.where else where
        entries = tuple(_entries(bound, ansi=is_ansi(relations.session)))
        targets.append(
            Target(
                number=number,
                layout=Layout(
                    key_columns=tuple(names[key] for key in tree.grouping.keys),
                    start=START,
                    kept=entries,
                ),
                slicing=tree.slicing,
                masks={} if guard is None else conditions.masks(guard),
                values={entry.component: arguments.of(entry, guard) for entry in entries},
                part_width=tree.time_part,
                longest=tree.longest,
            )
        )
    columns = {
        TIME: micros(grouping.time, first.time_type),
        **{names[key]: key for key in keys},
        **arguments.columns,
        **conditions.columns,
    }
    frame = relations.sql(selected(grouping, columns))
    return SlicerPass(frame=frame, targets=tuple(targets))


def _entries(bound: BoundTree, *, ansi: bool) -> list[Kept]:
    entries: dict[Component, Kept] = {}
    for aggregate in bound.tree.aggregates:
        for component in aggregate.components:
            if component not in entries:
                number = number_of(component, bound.types[aggregate])
                name = f"c{len(entries)}"
                entries[component] = kept(component, number=number, name=name, ansi=ansi)
    return list(entries.values())


class _Arguments:
    """The columns of arguments, each once; computed only where the filter of its tree holds."""

    def __init__(self, grouping: Grouping, relations: Relations) -> None:
        self._grouping, self._relations = grouping, relations
        self._names: dict[str, str] = {}
        self._safe: dict[str, bool] = {}

    @property
    def columns(self) -> dict[str, str]:
        """The SQL of each column."""
        return {name: sql for sql, name in self._names.items()}

    def of(self, entry: Kept, guard: str | None) -> tuple[str, ...]:
        """Returns the columns of a component's arguments."""
        component = entry.component
        needs_guard = guard is not None and (
            component.argument is not None or component.where is not None
        )
        if needs_guard and not self._is_safe(component):
            component = guarded(component, guard)
        values = arguments_of(
            Kept(
                component=component,
                number=entry.number,
                monoid=entry.monoid,
                columns=entry.columns,
            )
        )
        return tuple(self._names.setdefault(sql, f"v{len(self._names)}") for sql in values)

    def _is_safe(self, component: Component) -> bool:
        """Whether the arguments can be computed for any event: they are columns of numbers."""
        return component.where is None and all(map(self._is_number, component.arguments))

    def _is_number(self, argument: str) -> bool:
        if argument not in self._safe:
            self._safe[argument] = is_reference(argument) and isinstance(
                self._relations.type_of(self._grouping.relation, argument), NumericType
            )
        return self._safe[argument]


class _Conditions:
    """Conditions as bits of a few integers, each condition once.

    A filter whose conjuncts cannot fail has a bit for each of them, which other filters may share;
    any other filter has one bit.
    """

    def __init__(self, grouping: Grouping, relations: Relations) -> None:
        self._grouping, self._relations = grouping, relations
        self._bits: dict[str, int] = {}
        self._safe: dict[str, bool] = {}

    @property
    def columns(self) -> dict[str, str]:
        """The SQL of each integer."""
        columns: dict[str, list[str]] = {}
        for condition, bit in self._bits.items():
            column = columns.setdefault(_column(bit), [])
            column.append(f"IF({condition}, {1 << bit % _BITS}L, 0L)")
        return {name: " | ".join(parts) for name, parts in columns.items()}

    def masks(self, where: str) -> dict[str, int]:
        """Returns, by column, the bits that are set where a filter holds."""
        parts = conjuncts(where)
        conditions = parts if all(map(self._is_safe, parts)) else (f"({where})",)
        masks: dict[str, int] = {}
        for condition in conditions:
            bit = self._bits.setdefault(condition, len(self._bits))
            masks[_column(bit)] = masks.get(_column(bit), 0) | 1 << bit % _BITS
        return masks

    def _is_safe(self, condition: str) -> bool:
        if condition not in self._safe:
            self._safe[condition] = is_simple(condition) and not self._relations.casts(
                self._grouping.relation, condition
            )
        return self._safe[condition]


def _column(bit: int) -> str:
    return f"bits{bit // _BITS}"
