"""Events of a stream to partials, by Spark's streaming aggregation: one operator for all lanes.

Its columns are the room's, whatever the queries are. Spark's optimizer would fold what is constant
and merge what is equal, and with that change the schema of the state; `_always` and `_never` are
conditions that hold always or never, differ from each other, and are opaque to it.
"""

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql.functions import col, expr
from pyspark.sql.types import DataType

from muntin.model.aggregate import Component
from muntin.runtime.layout import INTEGER
from muntin.runtime.room import VALUE_KINDS, kind_of, stands_for
from muntin.runtime.running import START, Running, RunningLane
from muntin.spark.bind import BoundTree
from muntin.spark.events import selected
from muntin.spark.instants import micros, slice_end, slice_start
from muntin.spark.relations import Relations
from muntin.spark.slices import lift
from muntin.spark.stream_keys import KEY_TYPES, key_code

LANE = "lane"
END = "end"
BUCKET = "bucket"

# By this mark Spark knows that a column is event time: rows leave the state, and late ones are
# dropped, by comparing it with the watermark. `window` would set it on its own slices, which all
# have one width; set on ours, slices can be cut anywhere.
_WATERMARK = "spark.watermarkDelayMs"


def watermark_metadata(running: Running) -> dict[str, int]:
    """What marks a column as event time."""
    return {_WATERMARK: running.delay // 1000}


def stream_slices(
    running: Running, bound: Mapping[int, BoundTree], relations: Relations
) -> DataFrame:
    """Partials per (lane, keys, slice), each when the watermark passes the end of its slice.

    `bound` has the types of every lane, by its number.
    """
    branches = [
        relations.sql(selected(lane.tree.family, _columns(lane, bound[lane.number], running)))
        for lane in running.lanes
    ]
    events = reduce(lambda one, other: one.unionByName(other), branches)
    ends = expr(f"timestamp_micros({END})").alias(END, metadata=watermark_metadata(running))
    events = events.select(*(ends if name == END else col(name) for name in events.columns))
    lifted: dict[str, str] = {}
    for slot in running.room.value_slots:
        keep = stands_for(slot, checked=running.checked)
        lifted.update(lift(keep.component, slot, keep))
    groups = [LANE, *running.room.key_slots, START, END]
    slices = events.groupBy(*groups).agg(*(expr(sql).alias(name) for name, sql in lifted.items()))
    keys = ", ".join([LANE, *running.room.key_slots])
    return slices.withColumn(BUCKET, expr(f"pmod(hash({keys}), {running.buckets})"))


def _columns(lane: RunningLane, bound: BoundTree, running: Running) -> dict[str, str]:
    """One event as SQL: its lane, its keys, its slice, and what each column combines of it."""
    time = micros(lane.tree.family.time, bound.time_type)
    marks = iter(range(1, 1 << 30))
    columns = {LANE: f"CAST({time} % 1L AS INT) + {lane.number}"}
    keys = dict(
        zip(lane.key_slots, zip(lane.tree.family.keys, bound.keys, strict=True), strict=True)
    )
    for slot in running.room.key_slots:
        mark, kind = next(marks), KEY_TYPES[kind_of(slot)].simpleString()
        if slot in keys:
            key, field = keys[slot]
            value = key_code(field.dataType).encode(f"({key})")
            columns[slot] = f"CASE WHEN {_always(time, mark)} THEN {value} END"
        else:
            columns[slot] = f"CASE WHEN {_never(time, mark)} THEN CAST('0' AS {kind}) END"
    columns[START] = slice_start(lane.tree.slicing, time)
    columns[END] = slice_end(lane.tree.slicing, time)
    held = {one.slot: one.component for one in lane.held}
    for slot in running.room.value_slots:
        mark = next(marks)
        kind = "BIGINT" if VALUE_KINDS[kind_of(slot)].number == INTEGER else "DOUBLE"
        if slot in held:
            columns[slot] = _argument(held[slot], _always(time, mark), kind)
        else:
            columns[slot] = f"CASE WHEN {_never(time, mark)} THEN CAST(0 AS {kind}) END"
    return columns


def _argument(component: Component, always: str, kind: str) -> str:
    """What a component takes of an event: null where its filter or it itself leaves it out."""
    condition = always if component.where is None else f"{always} AND ({component.where})"
    argument = "1" if component.argument is None else component.argument
    if component.kind == "count":
        return f"CASE WHEN {condition} AND ({argument}) IS NOT NULL THEN 1L END"
    if component.kind == "count_if":
        return f"CASE WHEN {condition} AND ({argument}) THEN 1L END"
    return f"CASE WHEN {condition} THEN CAST(({argument}) AS {kind}) END"


def _always(time: str, mark: int) -> str:
    return f"{time} % 1L <> {mark}L"


def _never(time: str, mark: int) -> str:
    return f"{time} % 1L = {mark}L"


def key_types(running: Running) -> dict[str, DataType]:
    """The Spark types of all key columns."""
    return {slot: KEY_TYPES[kind_of(slot)] for slot in running.room.key_slots}
