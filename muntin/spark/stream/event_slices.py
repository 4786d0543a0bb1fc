"""Hands the events of a stream to the slicer: one projection, and packed slices for all lanes.

Nothing of it is in the state. The rows that come out have no event time, so Spark drops none of
them: the operator knows which windows were given out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, TimestampType

from muntin.errors import RunError
from muntin.model.aggregates.aggregate import Component
from muntin.model.aggregates.table import INTEGER
from muntin.model.passes import common_filter
from muntin.model.query import Grouping
from muntin.model.slicing import Edges, Slicing
from muntin.model.sql_text import SqlText, only_where, quoted
from muntin.model.time import MILLISECOND, SECOND
from muntin.runtime.columns.layout import Kept, Layout, kept
from muntin.runtime.slicer.packing import BUCKET, ROWS, TARGET
from muntin.runtime.slicer.slicer import Slicer
from muntin.runtime.slicer.target import Target
from muntin.runtime.state.lane import EVENTS, START, Lane
from muntin.runtime.state.late_rows import ALL
from muntin.runtime.state.record_lane import RecordLane, grains
from muntin.share.slicing.edges import common_slicing
from muntin.spark.batch.pass_slices import PACKED
from muntin.spark.batch.safe_expressions import SafeExpressions
from muntin.spark.batch.slicer_pass import TIME, Arguments, Conditions
from muntin.spark.binding.bound_tree import AnyBoundTree
from muntin.spark.binding.grouping_sql import selected
from muntin.spark.binding.instants import micros
from muntin.spark.binding.relations import Relations
from muntin.spark.stream.key_codes import is_instant, key_code
from muntin.spark.worker import begin_task
from muntin.sql.filters import is_reference

# Microseconds long before the first year that a timestamp can be in.
_BEFORE_TIME = -(1 << 63)
_EVENTS = kept(Component(kind="count"), number=INTEGER, name=EVENTS, ansi=False)


def packed_slices(
    lanes: Sequence[Lane],
    records: Sequence[RecordLane],
    carried: Mapping[int, Iterable[tuple[str, DataType]]],
    bound: Mapping[int, AnyBoundTree],
    relations: Relations,
    *,
    buckets: tuple[int, ...],
    watched: str,
) -> DataFrame:
    """Returns packed slices and records of all lanes, a row for each lane and bucket of keys.

    By the number of a lane, `carried` has the Spark SQL and the type of all that its records carry,
    and `bound` has the types of its tree. `watched` is the column that the watermark follows.
    """
    events = _Events(list(bound.values()), relations, watched)
    targets = [_slices(lane, bound[lane.number], events) for lane in lanes]
    for record_lane in records:
        number = record_lane.number
        if record_lane.grains is None:
            targets.append(_as_they_are(number, carried[number], bound[number], events))
        else:
            targets.append(_grains(record_lane, bound[number], events))
    targets.append(_every_event([target.slicing for target in targets]))
    return relations.sql(events.sql()).mapInArrow(
        partial(_slice, targets=tuple(targets), buckets=buckets), PACKED
    )


class _Events:
    """The projection that all targets read: each expression once."""

    def __init__(self, bound: Sequence[AnyBoundTree], relations: Relations, watched: str) -> None:
        groupings = [each.tree.grouping for each in bound]
        first = groupings[0]
        for grouping in groupings:
            if grouping.relation != first.relation:
                raise RunError(
                    f"the queries of a stream read one relation, and these read {first.relation} "
                    f"and {grouping.relation}; put what differs into WHERE, or start a pipeline "
                    f"for each"
                )
        safe = SafeExpressions(first.relation, relations)
        self.arguments, self._conditions = Arguments(safe), Conditions(safe)
        self._common = common_filter([grouping.where for grouping in groupings])
        self._first, self._time_type = first, bound[0].time_type
        self._watched = watched
        self._others: dict[str, str] = {}

    @property
    def time(self) -> str:
        """The instant of an event, as SQL."""
        return micros(self._first.time, self._time_type)

    def guard(self, grouping: Grouping) -> str | None:
        """Returns the filter of a lane, unless all events that are read have passed it."""
        return None if grouping.where == self._common else grouping.where

    def masks(self, grouping: Grouping) -> dict[str, int]:
        """Returns the bits of events that a lane takes."""
        guard = self.guard(grouping)
        return {} if guard is None else self._conditions.masks(guard)

    def column(self, sql: str, kind: DataType, grouping: Grouping) -> str:
        """Returns the column of a lane's key, or of what it carries.

        What is more than a column is computed only where the lane's filter holds.
        """
        encoded = key_code(kind).encode(f"({sql})")
        guard = self.guard(grouping)
        if guard is not None and not is_reference(sql):
            encoded = only_where(guard, encoded)
        return self._others.setdefault(encoded, f"k{len(self._others)}")

    def sql(self) -> SqlText:
        """Returns the events of all lanes with all columns."""
        columns = {
            TIME: self.time,
            **{name: sql for sql, name in self._others.items()},
            **self.arguments.columns,
            **self._conditions.columns,
        }
        return selected(replace(self._first, where=self._filter()), columns)

    def _filter(self) -> str | None:
        """Returns a filter that Spark does not move below the watermark.

        The watermark tells up to when events were read, and a query that is added is complete from
        there on. Below a filter it would follow only the events of the queries that ran before.
        Spark moves every condition down that does not mention the watched column.
        """
        if self._common is None:
            return None
        never = f"{micros(quoted(self._watched), TimestampType())} = {_BEFORE_TIME}L"
        return f"({self._common}) OR {never}"


def _slices(lane: Lane, bound: AnyBoundTree, events: _Events) -> Target:
    """Returns what the slicer makes for a lane of periodic windows."""
    types = {
        component: bound.types[aggregate]
        for aggregate in lane.tree.aggregates
        for component in aggregate.components
    }
    return _partials(lane.number, lane.layout, lane.tree.slicing, bound, events, types)


def _grains(lane: RecordLane, bound: AnyBoundTree, events: _Events) -> Target:
    """Returns what the slicer makes for a lane whose records are grains."""
    slicing = grains(lane.tree)
    assert lane.grains is not None
    assert slicing is not None
    return _partials(lane.number, lane.grains, slicing, bound, events, {})


def _partials(
    number: int,
    layout: Layout,
    slicing: Slicing,
    bound: AnyBoundTree,
    events: _Events,
    types: Mapping[Component, DataType],
) -> Target:
    grouping = bound.tree.grouping
    values = {
        entry.component: events.arguments.of(
            _of_numbers(entry, types.get(entry.component)), events.guard(grouping)
        )
        for entry in layout.kept
    }
    return Target(
        number=number,
        layout=Layout(key_columns=_keys(bound, events), start=START, kept=(*layout.kept, _EVENTS)),
        slicing=slicing,
        masks=events.masks(grouping),
        values={**values, _EVENTS.component: values.get(_EVENTS.component, ())},
    )


def _of_numbers(entry: Kept, kind: DataType | None) -> Kept:
    """Returns a component with instants as numbers, if its values are instants."""
    if kind is None or not is_instant(kind):
        return entry
    encoded = key_code(kind).encode(f"({entry.component.arguments[0]})")
    return replace(entry, component=replace(entry.component, argument=encoded))


def _as_they_are(
    number: int, carried: Iterable[tuple[str, DataType]], bound: AnyBoundTree, events: _Events
) -> Target:
    """Returns what the slicer makes for a lane whose records are events."""
    grouping = bound.tree.grouping
    return Target(
        number=number,
        layout=Layout(key_columns=_keys(bound, events), start=START, kept=()),
        # A watermark is in whole milliseconds, so it tells events apart by these.
        slicing=Slicing(edges=(Edges(period=MILLISECOND),), rate=SECOND / MILLISECOND),
        masks=events.masks(grouping),
        values={},
        is_whole=True,
        carried=tuple(events.column(sql, kind, grouping) for sql, kind in carried),
    )


def _every_event(slicings: Sequence[Slicing]) -> Target:
    """Returns what the slicer makes to count the events that are late."""
    return Target(
        number=ALL,
        layout=Layout(key_columns=(), start=START, kept=(_EVENTS,)),
        slicing=common_slicing(slicings),
        values={_EVENTS.component: ()},
    )


def _keys(bound: AnyBoundTree, events: _Events) -> tuple[str, ...]:
    grouping = bound.tree.grouping
    return tuple(
        events.column(key, field.dataType, grouping)
        for key, field in zip(grouping.keys, bound.keys, strict=True)
    )


def _slice(
    batches: Iterable[pa.RecordBatch], *, targets: tuple[Target, ...], buckets: tuple[int, ...]
) -> Iterator[pa.RecordBatch]:
    begin_task()
    # Every bucket is called in every batch, so that it knows the watermark of the one before.
    yield pa.RecordBatch.from_pydict(
        {
            BUCKET: pa.array(buckets, pa.int32()),
            TARGET: pa.array(np.full(len(buckets), ALL), pa.int32()),
            ROWS: pa.array([b""] * len(buckets), pa.binary()),
        }
    )
    labels = pa.array(buckets, pa.int32())
    for rows in Slicer(targets, time=TIME, buckets=len(buckets)).run(batches):
        place = rows.schema.get_field_index(BUCKET)
        yield rows.set_column(place, BUCKET, labels.take(rows.column(BUCKET)))
