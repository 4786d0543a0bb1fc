"""Runs the compiled runtime in Spark's Python workers: events to slices, slices to answers.

Workers import this module, so it imports neither the parser nor the optimizer.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from muntin.model.trees import DataTree, PeriodicTree
from muntin.runtime.data_windows.read_records import RecordLayout
from muntin.runtime.data_windows.tree import END, DataTreeRuntime
from muntin.runtime.periodic.tree import BEGIN, NODE, TreeRuntime
from muntin.runtime.slicer.packing import BUCKET, PART, ROWS, TREE, unpack
from muntin.runtime.slicer.slicer import Slicer
from muntin.runtime.slicer.slicer_tree import SlicerTree
from muntin.runtime.storage.layout import Layout, all_slots, cast_answer_rows, in_slot_order
from muntin.spark.engine.schemas import PACKED, arrow_schema, slot_fields
from muntin.spark.engine.session_kind import cores_of
from muntin.spark.engine.worker import Task, prepare_workers

# Few cores get several buckets each, so that all have about as much to do.
_MOST_BUCKETS = 64
_BUCKETS_PER_CORE = 8
# Buckets of a tree run together up to so many bytes: a run has a cost of its own for each node.
_BYTES_AT_ONCE = 1 << 25


def pack_slices(rows: DataFrame, slicer_trees: tuple[SlicerTree, ...], time: str) -> DataFrame:
    """Returns the partials of all trees, a row for each tree and bucket of keys.

    `rows` are events or finer partials, with their time in the column `time`.
    """
    session = rows.sparkSession
    prepare_workers(session)
    cores = cores_of(session)
    buckets = max(cores, min(_BUCKETS_PER_CORE * cores, _MOST_BUCKETS))
    task = Task(_run_slicer, slicer_trees=slicer_trees, time=time, buckets=buckets)
    return rows.select(*_input_columns(slicer_trees, time)).mapInArrow(task, PACKED)


def _input_columns(slicer_trees: Iterable[SlicerTree], time: str) -> list[str]:
    columns = {time: None}
    for tree in slicer_trees:
        columns |= dict.fromkeys((*tree.layout.key_columns, *tree.masks))
        for storage in tree.layout.storages:
            columns |= dict.fromkeys(
                storage.columns if tree.values is None else tree.values[storage.component]
            )
    return list(columns)


def _run_slicer(
    batches: Iterable[pa.RecordBatch],
    *,
    slicer_trees: tuple[SlicerTree, ...],
    time: str,
    buckets: int,
) -> Iterator[pa.RecordBatch]:
    return Slicer(slicer_trees, time=time, buckets=buckets).run(batches)


@dataclass(frozen=True, kw_only=True)
class TreeRun:
    """A tree to run, the layout of its slices, and the number of its first node among all nodes."""

    tree: PeriodicTree
    layout: Layout
    first: int

    def answers(self, packed: list[bytes]) -> Iterator[pa.RecordBatch]:
        """Yields the answers from packed slices, which are all slices of their keys."""
        slices = unpack(packed, self.layout)
        if self.tree.time_part is None:
            return TreeRuntime(self.tree, self.layout).run([slices])
        # To the runtime a part is a key like others.
        layout = replace(self.layout, key_columns=(*self.layout.key_columns, PART))
        return _drop_overlap(TreeRuntime(self.tree, layout).run([slices]), self.tree.time_part)


def combine_slices(
    runs: Mapping[int, TreeRun], packed: DataFrame, keys: Iterable[StructField]
) -> DataFrame:
    """Returns the answers of all trees: node number, keys, window begin, typed slots.

    `packed` has the slices of the trees by their numbers, in order. `keys` are the columns of all
    keys; a key that a tree does not have is null in its answers.
    """
    slots: dict[str, None] = {}
    for run in runs.values():
        slots |= dict.fromkeys(all_slots(run.tree, run.layout))
    schema = StructType(
        [
            StructField(NODE, IntegerType(), False),
            *keys,
            StructField(BEGIN, LongType()),
            *slot_fields(in_slot_order(slots)),
        ]
    )
    prepare_workers(packed.sparkSession)
    return packed.mapInArrow(Task(_run_trees, runs=runs, schema=arrow_schema(schema)), schema)


def _run_trees(
    batches: Iterable[pa.RecordBatch], *, runs: Mapping[int, TreeRun], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    for tree, packed in _group_by_tree(batches):
        run = runs.get(tree)
        if run is not None:
            for batch in run.answers(packed):
                yield _fit_to_schema(batch, run.first, schema)


def _group_by_tree(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, list[bytes]]]:
    """Yields trees with packed rows of whole buckets, about as many bytes as run together."""
    place: tuple[int, int] | None = None
    waiting: list[bytes] = []
    size = 0
    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in (TREE, BUCKET, ROWS))
        for tree, bucket, rows in zip(*columns, strict=True):
            is_full = size >= _BYTES_AT_ONCE and place != (tree, bucket)
            if place is not None and (place[0] != tree or is_full):
                yield place[0], waiting
                waiting, size = [], 0
            place = tree, bucket
            waiting.append(rows)
            size += len(rows)
    if place is not None:
        yield place[0], waiting


def _fit_to_schema(batch: pa.RecordBatch, first: int, schema: pa.Schema) -> pa.RecordBatch:
    """Returns the answers of one tree in the columns of all trees; missing columns are null."""
    place = batch.schema.get_field_index(NODE)
    numbers = pc.add(batch.column(place), np.int32(first))
    return cast_answer_rows(batch.set_column(place, NODE, numbers), schema)


def _drop_overlap(batches: Iterable[pa.RecordBatch], width: int) -> Iterator[pa.RecordBatch]:
    """Yields the answers whose window begins in the part of time that computed them."""
    for batch in batches:
        begin, part = batch.column(BEGIN), batch.column(PART)
        mine = pc.and_(pc.greater_equal(begin, part), pc.less(begin, pc.add(part, width)))
        yield batch.filter(mine).drop_columns([PART])


def combine_records(tree: DataTree, records: DataFrame, layout: RecordLayout) -> DataFrame:
    """Returns the answers of a tree of data windows: node number, keys, window begin and end, typed
    slots. `records` has the records of each key in one partition, in order."""
    keys = [records.schema[name] for name in layout.layout.key_columns]
    schema = StructType(
        [
            StructField(NODE, IntegerType(), False),
            *keys,
            StructField(BEGIN, LongType()),
            StructField(END, LongType()),
            *slot_fields(all_slots(tree, layout.layout)),
        ]
    )
    prepare_workers(records.sparkSession)
    task = Task(_run_data_tree, tree=tree, layout=layout, schema=arrow_schema(schema))
    return records.mapInArrow(task, schema)


def _run_data_tree(
    batches: Iterable[pa.RecordBatch], *, tree: DataTree, layout: RecordLayout, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    for answers in DataTreeRuntime(tree, layout).run(batches):
        yield cast_answer_rows(answers, schema)
