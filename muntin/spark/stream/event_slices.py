"""Hands the events of a stream to the slicer: one projection, and packed slices for all trees.

Nothing of it is in the state. The rows that come out have no event time, so Spark drops none of
them: the operator knows which windows were given out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, StructType

from muntin.aggregates.aggregate import Component
from muntin.aggregates.representations import INTEGER
from muntin.errors import RunError
from muntin.model.time import MILLISECOND, SECOND
from muntin.model.trees import Tree
from muntin.model.windows import Edges, Slicing
from muntin.optimizer.edges import common_slicing
from muntin.runtime.slicer.late_rows import LateRows, OpenWindowFilter
from muntin.runtime.slicer.packing import BUCKET, ROWS, TREE
from muntin.runtime.slicer.slicer import Slicer
from muntin.runtime.slicer.slicer_tree import SlicerTree
from muntin.runtime.state.figures import ALL
from muntin.runtime.state.stream_tree import EVENTS, START, StreamTree
from muntin.runtime.storage.layout import Layout
from muntin.runtime.storage.table import component_storage
from muntin.spark.binding.bound_tree import BoundTree
from muntin.spark.binding.grouping_sql import TIME
from muntin.spark.engine.schemas import PACKED
from muntin.spark.engine.worker import Task, prepare_workers
from muntin.spark.stream.event_columns import ROW, EventColumns, Events

# The setting in which a task finds the watermark up to which answers are out: Spark hands settings
# of the session to its tasks.
GIVEN = "spark.muntin.given"
_EVENTS = component_storage(Component(kind="count"), value_type=INTEGER, name=EVENTS, ansi=False)


def packed_slices(
    trees: Sequence[StreamTree],
    bound: Mapping[int, BoundTree],
    record_columns: Mapping[int, Iterable[tuple[str, DataType]]],
    events: Events,
    *,
    buckets: tuple[int, ...],
    late: StructType | None = None,
) -> DataFrame:
    """Returns packed slices and records of all trees, a row for each tree and bucket of keys.

    By the number of a tree, `bound` has its types, and `record_columns` the Spark SQL and the type
    of each column of its records. With `late`, the columns of whole rows, those that no open window
    takes are packed, too.
    """
    slicer_trees = []
    for tree in trees:
        number = tree.number
        if tree.slices is None:
            slicer_trees.append(
                _tree_of_records(number, record_columns[number], bound[number], events)
            )
        else:
            slicer_trees.append(_tree_of_slices(number, *tree.slices, bound[number], events))
    slicer_trees.append(_tree_of_every_event([tree.slicing for tree in slicer_trees], events))
    filters = None
    if late is not None:
        assert isinstance(events, EventColumns)
        filters = tuple(_window_filter(each.tree, events) for each in bound.values())
        events.whole_rows(late)
    frame = events.frame()
    # A function takes the interpreter that is set when it is put into a plan.
    prepare_workers(frame.sparkSession)
    return frame.mapInArrow(
        Task(_slice, slicer_trees=tuple(slicer_trees), buckets=buckets, filters=filters), PACKED
    )


def _tree_of_slices(
    number: int, layout: Layout, slicing: Slicing, bound: BoundTree, events: Events
) -> SlicerTree:
    """Returns what the slicer makes for a tree that reads partials."""
    grouping = bound.tree.grouping
    own = events.of(grouping)
    values = {
        entry.component: own.arguments.of(entry, own.guard(grouping)) for entry in layout.storages
    }
    return SlicerTree(
        number=number,
        layout=Layout(
            key_columns=_key_columns(bound, own), start=START, storages=(*layout.storages, _EVENTS)
        ),
        slicing=slicing,
        masks=own.masks(grouping),
        values={**values, _EVENTS.component: values.get(_EVENTS.component, ())},
    )


def _tree_of_records(
    number: int, columns: Iterable[tuple[str, DataType]], bound: BoundTree, events: Events
) -> SlicerTree:
    """Returns what the slicer makes for a tree whose records are events."""
    grouping = bound.tree.grouping
    own = events.of(grouping)
    return SlicerTree(
        number=number,
        layout=Layout(key_columns=_key_columns(bound, own), start=START, storages=()),
        # A watermark is in whole milliseconds, so events need not be told apart more finely.
        slicing=Slicing(edges=(Edges(period=MILLISECOND),), rate=SECOND / MILLISECOND),
        masks=own.masks(grouping),
        values={},
        is_whole=True,
        carried=tuple(own.column(sql, kind, grouping) for sql, kind in columns),
    )


def _tree_of_every_event(slicings: Sequence[Slicing], events: Events) -> SlicerTree:
    """Returns what the slicer makes to count the events that are late."""
    return SlicerTree(
        number=ALL,
        layout=Layout(key_columns=(), start=START, storages=(_EVENTS,)),
        slicing=common_slicing(slicings),
        masks=events.every_event,
        values={_EVENTS.component: ()},
    )


def _window_filter(tree: Tree, events: EventColumns) -> OpenWindowFilter:
    """Returns which events a tree takes, and for how long."""
    masks = events.masks(tree.grouping)
    if tree.record_step is None:
        return OpenWindowFilter(masks=masks, windows=tree.periodic_windows)
    return OpenWindowFilter(masks=masks, step=tree.record_step)


def _key_columns(bound: BoundTree, events: EventColumns) -> tuple[str, ...]:
    grouping = bound.tree.grouping
    return tuple(
        events.column(key, field.dataType, grouping)
        for key, field in zip(grouping.keys, bound.keys, strict=True)
    )


def _slice(
    batches: Iterable[pa.RecordBatch],
    *,
    slicer_trees: tuple[SlicerTree, ...],
    buckets: tuple[int, ...],
    filters: tuple[OpenWindowFilter, ...] | None,
) -> Iterator[pa.RecordBatch]:
    # Every bucket is called in every batch, so that it knows the watermark of the one before.
    yield pa.RecordBatch.from_pydict(
        {
            BUCKET: pa.array(buckets, pa.int32()),
            TREE: pa.array(np.full(len(buckets), ALL), pa.int32()),
            ROWS: pa.array([b""] * len(buckets), pa.binary()),
        }
    )
    labels = pa.array(buckets, pa.int32())
    late = None
    if filters is not None:
        late = LateRows(filters, time=TIME, column=ROW, buckets=buckets, given=_emitted_watermark())
        batches = late.without(iter(batches))
    for rows in Slicer(slicer_trees, time=TIME, buckets=len(buckets)).run(batches):
        place = rows.schema.get_field_index(BUCKET)
        yield rows.set_column(place, BUCKET, labels.take(rows.column(BUCKET)))
    if late is not None:
        yield from late.packed


def _emitted_watermark() -> int:
    """Returns the watermark up to which answers are out; the driver sets it for each batch."""
    context = TaskContext.get()
    watermark = None if context is None else context.getLocalProperty(GIVEN)
    if watermark is None:
        raise RunError("Spark did not pass on the watermark, so late rows cannot be found")
    return int(watermark)
