"""Events of a stream to partials, by Spark's streaming aggregation: one operator for all lanes.

Its columns are the room's, whatever the queries are. Spark's optimizer would fold what is constant
and merge what is equal, and with that change the schema of the state; `_always` and `_never` are
conditions that hold always or never, differ from each other, and are opaque to it.
"""

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql.functions import col, expr
from pyspark.sql.types import DataType

from muntin.errors import RunError
from muntin.model.aggregate import Component
from muntin.model.query import Family, SqlText
from muntin.runtime.layout import INTEGER
from muntin.runtime.room import VALUE_KINDS, kind_of, stands_for
from muntin.runtime.running import START, Running, RunningLane
from muntin.spark.bind import BoundTree
from muntin.spark.events import selected
from muntin.spark.instants import micros, slice_end, slice_start
from muntin.spark.relations import Relations
from muntin.spark.slices import lift
from muntin.spark.stream_keys import KEY_TYPES, is_instant, key_code

LANE = "lane"
END = "end"
BUCKET = "bucket"

# Microseconds long before the first year that a timestamp can be in.
_BEFORE_TIME = -(1 << 63)

# By this mark Spark knows that a column is event time: rows leave the state, and late ones are
# dropped, by comparing it with the watermark. `window` would set it on its own slices, which all
# have one width; set on ours, slices can be cut anywhere.
_WATERMARK = "spark.watermarkDelayMs"


def watermark_metadata(running: Running) -> dict[str, int]:
    """What marks a column as event time."""
    return {_WATERMARK: running.delay // 1000}


def stream_slices(
    running: Running,
    bound: Mapping[int, BoundTree],
    records: Mapping[int, dict[str, str]],
    relations: Relations,
) -> DataFrame:
    """Partials per (lane, keys, slice), each when the watermark passes the end of its slice.

    `bound` has the types of every lane, by its number; `records` has an event as SQL, for the lanes
    of user-defined windows.
    """
    lifts = {lane.number: _columns(lane, bound[lane.number], running) for lane in running.lanes}
    lifts.update(records)
    families = {lane.number: lane.tree.family for lane in running.lanes}
    families |= {lane.number: lane.tree.family for lane in running.records}
    # Whether an event goes to one lane or to several must not show in the schema of the state,
    # where what cannot be null is not what might be.
    whole = {
        LANE: expr(f"coalesce({LANE}, 0)").alias(LANE),
        START: expr(f"coalesce({START}, 0L)").alias(START),
        END: expr(f"timestamp_micros(coalesce({END}, 0L))").alias(
            END, metadata=watermark_metadata(running)
        ),
    }
    events = relations.sql(_events(families, lifts)).where(f"{LANE} IS NOT NULL")
    events = events.select(*(whole.get(name, col(name)) for name in events.columns))
    lifted: dict[str, str] = {}
    for slot in running.room.value_slots:
        keep = stands_for(slot, checked=running.checked)
        lifted.update(lift(keep.component, slot, keep))
    groups = [LANE, *running.room.key_slots, START, END]
    slices = events.groupBy(*groups).agg(*(expr(sql).alias(name) for name, sql in lifted.items()))
    return slices.withColumn(BUCKET, expr(f"pmod({_hash(running)}, {running.buckets})"))


def _hash(running: Running) -> str:
    """A number that all rows of one key have; records have more in those columns than their key."""
    every = f"hash({', '.join([LANE, *running.room.key_slots])})"
    if not running.records:
        return every
    cases = [
        f"WHEN {lane.number} THEN hash({', '.join([LANE, *lane.key_slots])})"
        for lane in running.records
    ]
    return f"CASE {LANE} {' '.join(cases)} ELSE {every} END"


def _events(families: Mapping[int, Family], lifts: Mapping[int, dict[str, str]]) -> SqlText:
    """Each event once for every lane that takes it. The source stands in the plan once: it is read
    once, and Spark would not let a checkpoint's number of sources change."""
    if len(lifts) == 1:
        ((number, columns),) = lifts.items()
        return selected(families[number], columns)
    first = next(iter(families.values()))
    structs = []
    for number, columns in lifts.items():
        family = families[number]
        if family.relation != first.relation:
            raise RunError(
                f"the queries of a stream read one relation, and these read {first.relation} and "
                f"{family.relation}; put what differs into WHERE, or start a pipeline for each"
            )
        fields = ", ".join(f"'{name}', {sql}" for name, sql in columns.items())
        struct = f"named_struct({fields})"
        structs.append(f"CASE WHEN ({family.where}) THEN {struct} END" if family.where else struct)
    return first.relation.inside(
        f"SELECT inline(array({', '.join(structs)})) FROM ", f" WHERE ({first.time}) IS NOT NULL"
    )


def _columns(lane: RunningLane, bound: BoundTree, running: Running) -> dict[str, str]:
    """One event as SQL, for a lane of slices."""
    time = micros(lane.tree.family.time, bound.time_type)
    keys = zip(lane.key_slots, lane.tree.family.keys, bound.keys, strict=True)
    types = {part: bound.types[one] for one in bound.tree.aggregates for part in one.components}
    return event_columns(
        running,
        lane=lane.number,
        time=time,
        keys={slot: key_code(one.dataType).encode(f"({key})") for slot, key, one in keys},
        span=(slice_start(lane.tree.slicing, time), slice_end(lane.tree.slicing, time)),
        held={one.slot: (one.component, types[one.component]) for one in lane.held},
    )


def event_columns(
    running: Running,
    *,
    lane: int,
    time: str,
    keys: Mapping[str, str],
    span: tuple[str, str],
    held: Mapping[str, tuple[Component, DataType]],
) -> dict[str, str]:
    """One event as SQL: its lane, its keys, its slice, and what each column combines of it."""
    marks = iter(range(1, 1 << 30))
    columns = {LANE: f"CASE WHEN {_always(time, next(marks))} THEN {lane} END"}
    for slot in running.room.key_slots:
        mark, kind = next(marks), KEY_TYPES[kind_of(slot)].simpleString()
        if slot in keys:
            columns[slot] = f"CASE WHEN {_always(time, mark)} THEN {keys[slot]} END"
        else:
            columns[slot] = f"CASE WHEN {_never(time, mark)} THEN CAST('0' AS {kind}) END"
    columns[START], columns[END] = span
    for slot in running.room.value_slots:
        mark = next(marks)
        kind = "BIGINT" if VALUE_KINDS[kind_of(slot)].number == INTEGER else "DOUBLE"
        if slot in held:
            columns[slot] = _argument(held[slot][0], _always(time, mark), kind, held[slot][1])
        else:
            columns[slot] = f"CASE WHEN {_never(time, mark)} THEN CAST(0 AS {kind}) END"
    return columns


def _argument(component: Component, always: str, kind: str, answer: DataType) -> str:
    """What a component takes of an event: null where its filter or it itself leaves it out."""
    condition = always if component.where is None else f"{always} AND ({component.where})"
    argument = "1" if component.argument is None else component.argument
    if component.kind == "count":
        return f"CASE WHEN {condition} AND ({argument}) IS NOT NULL THEN 1L END"
    if component.kind == "count_if":
        return f"CASE WHEN {condition} AND ({argument}) THEN 1L END"
    value = f"CAST(({argument}) AS {kind})"
    if is_instant(answer):
        value = key_code(answer).encode(f"({argument})")
    return f"CASE WHEN {condition} THEN {value} END"


def _always(time: str, mark: int) -> str:
    return f"{time} <> {_BEFORE_TIME + mark}L"


def _never(time: str, mark: int) -> str:
    return f"{time} = {_BEFORE_TIME + mark}L"


def key_types(running: Running) -> dict[str, DataType]:
    """The Spark types of all key columns."""
    return {slot: KEY_TYPES[kind_of(slot)] for slot in running.room.key_slots}
