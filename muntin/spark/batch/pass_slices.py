"""Runs one pass: makes the slices of its trees and packs them, a row for each bucket of keys."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from pyspark.sql import DataFrame

from muntin.model.passes import Engine, Pass
from muntin.model.query import Grouping, Query
from muntin.runtime.slicer.packing import BUCKET, TREE
from muntin.runtime.slicer.slicer_tree import SlicerTree
from muntin.runtime.storage.layout import Layout
from muntin.spark.batch.compiled_answers import pack_slices
from muntin.spark.batch.group_by_pass import PassRows, group_by_pass
from muntin.spark.binding.bound_tree import BoundPeriodicTree
from muntin.spark.binding.grouping_sql import START, TIME, micros, select_events
from muntin.spark.binding.relations import Relations, is_ansi
from muntin.spark.binding.slicer_columns import (
    Arguments,
    ConditionBits,
    SafeExpressions,
    conditions_of,
    storages_of,
)
from muntin.spark.engine.local_group_by import within_partitions
from muntin.spark.engine.plan_reuse import is_computable, store
from muntin.spark.engine.session_kind import cores_of


class PassSlices:
    """The slices that one pass makes of a family's events, for trees by their numbers.

    `shared` is the pass, None for a tree that has its own. `parts` are answered from these slices.
    `names` has the column of each key of the family.
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
        self._is_shared = len({part.asked.name for part in parts}) > 1
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
        return group_by_pass(self.trees, grouping, slicing, self._names, self._relations)

    @cached_property
    def packed(self) -> DataFrame:
        """The partials of all trees, in no order."""
        rows = self.rows
        frame = rows.frame
        if rows.time == START and not self.has_rows_for_spark:
            # Partials of one key and start are combined later, so Spark need not exchange them.
            frame = within_partitions(frame)
        return pack_slices(frame, tuple(rows.slicer_trees.values()), rows.time)

    def slices(self) -> DataFrame:
        """Returns the packed partials in order; Spark stores them if several queries read them."""
        if self._stored_slices is not None:
            return self._stored_slices
        rows = in_order([self.packed])
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
            return is_computable(self.store_rows())
        return not self._relations.may_fail(self.parts) or is_computable(self.slices())

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


def in_order(packed: Sequence[DataFrame]) -> DataFrame:
    """Returns the packed partials of some passes by target and bucket."""
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
    """Selects time, keys, arguments and conditions of a grouping's events, each once.

    Its filter passes every event that some tree takes. `names` has the column of each key.
    """
    time_type = next(iter(trees.values())).time_type
    filters = (bound.tree.grouping.where for bound in trees.values())
    safe = SafeExpressions(grouping.relation, relations, filters)
    arguments, bits = Arguments(safe), ConditionBits()
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
            masks={} if guard is None else bits.masks(conditions_of(guard, safe)),
            values={each.component: arguments.of(each, guard) for each in storages},
            part_width=tree.time_part,
            longest=tree.longest,
        )
    columns = {
        TIME: micros(grouping.time, time_type),
        **{names[key]: key for key in grouping.keys},
        **arguments.columns,
        **bits.columns,
    }
    frame = relations.sql(select_events(grouping, columns))
    return PassRows(frame=frame, time=TIME, slicer_trees=slicer_trees)
