"""Makes the slices of a pass by one GROUP BY in Spark, with every tree's components and filter."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from muntin.aggregates.aggregate import Component
from muntin.model.passes import Engine
from muntin.model.query import Grouping
from muntin.model.windows import Slicing
from muntin.runtime.slicer.slicer_tree import SlicerTree
from muntin.runtime.storage.component_storage import ComponentStorage
from muntin.runtime.storage.layout import Layout
from muntin.runtime.storage.table import component_storage
from muntin.spark.batch.native_combine import Slices, native_columns
from muntin.spark.binding.bound_tree import BoundPeriodicTree, value_type_of
from muntin.spark.binding.grouping_sql import START, micros, select_events, slice_start
from muntin.spark.binding.relations import Relations, is_ansi
from muntin.spark.binding.slicer_columns import ConditionBits, SafeExpressions, has_bits
from muntin.sql.filters import conjuncts, split_by_keys
from muntin.sql_text import only_where


@dataclass(frozen=True, kw_only=True)
class PassRows:
    """The rows of a pass, events or partials, and what each tree takes from them, by its number."""

    frame: DataFrame
    # The column with the time of an event, or with the start of a partial.
    time: str
    # What the slicer makes for each tree whose partials the compiled runtime takes.
    slicer_trees: Mapping[int, SlicerTree]
    # The partials of each tree that Spark may combine.
    slices: Mapping[int, Slices] = field(default_factory=dict)


def group_by_pass(
    trees: Mapping[int, BoundPeriodicTree],
    grouping: Grouping,
    slicing: Slicing,
    names: Mapping[str, str],
    relations: Relations,
) -> PassRows:
    """Aggregates the events of a grouping by its keys and slices, once for all trees.

    Its filter passes every event that some tree takes. `names` has the column of each key. An event
    counts for a tree if the tree's filter holds. The part of a filter that depends on keys alone
    is applied to the partials instead.
    """
    columns = _Columns(relations)
    time_type = next(iter(trees.values())).time_type
    filters = (bound.tree.grouping.where for bound in trees.values())
    safe = SafeExpressions(grouping.relation, relations, filters)
    bits = ConditionBits()
    slices: dict[int, Slices] = {}
    slicer_trees: dict[int, SlicerTree] = {}
    for number, bound in trees.items():
        tree, own = bound.tree, bound.tree.grouping.where
        of_keys, guard = None, None if own == grouping.where else own
        if guard is not None and safe.is_filter(guard) and safe.are_arguments(bound):
            of_keys, guard = split_by_keys(guard, grouping.keys)
        components, storages = columns.add(bound, guard)
        # A partial counts for a tree if its keys pass the filter, and some of its events do.
        conditions = [] if of_keys is None else list(conjuncts(of_keys))
        if guard is not None:
            conditions.append(f"count({only_where(guard, '1')}) > 0")
        masks = bits.masks(conditions)
        key_columns = tuple(names[key] for key in tree.grouping.keys)
        slices[number] = Slices(
            condition=has_bits(masks) or None, key_columns=key_columns, names=components
        )
        if len(tree.combined_by_spark) < len(tree.queries):
            slicer_trees[number] = SlicerTree(
                number=number,
                layout=Layout(key_columns=key_columns, start=START, storages=storages),
                slicing=tree.slicing,
                masks=masks,
                is_whole=tree.grouping.keys == grouping.keys and tree.slicing == slicing,
                part_width=tree.time_part,
                longest=tree.longest,
            )
    start = slice_start(slicing, micros(grouping.time, time_type))
    keys_and_start = {**{names[key]: key for key in grouping.keys}, START: start}
    items = {**keys_and_start, **columns.calls, **bits.columns}
    by = ", ".join([*grouping.keys, start])
    frame = relations.sql(select_events(grouping, items).inside("", f" GROUP BY {by}"))
    return PassRows(frame=frame, time=START, slicer_trees=slicer_trees, slices=slices)


class _Columns:
    """The columns of a GROUP BY: the aggregate calls of every component and filter, each once."""

    def __init__(self, relations: Relations) -> None:
        self.calls: dict[str, str] = {}
        self._ansi = is_ansi(relations.session)
        self._names: dict[tuple[Component, str | None, bool], str] = {}
        self._stems: dict[tuple[tuple[str, str], ...], str] = {}

    def add(
        self, bound: BoundPeriodicTree, guard: str | None
    ) -> tuple[dict[Component, str], tuple[ComponentStorage, ...]]:
        """Adds the columns of a tree that are new; returns the column of each component, and the
        storage of those that the compiled runtime takes."""
        # If a tree with another aggregate is made here, Spark alone answers it.
        native = [each for each in bound.tree.aggregates if each.definition.is_native]
        value_types = {
            component: value_type_of(component, aggregate, bound.types)
            for aggregate in native
            if bound.engines[aggregate] is Engine.COMPILED
            for component in aggregate.components
        }
        names = {
            component: self._add(component, guard, value_types.get(component))
            for aggregate in native
            for component in aggregate.components
        }
        storages = (
            component_storage(component, value_type=kind, name=names[component], ansi=self._ansi)
            for component, kind in value_types.items()
        )
        return names, tuple(storages)

    def _add(self, component: Component, guard: str | None, value_type: str | None) -> str:
        place = component, guard, value_type is not None
        if place not in self._names:
            name = f"c{len(self._stems)}"
            under = component.filtered_by(guard)
            if value_type is None:
                calls = native_columns(under, name)
            else:
                calls = under.group_by_columns(name, value_type, ansi=self._ansi)
            # Components of different aggregates may consist of the same calls.
            texts = tuple((column.removeprefix(name), sql) for column, sql in calls.items())
            stem = self._stems.setdefault(texts, name)
            self._names[place] = stem
            if stem == name:
                self.calls.update(calls)
        return self._names[place]
