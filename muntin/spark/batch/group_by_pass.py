"""Makes the slices of a pass by one GROUP BY in Spark, with every tree's components and filter."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from muntin.aggregates.aggregate import Component
from muntin.model.engine import Engine
from muntin.model.query import Grouping
from muntin.model.slicing import Slicing
from muntin.runtime.slicer.slicer_tree import SlicerTree
from muntin.runtime.storage.component_storage import ComponentStorage
from muntin.runtime.storage.layout import Layout
from muntin.runtime.storage.table import component_storage
from muntin.spark.batch.filters import ConditionBits, SafeExpressions, has_bits
from muntin.spark.batch.slices import START, Slices, native_columns
from muntin.spark.binding.bound_tree import BoundPeriodicTree
from muntin.spark.binding.grouping_sql import selected, value_type_of
from muntin.spark.binding.instants import micros, slice_start
from muntin.spark.binding.relations import Relations, is_ansi
from muntin.sql.filters import conjuncts, split_by_keys
from muntin.sql_text import only_where


@dataclass(frozen=True, kw_only=True)
class GroupByPass:
    """The rows of a GROUP BY, and what each tree, by its number, takes from them."""

    frame: DataFrame
    slices: Mapping[int, Slices]
    slicer_trees: tuple[SlicerTree, ...]


def group_by_pass(
    trees: Mapping[int, BoundPeriodicTree],
    keys: Sequence[str],
    slicing: Slicing,
    where: str | None,
    names: Mapping[str, str],
    relations: Relations,
) -> GroupByPass:
    """Aggregates a family's events by `keys` and slice, once for all trees.

    `where` lets in every event that some tree takes. `names` has the column of each key. An event
    counts for a tree where the tree's filter holds. What the keys decide of a filter is not asked
    of events: it chooses among the rows.
    """
    columns = _Columns(relations)
    first = next(iter(trees.values()))
    grouping = Grouping(
        relation=first.tree.grouping.relation,
        time=first.tree.grouping.time,
        where=where,
        keys=tuple(keys),
    )
    filters = (bound.tree.grouping.where for bound in trees.values())
    safe = SafeExpressions(grouping.relation, relations, filters)
    bits = ConditionBits()
    layouts, components, masks = {}, {}, {}
    for number, bound in trees.items():
        own = bound.tree.grouping.where
        of_keys, guard = None, None if own == where else own
        if guard is not None and safe.is_filter(guard) and safe.are_arguments(bound):
            of_keys, guard = split_by_keys(guard, keys)
        components[number] = columns.names_of(bound, guard)
        masks[number] = bits.masks(_conditions(guard, of_keys))
        layouts[number] = Layout(
            key_columns=tuple(names[key] for key in bound.tree.grouping.keys),
            start=START,
            storages=tuple(columns.storages(bound, guard)),
        )
    start = slice_start(slicing, micros(grouping.time, first.time_type))
    keys_and_start = {**{names[key]: key for key in keys}, START: start}
    items = {**keys_and_start, **columns.calls, **bits.columns}
    by = ", ".join([*keys, start])
    frame = relations.sql(selected(grouping, items).inside("", f" GROUP BY {by}"))
    return GroupByPass(
        frame=frame,
        slices={
            number: Slices(
                rows=frame,
                condition=has_bits(masks[number]) or None,
                layout=layouts[number],
                names=components[number],
            )
            for number in trees
        },
        slicer_trees=tuple(
            SlicerTree(
                number=number,
                layout=layouts[number],
                slicing=bound.tree.slicing,
                masks=masks[number],
                is_whole=bound.tree.grouping.keys == tuple(keys) and bound.tree.slicing == slicing,
                part_width=bound.tree.time_part,
                longest=bound.tree.longest,
            )
            for number, bound in trees.items()
            if len(bound.tree.combined_by_spark) < len(bound.tree.queries)
        ),
    )


class _Columns:
    """The columns of a GROUP BY: the calls of every component under its filter, once each."""

    def __init__(self, relations: Relations) -> None:
        self.calls: dict[str, str] = {}
        self._ansi = is_ansi(relations.session)
        self._names: dict[tuple[Component, str | None, bool], str] = {}
        self._stems: dict[tuple[tuple[str, str], ...], str] = {}

    def names_of(self, bound: BoundPeriodicTree, guard: str | None) -> dict[Component, str]:
        """Returns the column of each component of a tree, and adds those that are new."""
        names = {}
        for aggregate in bound.tree.aggregates:
            if not aggregate.definition.is_native:
                # Spark alone answers a tree that has some and is made here.
                continue
            value_types = self._value_types(bound)
            for component in aggregate.components:
                names[component] = self._add(component, guard, value_types.get(component))
        return names

    def storages(self, bound: BoundPeriodicTree, guard: str | None) -> list[ComponentStorage]:
        """Returns the columns of a tree that the compiled runtime takes."""
        return [
            component_storage(
                component,
                value_type=value_type,
                name=self._names[component, guard, True],
                ansi=self._ansi,
            )
            for component, value_type in self._value_types(bound).items()
        ]

    def _value_types(self, bound: BoundPeriodicTree) -> dict[Component, str]:
        """Returns the types of values of the components that the compiled runtime takes."""
        return {
            component: value_type_of(component, aggregate, bound.types)
            for aggregate in bound.tree.aggregates
            if bound.engines[aggregate] is Engine.COMPILED and aggregate.definition.is_native
            for component in aggregate.components
        }

    def _add(self, component: Component, guard: str | None, value_type: str | None) -> str:
        place = component, guard, value_type is not None
        if place not in self._names:
            name = f"c{len(self._stems)}"
            under = component.filtered_by(guard)
            if value_type is None:
                calls = native_columns(under, name)
            else:
                calls = under.group_by_columns(name, value_type, ansi=self._ansi)
            # Components of several aggregates may be the same calls.
            texts = tuple((column.removeprefix(name), sql) for column, sql in calls.items())
            stem = self._stems.setdefault(texts, name)
            self._names[place] = stem
            if stem == name:
                self.calls.update(calls)
        return self._names[place]


def _conditions(guard: str | None, of_keys: str | None) -> Iterator[str]:
    """Yields what holds for rows that a filter let events into: what the keys decide of it, and
    that there were such events."""
    if of_keys is not None:
        yield from conjuncts(of_keys)
    if guard is not None:
        yield f"count({only_where(guard, '1')}) > 0"
