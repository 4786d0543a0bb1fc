"""Runs the compiled runtime over sorted slices, in Spark's Python workers."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import DoubleType, IntegerType, LongType, StructField, StructType

from muntin.model.plan import Tree
from muntin.runtime.columns.layout import Layout, all_slots
from muntin.runtime.periodic.tree import BEGIN, NODE, TreeRuntime
from muntin.spark.batch.slices import START, Slices
from muntin.spark.batch.time_split import PART, TimeSplit, own_answers, with_parts
from muntin.spark.worker import begin_task, same_python


@dataclass(frozen=True, kw_only=True)
class Ordered:
    """Slices as the runtime reads them: those of a key in one partition, in order.

    If keys are too few for all cores, `parts` says how they are split by time.
    """

    frame: DataFrame
    layout: Layout
    parts: TimeSplit | None = None


def in_order(slices: Slices, *, parts: TimeSplit | None, in_place: bool) -> Ordered:
    """Returns slices ready for the runtime, by key and, if `parts` says so, by time.

    With `in_place` their events were moved before they were cut, so they need not be moved.
    """
    layout, frame = slices.layout, slices.frame
    groups = layout.key_columns if parts is None else (*layout.key_columns, PART)
    if not in_place:
        frame = (frame if parts is None else with_parts(frame, parts)).repartition(*groups)
    return Ordered(frame=frame.sortWithinPartitions(*groups, START), layout=layout, parts=parts)


def combine_compiled(tree: Tree, ordered: Ordered) -> DataFrame:
    """Returns the answers of a tree's queries: node number, keys, window begin, typed slots."""
    layout, frame = ordered.layout, ordered.frame
    keys = [frame.schema[name] for name in layout.key_columns]
    slots = slot_fields(all_slots(tree, layout))
    schema = StructType(
        [StructField(NODE, IntegerType(), False), *keys, StructField(BEGIN, LongType()), *slots]
    )
    same_python(frame.sparkSession)
    parts = [] if ordered.parts is None else [PART]
    columns = [name for entry in layout.kept for name in entry.columns]
    return frame.select(*layout.key_columns, *parts, START, *columns).mapInArrow(
        partial(_run, tree=tree, layout=layout, parts=ordered.parts), schema
    )


def slot_fields(slots: Iterable[str]) -> list[StructField]:
    """Returns Spark's columns for the runtime's slots: `i...` are integers, others floats."""
    return [
        StructField(slot, LongType() if slot.startswith("i") else DoubleType()) for slot in slots
    ]


def _run(
    batches: Iterable[pa.RecordBatch], *, tree: Tree, layout: Layout, parts: TimeSplit | None
) -> Iterator[pa.RecordBatch]:
    begin_task()
    if parts is None:
        return TreeRuntime(tree, layout).run(batches)
    # To the runtime a part is a key like others.
    layout = replace(layout, key_columns=(*layout.key_columns, PART))
    return own_answers(TreeRuntime(tree, layout).run(batches), parts)
