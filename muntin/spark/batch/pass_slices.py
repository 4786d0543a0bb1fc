"""Runs one pass: makes the slices of its trees and packs them, a row for each bucket of keys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from pyspark.sql import DataFrame

from muntin.aggregates.aggregate import Component
from muntin.model.passes import Engine, Pass
from muntin.model.query import Grouping, Query
from muntin.model.windows import Slicing
from muntin.runtime.slicer.packing import BUCKET, TREE
from muntin.runtime.slicer.slicer_tree import SlicerTree
from muntin.runtime.storage.component_storage import ComponentStorage
from muntin.runtime.storage.layout import Layout
from muntin.runtime.storage.table import component_storage
from muntin.spark.batch.compiled_answers import pack_slices
from muntin.spark.batch.native_combine import PartialColumns, native_columns
from muntin.spark.binding.bound_tree import BoundPeriodicTree, value_type_of
from muntin.spark.binding.grouping_sql import (
    START,
    TIME,
    select_events,
    slice_start,
    time_to_micros,
)
from muntin.spark.binding.relations import Relations, is_ansi
from muntin.spark.binding.slicer_columns import (
    ArgumentColumns,
    ConditionBits,
    SafeExpressions,
    filter_conditions,
    masks_condition,
    storages_of,
)
from muntin.spark.engine.local_group_by import group_within_partitions
from muntin.spark.engine.plan_reuse import store, try_compute
from muntin.spark.engine.session_kind import cores_of
from muntin.sql.filters import conjuncts, split_by_keys
from muntin.sql_text import case_when


@dataclass(frozen=True, kw_only=True)
class PassRows:
    """The rows of a pass, events or partials, and what each tree takes from them, by its number."""

    frame: DataFrame
    # The column with the time of an event, or with the start of a partial.
    time: str
    # What the slicer makes for each tree whose partials the compiled runtime takes.
    slicer_trees: Mapping[int, SlicerTree]
    # The partials of each tree that Spark may combine.
    slices: Mapping[int, PartialColumns] = field(default_factory=dict)


class PassSlices:
    """Makes the slices of some trees of a family in one pass.

    `trees` are by their numbers. `shared` is the pass, None for a single tree without one. `parts`
    are answered from these slices. `names` has the column of each key of the family.
    """

    def __init__(
        self,
        trees: Mapping[int, BoundPeriodicTree],
        shared: Pass | None,
        parts: Sequence[Query],
        names: Mapping[str, str],
        relations: Relations,
    ) -> None:
        self.trees = trees
        self.parts = parts
        self._pass = shared
        self._names = names
        self._relations = relations
        # Several queries may be answered one by one.
        self._is_shared = len({part.whole_query.name for part in parts}) > 1
        # Whether Spark combines some answers from the rows, which are then stored.
        self.has_rows_for_spark = any(bound.tree.combined_by_spark for bound in trees.values())
        self._stored_rows: DataFrame | None = None
        self._stored_slices: DataFrame | None = None

    @cached_property
    def rows(self) -> PassRows:
        """The rows that the pass reads, and what it makes of them for each tree."""
        tree, *_ = (bound.tree for bound in self.trees.values())
        grouping, slicing = tree.grouping, tree.slicing
        if self._pass is not None:
            filters = [bound.tree.grouping.where for bound in self.trees.values()]
            where = self._pass.filter_of(filters)
            grouping = replace(grouping, keys=tuple(self._pass.keys), where=where)
            slicing = self._pass.slicing
            if self._pass.engine is Engine.COMPILED:
                return _event_rows(self.trees, grouping, self._names, self._relations)
        return _group_by_rows(self.trees, grouping, slicing, self._names, self._relations)

    @cached_property
    def packed_partials(self) -> DataFrame:
        """The packed partials of all trees, in no order."""
        rows = self.rows
        frame = rows.frame
        if rows.time == START and not self.has_rows_for_spark:
            # Partials of one key and start are combined later, so Spark need not exchange them.
            frame = group_within_partitions(frame)
        return pack_slices(frame, tuple(rows.slicer_trees.values()), rows.time)

    def slices(self) -> DataFrame:
        """Returns the packed partials in order; Spark stores them if several queries read them."""
        if self._stored_slices is not None:
            return self._stored_slices
        rows = order_by_bucket([self.packed_partials])
        if self.has_rows_for_spark:
            # Spark combines other answers from the rows before they are packed.
            self.store_rows()
        elif self._is_shared:
            self._stored_slices = rows = store(rows)
        return rows

    @cached_property
    def is_computable(self) -> bool:
        """Whether no event fails the queries of the pass.

        If several queries share slices and one of them may fail, the slices are computed now.
        """
        if not self._is_shared:
            return True
        if self.has_rows_for_spark:
            return try_compute(self.store_rows())
        return not self._relations.may_fail(self.parts) or try_compute(self.slices())

    def store_rows(self) -> DataFrame:
        """Have Spark store the rows of the pass when they are first computed; returns them."""
        if self._stored_rows is None:
            self._stored_rows = store(self.rows.frame)
        return self._stored_rows

    def release(self) -> None:
        """Free Spark's storage."""
        for frame in (self._stored_rows, self._stored_slices):
            if frame is not None:
                frame.unpersist()
        self._stored_rows = self._stored_slices = None


def order_by_bucket(packed: Sequence[DataFrame]) -> DataFrame:
    """Returns the packed partials of some passes, ordered by tree and bucket."""
    rows = packed[0]
    for other in packed[1:]:
        rows = rows.unionAll(other)
    cores = cores_of(rows.sparkSession)
    return rows.repartition(cores, TREE, BUCKET).sortWithinPartitions(TREE, BUCKET)


def _event_rows(
    trees: Mapping[int, BoundPeriodicTree],
    grouping: Grouping,
    names: Mapping[str, str],
    relations: Relations,
) -> PassRows:
    """Returns the events of a grouping: their time, keys, arguments and conditions, each once.

    The grouping's filter lets in every event of some tree. `names` has the column of each key.
    """
    time_type = next(iter(trees.values())).time_type
    filters = (bound.tree.grouping.where for bound in trees.values())
    safe = SafeExpressions(grouping.relation, relations, filters)
    arguments, bits = ArgumentColumns(safe), ConditionBits()
    slicer_trees = {}
    for number, bound in trees.items():
        tree = bound.tree
        guard = None if tree.grouping.where == grouping.where else tree.grouping.where
        storages = storages_of(tree, bound.types, ansi=is_ansi(relations.session))
        slicer_trees[number] = SlicerTree(
            number=number,
            layout=Layout(
                key_columns=tuple(names[key] for key in tree.grouping.keys),
                start=START,
                storages=storages,
            ),
            slicing=tree.slicing,
            masks={} if guard is None else bits.masks(filter_conditions(guard, safe)),
            values={each.component: arguments.of(each, guard) for each in storages},
            part_width=tree.time_part,
            longest=tree.longest_window,
        )
    columns = {
        TIME: time_to_micros(grouping.time, time_type),
        **{names[key]: key for key in grouping.keys},
        **arguments.columns,
        **bits.columns,
    }
    frame = relations.sql(select_events(grouping, columns))
    return PassRows(frame=frame, time=TIME, slicer_trees=slicer_trees)


def _group_by_rows(
    trees: Mapping[int, BoundPeriodicTree],
    grouping: Grouping,
    slicing: Slicing,
    names: Mapping[str, str],
    relations: Relations,
) -> PassRows:
    """Returns the partials of a grouping's keys and slices, made by one GROUP BY for all trees.

    The grouping's filter lets in every event of some tree. `names` has the column of each key. A
    tree's own filter becomes a FILTER of its aggregate calls. Its conditions on keys alone are
    applied to the partials instead.
    """
    columns = _GroupByColumns(relations)
    time_type = next(iter(trees.values())).time_type
    filters = (bound.tree.grouping.where for bound in trees.values())
    narrower = (where for where in filters if where != grouping.where)
    safe = SafeExpressions(grouping.relation, relations, narrower)
    bits = ConditionBits()
    slices: dict[int, PartialColumns] = {}
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
            conditions.append(f"count({case_when(guard, '1')}) > 0")
        masks = bits.masks(conditions)
        key_columns = tuple(names[key] for key in tree.grouping.keys)
        slices[number] = PartialColumns(
            condition=masks_condition(masks) or None, key_columns=key_columns, names=components
        )
        if len(tree.combined_by_spark) < len(tree.queries):
            slicer_trees[number] = SlicerTree(
                number=number,
                layout=Layout(key_columns=key_columns, start=START, storages=storages),
                slicing=tree.slicing,
                masks=masks,
                is_whole=tree.grouping.keys == grouping.keys and tree.slicing == slicing,
                part_width=tree.time_part,
                longest=tree.longest_window,
            )
    start = slice_start(slicing, time_to_micros(grouping.time, time_type))
    keys_and_start = {**{names[key]: key for key in grouping.keys}, START: start}
    items = {**keys_and_start, **columns.calls, **bits.columns}
    by = ", ".join([*grouping.keys, start])
    frame = relations.sql(select_events(grouping, items).surround("", f" GROUP BY {by}"))
    return PassRows(frame=frame, time=START, slicer_trees=slicer_trees, slices=slices)


class _GroupByColumns:
    """Collects the aggregate calls of a GROUP BY, each once."""

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
        # A query with any other aggregate is answered by Spark alone.
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
