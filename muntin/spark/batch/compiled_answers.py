"""Runs the compiled runtime over packed slices, in Spark's Python workers."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.types import (
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StructField,
    StructType,
)

from muntin.aggregates.representations import FLOAT, INTEGER
from muntin.model.trees import PeriodicTree
from muntin.runtime.periodic.tree import BEGIN, NODE, TreeRuntime
from muntin.runtime.slicer.packing import BUCKET, PART, ROWS, TARGET, unpack
from muntin.runtime.storage.layout import (
    Layout,
    all_slots,
    cast_answer_rows,
    in_slot_order,
    slot_type,
)
from muntin.spark.engine.worker import Task, arrow_schema, prepare_workers

# Buckets of a tree run together up to so many bytes: a run has a cost of its own for each node.
_BYTES_AT_ONCE = 1 << 25


@dataclass(frozen=True, kw_only=True)
class TreeRun:
    """A tree to run: the layout of its slices, and the number of its first node among all."""

    tree: PeriodicTree
    layout: Layout
    first: int

    def answers(self, packed: list[bytes]) -> Iterator[pa.RecordBatch]:
        """Yields the answers from packed slices, all of some keys."""
        slices = unpack(packed, self.layout)
        if self.tree.time_part is None:
            return TreeRuntime(self.tree, self.layout).run([slices])
        # To the runtime a part is a key like others.
        layout = replace(self.layout, key_columns=(*self.layout.key_columns, PART))
        return _own_answers(TreeRuntime(self.tree, layout).run([slices]), self.tree.time_part)


def combine_compiled(
    runs: Mapping[int, TreeRun], packed: DataFrame, keys: Iterable[StructField]
) -> DataFrame:
    """Returns the answers of all trees: node number, keys, window begin, typed slots.

    `packed` has the slices of the trees by their numbers, in order; `keys` are the columns of all
    keys, null in the answers of trees that do not have them.
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
    return packed.mapInArrow(Task(_run, runs=runs, schema=arrow_schema(schema)), schema)


def slot_fields(slots: Iterable[str]) -> list[StructField]:
    """Returns Spark's columns for the runtime's slots."""
    return [StructField(slot, _spark_type(slot_type(slot))) for slot in slots]


def _spark_type(value_type: str) -> DataType:
    numbers: dict[str, DataType] = {INTEGER: LongType(), FLOAT: DoubleType()}
    return numbers.get(value_type) or DataType.fromDDL(value_type)


def _run(
    batches: Iterable[pa.RecordBatch], *, runs: Mapping[int, TreeRun], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    for target, packed in _by_target(batches):
        run = runs.get(target)
        if run is not None:
            for batch in run.answers(packed):
                yield _in_columns(batch, run.first, schema)


def _by_target(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, list[bytes]]]:
    """Yields packed rows of a target, whole buckets of them, as many as run at once."""
    place: tuple[int, int] | None = None
    waiting: list[bytes] = []
    size = 0
    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in (TARGET, BUCKET, ROWS))
        for target, bucket, rows in zip(*columns, strict=True):
            is_full = size >= _BYTES_AT_ONCE and place != (target, bucket)
            if place is not None and (place[0] != target or is_full):
                yield place[0], waiting
                waiting, size = [], 0
            place = target, bucket
            waiting.append(rows)
            size += len(rows)
    if place is not None:
        yield place[0], waiting


def _in_columns(batch: pa.RecordBatch, first: int, schema: pa.Schema) -> pa.RecordBatch:
    """Returns the answers of one tree in the columns of all; columns it lacks are null."""
    place = batch.schema.get_field_index(NODE)
    numbers = pc.add(batch.column(place), np.int32(first))
    return cast_answer_rows(batch.set_column(place, NODE, numbers), schema)


def _own_answers(batches: Iterable[pa.RecordBatch], width: int) -> Iterator[pa.RecordBatch]:
    """Yields the answers whose window begins in the part that computed them."""
    for batch in batches:
        begin, part = batch.column(BEGIN), batch.column(PART)
        mine = pc.and_(pc.greater_equal(begin, part), pc.less(begin, pc.add(part, width)))
        yield batch.filter(mine).drop_columns([PART])
