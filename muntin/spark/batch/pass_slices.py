"""Runs one pass: makes the slices of its trees and packs them, a row for each bucket of keys."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import pyarrow as pa
from pyspark.sql import DataFrame

from muntin.model.engine import Engine
from muntin.model.passes import Pass
from muntin.runtime.slicer.packing import BUCKET, ROWS, TARGET
from muntin.runtime.slicer.slicer import Slicer
from muntin.runtime.slicer.target import Target
from muntin.spark.batch.group_by_pass import GroupByPass, group_by_pass
from muntin.spark.batch.slicer_pass import TIME, SlicerPass, slicer_pass
from muntin.spark.batch.slices import START, Slices
from muntin.spark.binding.bound_tree import BoundPeriodicTree
from muntin.spark.binding.relations import Relations
from muntin.spark.engine.local_group_by import within_partitions
from muntin.spark.engine.session_kind import cores_of
from muntin.spark.engine.stored_frames import store
from muntin.spark.engine.worker import Task, prepare_workers

PACKED = f"{BUCKET} INT, {TARGET} INT, {ROWS} BINARY"
# Few cores get several buckets each, so that all have about as much to do.
_MOST_BUCKETS = 64
_BUCKETS_PER_CORE = 8


class PassSlices:
    """The slices that one pass makes of a family's events, for trees by their numbers.

    `names` has the column of each key of the family.
    """

    def __init__(
        self,
        trees: Mapping[int, BoundPeriodicTree],
        shared: Pass | None,
        names: Mapping[str, str],
        relations: Relations,
    ) -> None:
        self.trees = trees
        self._pass = shared
        self._names = names
        self._relations = relations
        self._kept: DataFrame | None = None

    @cached_property
    def _made(self) -> GroupByPass | SlicerPass:
        filters = [bound.tree.grouping.where for bound in self.trees.values()]
        if self._pass is None:
            (tree,) = (bound.tree for bound in self.trees.values())
            keys, slicing, (where,) = tree.grouping.keys, tree.slicing, filters
        else:
            keys, slicing = self._pass.keys, self._pass.slicing
            where = self._pass.filter_of(filters)
        if self._pass is not None and self._pass.engine is Engine.COMPILED:
            return slicer_pass(self.trees, keys, where, self._names, self._relations)
        return group_by_pass(self.trees, keys, slicing, where, self._names, self._relations)

    @property
    def targets(self) -> tuple[Target, ...]:
        """What it makes for each tree whose partials the compiled runtime takes."""
        return self._made.targets

    @cached_property
    def packed(self) -> DataFrame:
        """The partials of all targets, a row for each target and bucket of keys, in their order."""
        made = self._made
        session = made.frame.sparkSession
        prepare_workers(session)
        cores = cores_of(session)
        buckets = max(cores, min(_BUCKETS_PER_CORE * cores, _MOST_BUCKETS))
        time = TIME if isinstance(made, SlicerPass) else START
        return self._rows.select(*_read(made.targets, time)).mapInArrow(
            Task(_slice, targets=made.targets, time=time, buckets=buckets), PACKED
        )

    @property
    def _rows(self) -> DataFrame:
        """What is packed: rows that other answers are combined from, too, or the cheapest ones.

        Packed partials of one key and start meet later, so that Spark need not bring them together.
        """
        frame = self._made.frame
        if isinstance(self._made, SlicerPass) or self.has_rows_for_spark:
            return frame
        return within_partitions(frame)

    @property
    def has_rows_for_spark(self) -> bool:
        """Whether Spark combines some answers from the rows, which are then stored."""
        return any(bound.tree.combined_by_spark for bound in self.trees.values())

    def slices(self, number: int) -> Slices:
        """Returns the rows that Spark combines for a tree whose types the runtime does not take."""
        assert isinstance(self._made, GroupByPass)
        return self._made.slices[number]

    def keep(self) -> DataFrame:
        """Have Spark store the rows of the pass when they are first computed; returns them."""
        if self._kept is None:
            self._kept = store(self._made.frame)
        return self._kept

    def release(self) -> None:
        """Give the storage back."""
        if self._kept is not None:
            self._kept.unpersist()
            self._kept = None


def in_order(packed: Sequence[DataFrame]) -> DataFrame:
    """Returns packed partials by target and bucket, those of one together."""
    rows = packed[0]
    for other in packed[1:]:
        rows = rows.unionAll(other)
    cores = cores_of(rows.sparkSession)
    return rows.repartition(cores, TARGET, BUCKET).sortWithinPartitions(TARGET, BUCKET)


def _read(targets: Iterable[Target], time: str) -> list[str]:
    """Returns the columns that some target reads."""
    columns = {time: None}
    for target in targets:
        columns |= dict.fromkeys(target.layout.key_columns)
        columns |= dict.fromkeys(target.masks)
        for entry in target.layout.storages:
            columns |= dict.fromkeys(
                entry.columns if target.values is None else target.values[entry.component]
            )
    return list(columns)


def _slice(
    batches: Iterable[pa.RecordBatch], *, targets: tuple[Target, ...], time: str, buckets: int
) -> Iterator[pa.RecordBatch]:
    return Slicer(targets, time=time, buckets=buckets).run(batches)
