"""Hands events to the compiled slicer: one projection with all that the trees of a pass need."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from muntin.aggregates.aggregate import Component
from muntin.aggregates.representations import FLOAT, sql_type
from muntin.model.query import Grouping
from muntin.runtime.slicer.slicer_tree import SlicerTree
from muntin.runtime.storage.component_storage import ComponentStorage
from muntin.runtime.storage.layout import Layout
from muntin.runtime.storage.table import component_storage
from muntin.spark.batch.filters import ConditionBits, SafeExpressions, conditions_of
from muntin.spark.batch.slices import START
from muntin.spark.binding.bound_tree import BoundPeriodicTree
from muntin.spark.binding.grouping_sql import selected, value_type_of
from muntin.spark.binding.instants import micros
from muntin.spark.binding.relations import Relations, is_ansi

TIME = "t"


@dataclass(frozen=True, kw_only=True)
class SlicerPass:
    """Events as the slicer reads them, and the slices that it makes of them."""

    frame: DataFrame
    slicer_trees: tuple[SlicerTree, ...]


def slicer_pass(
    trees: Mapping[int, BoundPeriodicTree],
    keys: Sequence[str],
    where: str | None,
    names: Mapping[str, str],
    relations: Relations,
) -> SlicerPass:
    """Selects time, keys, arguments and conditions of a family's events, each once.

    `where` lets in every event that some tree takes. `names` has the column of each key.
    """
    first = next(iter(trees.values()))
    grouping = Grouping(
        relation=first.tree.grouping.relation,
        time=first.tree.grouping.time,
        where=where,
        keys=tuple(keys),
    )
    filters = (bound.tree.grouping.where for bound in trees.values())
    safe = SafeExpressions(grouping.relation, relations, filters)
    arguments, bits = Arguments(safe), ConditionBits()
    slicer_trees = []
    for number, bound in trees.items():
        tree = bound.tree
        guard = None if tree.grouping.where == where else tree.grouping.where
        storages = tuple(_storages(bound, ansi=is_ansi(relations.session)))
        slicer_trees.append(
            SlicerTree(
                number=number,
                layout=Layout(
                    key_columns=tuple(names[key] for key in tree.grouping.keys),
                    start=START,
                    storages=storages,
                ),
                slicing=tree.slicing,
                masks={} if guard is None else bits.masks(conditions_of(guard, safe)),
                values={each.component: arguments.of(each, guard) for each in storages},
                part_width=tree.time_part,
                longest=tree.longest,
            )
        )
    columns = {
        TIME: micros(grouping.time, first.time_type),
        **{names[key]: key for key in keys},
        **arguments.columns,
        **bits.columns,
    }
    frame = relations.sql(selected(grouping, columns))
    return SlicerPass(frame=frame, slicer_trees=tuple(slicer_trees))


def _storages(bound: BoundPeriodicTree, *, ansi: bool) -> list[ComponentStorage]:
    storages: dict[Component, ComponentStorage] = {}
    for aggregate in bound.tree.aggregates:
        for component in aggregate.components:
            if component not in storages:
                value_type = value_type_of(component, aggregate, bound.types)
                name = f"c{len(storages)}"
                storages[component] = component_storage(
                    component, value_type=value_type, name=name, ansi=ansi
                )
    return list(storages.values())


class Arguments:
    """The columns of arguments, each once; computed only where the filter of its tree holds."""

    def __init__(self, safe: SafeExpressions, prefix: str = "") -> None:
        """`prefix` is what the names of its columns begin with."""
        self._safe, self._prefix = safe, prefix
        self._names: dict[str, str] = {}

    @property
    def columns(self) -> dict[str, str]:
        """The SQL of each column."""
        return {name: sql for sql, name in self._names.items()}

    def of(self, storage: ComponentStorage, guard: str | None) -> tuple[str, ...]:
        """Returns the columns of a component's arguments."""
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
            not component.part.is_of_values
            and component.argument is not None
            and not component.others
            and component.where is None
            and self._safe.is_float(component.argument)
        )
