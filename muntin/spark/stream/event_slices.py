"""Events of a stream to partials, by Spark's streaming aggregation: one operator for all lanes.

Its columns are the room's, whatever the queries are. Spark's optimizer would fold what is constant
and merge what is equal, and with that change the schema of the state; `_always` and `_never` are
conditions that hold always or never, differ from each other, and are opaque to it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql.functions import col, expr
from pyspark.sql.types import DataType, LongType, TimestampType

from muntin.errors import RunError
from muntin.model.aggregates.aggregate import Component
from muntin.model.query import Grouping
from muntin.model.sql_text import SqlText, quoted
from muntin.runtime.columns.layout import kept
from muntin.runtime.stream_plan.component_columns import Held, functions_of
from muntin.runtime.stream_plan.room import MOMENTS, Use, kind_of
from muntin.runtime.stream_plan.stream_plan import START, RunningLane, StreamPlan
from muntin.spark.batch.slices import OVERFLOWED
from muntin.spark.binding.bind_periodic import BoundTree
from muntin.spark.binding.grouping_sql import selected
from muntin.spark.binding.instants import micros, slice_end, slice_start
from muntin.spark.binding.relations import Relations
from muntin.spark.stream.key_codes import KEY_TYPES, is_instant, key_code
from muntin.spark.stream.packing import BUCKET, END, LANE

_LOW_HALF = (1 << 32) - 1

# Microseconds long before the first year that a timestamp can be in.
_BEFORE_TIME = -(1 << 63)

# By this mark Spark knows that a column is event time: rows leave the state, and late ones are
# dropped, by comparing it with the watermark. `window` would set it on its own slices, which all
# have one width; set on ours, slices can be cut anywhere.
_WATERMARK = "spark.watermarkDelayMs"


def watermark_metadata(running: StreamPlan) -> dict[str, int]:
    """What marks a column as event time."""
    return {_WATERMARK: running.delay // 1000}


def stream_slices(
    running: StreamPlan,
    bound: Mapping[int, BoundTree],
    records: Mapping[int, dict[str, str]],
    relations: Relations,
    *,
    watched: str,
) -> DataFrame:
    """Partials per (lane, keys, slice), each when the watermark passes the end of its slice.

    `bound` has the types of every lane, by its number; `records` has an event as SQL, for the lanes
    of data windows. `watched` is the column that the watermark follows.
    """
    lifts = {lane.number: _columns(lane, bound[lane.number], running) for lane in running.lanes}
    lifts.update(records)
    groupings = {lane.number: lane.tree.grouping for lane in running.lanes}
    groupings |= {lane.number: lane.tree.grouping for lane in running.records}
    # Whether an event goes to one lane or to several must not show in the schema of the state,
    # where what cannot be null is not what might be.
    whole = {
        LANE: expr(f"coalesce({LANE}, 0)").alias(LANE),
        START: expr(f"coalesce({START}, 0L)").alias(START),
        END: expr(f"timestamp_micros(coalesce({END}, 0L))").alias(
            END, metadata=watermark_metadata(running)
        ),
    }
    events = relations.sql(_events(groupings, lifts, watched)).where(f"{LANE} IS NOT NULL")
    events = events.select(*(whole.get(name, col(name)) for name in events.columns))
    groups = [LANE, *running.room.key_slots, START, END]
    slices = events.groupBy(*groups).agg(*map(expr, _aggregates(running)))
    # What no lane uses goes no further.
    used = {name for lane in running.lanes for name in lane.key_slots}
    used |= {n for lane in running.records for n in (*lane.key_slots, *lane.columns.values())}
    keys = [name for name in running.room.key_slots if name in used]
    return slices.selectExpr(
        f"{_bucket(running)} AS {BUCKET}",
        f"{_needing_all(running)} AS {LANE}",
        *keys,
        START,
        END,
        *(f"{sql} AS {name}" for name, sql in _partials(running).items()),
    )


def _needing_all(running: StreamPlan) -> str:
    """The lane, as SQL that seems to need every column: Spark would drop the others, and with them
    their places in the state."""
    absent = " OR ".join(f"{slot} IS NULL" for slot in running.room.value_slots)
    return f"CASE WHEN {START} = {_BEFORE_TIME}L AND ({absent}) THEN -1 ELSE {LANE} END"


def _aggregates(running: StreamPlan) -> list[str]:
    """The aggregate in each column of the room, as SQL."""
    functions = functions_of(running.held, ansi=running.ansi)
    calls = []
    for slot in running.room.value_slots:
        # Any function does for a column to spare, if it has the types of the column's kind.
        function = functions.get(slot, MOMENTS.get(kind_of(slot), "max"))
        values = ", ".join(_inputs(slot))
        # Without the filter Spark would read and write the partial of every column for every event,
        # also of those to spare.
        calls.append(f"{function}({values}) FILTER (WHERE {slot} IS NOT NULL) AS {slot}")
    return calls


def _partials(running: StreamPlan) -> dict[str, str]:
    """The columns of all lanes' partials, each as SQL over the room's columns."""
    found: dict[str, str] = {}
    for held in running.held:
        keep = kept(held.component, number=held.number, name=held.name, ansi=running.ansi)
        found.update(zip(keep.columns, _parts(held), strict=True))
    return found


def _parts(held: Held) -> list[str]:
    """The columns of a component's partials as SQL. None fails, whatever a column holds of a lane
    that has it for something else, or had."""
    part = held.component.part
    if part.name == "sum" and len(held.slots) == 2:
        high, low = held.slots
        carried = f"({high} + shiftright({low}, 32))"
        word = f"shiftleft({carried}, 32) | ({low} & {_LOW_HALF}L)"
        fits = f"{carried} BETWEEN {-1 << 31} AND {(1 << 31) - 1}"
        # An overflow is an error of the queries that ask for this sum, not of all in the lane.
        return [word, f"CASE WHEN NOT ({fits}) THEN {OVERFLOWED}L ELSE 0L END"]
    calls = {
        name: f"coalesce({slot}, 0L)" if call.function in ("count", "count_if") else slot
        for (name, call), slot in zip(part.calls.items(), held.slots, strict=True)
    }
    return [sql.format(**calls) for sql in part.scalars.values()]


def _inputs(slot: str) -> tuple[str, ...]:
    """The columns of an event that a column of the room aggregates."""
    return (slot, f"{slot}_y") if kind_of(slot) == "covariance" else (slot,)


def _bucket(running: StreamPlan) -> str:
    """The label of the bucket of a row's key."""
    labels = ", ".join(map(str, running.buckets))
    return f"element_at(array({labels}), pmod({_hash(running)}, {len(running.buckets)}) + 1)"


def _hash(running: StreamPlan) -> str:
    """A number that all rows of one key have; records have more in those columns than their key."""
    every = f"hash({', '.join([LANE, *running.room.key_slots])})"
    if not running.records:
        return every
    cases = [
        f"WHEN {lane.number} THEN hash({', '.join([LANE, *lane.key_slots])})"
        for lane in running.records
    ]
    return f"CASE {LANE} {' '.join(cases)} ELSE {every} END"


def _events(
    groupings: Mapping[int, Grouping], lifts: Mapping[int, dict[str, str]], watched: str
) -> SqlText:
    """Each event once for every lane that takes it. The source stands in the plan once: it is read
    once, and Spark would not let a checkpoint's number of sources change."""
    if len(lifts) == 1:
        ((number, columns),) = lifts.items()
        return selected(_filtered_above_watermark(groupings[number], watched), columns)
    first = next(iter(groupings.values()))
    structs = []
    for number, columns in lifts.items():
        grouping = groupings[number]
        if grouping.relation != first.relation:
            raise RunError(
                f"the queries of a stream read one relation, and these read {first.relation} and "
                f"{grouping.relation}; put what differs into WHERE, or start a pipeline for each"
            )
        fields = ", ".join(f"'{name}', {sql}" for name, sql in columns.items())
        struct = f"named_struct({fields})"
        structs.append(
            f"CASE WHEN ({grouping.where}) THEN {struct} END" if grouping.where else struct
        )
    return first.relation.inside(
        f"SELECT inline(array({', '.join(structs)})) FROM ", f" WHERE ({first.time}) IS NOT NULL"
    )


def _filtered_above_watermark(grouping: Grouping, watched: str) -> Grouping:
    """Returns the grouping with a filter that Spark does not move below the watermark.

    The watermark tells up to when events were read, and a query that is added is complete from
    there on. Below a filter it would follow only the events of the queries that ran before. Spark
    moves every condition down that does not mention the watched column.
    """
    if not grouping.where:
        return grouping
    unmet = _never(micros(quoted(watched), TimestampType()), 0)
    return replace(grouping, where=f"({grouping.where}) OR {unmet}")


def _columns(lane: RunningLane, bound: BoundTree, running: StreamPlan) -> dict[str, str]:
    """One event as SQL, for a lane of slices."""
    time = micros(lane.tree.grouping.time, bound.time_type)
    keys = zip(lane.key_slots, lane.tree.grouping.keys, bound.keys, strict=True)
    types = {part: bound.types[one] for one in bound.tree.aggregates for part in one.components}
    return event_columns(
        running,
        lane=lane.number,
        time=time,
        keys={slot: key_code(one.dataType).encode(f"({key})") for slot, key, one in keys},
        span=(slice_start(lane.tree.slicing, time), slice_end(lane.tree.slicing, time)),
        held=lane.held,
        types=types,
    )


def event_columns(
    running: StreamPlan,
    *,
    lane: int,
    time: str,
    keys: Mapping[str, str],
    span: tuple[str, str],
    held: Iterable[Held],
    types: Mapping[Component, DataType],
) -> dict[str, str]:
    """One event as SQL: its lane, its keys, its slice, and what each column combines of it.

    `types` has those of the answers; of components that no answer has, integers.
    """
    marks = iter(range(1, 1 << 30))
    columns = {LANE: f"CASE WHEN {_always(time, next(marks))} THEN {lane} END"}
    for slot in running.room.key_slots:
        mark, kind = next(marks), KEY_TYPES[kind_of(slot)].simpleString()
        if slot in keys:
            columns[slot] = f"CASE WHEN {_always(time, mark)} THEN {keys[slot]} END"
        else:
            columns[slot] = f"CASE WHEN {_never(time, mark)} THEN CAST('0' AS {kind}) END"
    columns[START], columns[END] = span
    parts = {
        slot: (one.component, use)
        for one in held
        for slot, use in one.uses(ansi=running.ansi).items()
    }
    for slot in running.room.value_slots:
        mark = next(marks)
        kind = "BIGINT" if kind_of(slot) in ("integer", "extreme") else "DOUBLE"
        for index, name in enumerate(_inputs(slot)):
            if slot in parts:
                component, use = parts[slot]
                answer = types.get(component, LongType())
                always = _always(time, mark)
                columns[name] = _argument(component, use, use.of[index], always, kind, answer)
            else:
                columns[name] = f"CASE WHEN {_never(time, mark)} THEN CAST(0 AS {kind}) END"
    return columns


def _argument(
    component: Component, use: Use, which: str, always: str, kind: str, answer: DataType
) -> str:
    """What a component takes of an event: null where its filter or it itself leaves it out."""
    condition = always if component.where is None else f"{always} AND ({component.where})"
    if use.role == "count_if":
        return f"CASE WHEN {condition} AND ({component.arguments[0]}) THEN 1L END"
    if use.role == "count":
        return f"CASE WHEN {condition} AND ({component.values()[which]}) IS NOT NULL THEN 1L END"
    value = component.values(kind)[which]
    if is_instant(answer):
        value = key_code(answer).encode(f"({component.arguments[0]})")
    if use.role == "high":
        value = f"shiftright({value}, 32)"
    elif use.role == "low":
        value = f"{value} & {_LOW_HALF}L"
    return f"CASE WHEN {condition} THEN {value} END"


def _always(time: str, mark: int) -> str:
    return f"{time} <> {_BEFORE_TIME + mark}L"


def _never(time: str, mark: int) -> str:
    return f"{time} = {_BEFORE_TIME + mark}L"


def key_types(running: StreamPlan) -> dict[str, DataType]:
    """The Spark types of all key columns."""
    return {slot: KEY_TYPES[kind_of(slot)] for slot in running.room.key_slots}
