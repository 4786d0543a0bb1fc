"""Runs a bucket of keys: takes slices and a watermark, gives the answers of windows that closed.

A slice counts for every window that has not been given out, however late it is. Windows are given
out when the watermark passes their end. What a bucket remembers is small and rewritten with every
batch (`BucketState`); slices are kept in segments, which are not rewritten.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from muntin.runtime.columns.row_order import ordered
from muntin.runtime.periodic.rollups import Rollups
from muntin.runtime.periodic.tree import TreeRuntime, begins_between
from muntin.runtime.state.lane import Lane
from muntin.runtime.state.record_lane import RecordLane
from muntin.runtime.state.record_step import step_records
from muntin.runtime.state.segments import Segment, Store, segments_from_json, segments_to_json
from muntin.runtime.state.slice_store import SliceStore


@dataclass(frozen=True, kw_only=True)
class BucketState:
    """All that a bucket remembers beside its segments; data that outlives the plan."""

    # Windows that end up to here were given out.
    given: int | None = None
    # The number of the next segment.
    number: int = 0
    segments: Mapping[int, list[Segment]] = field(default_factory=dict)
    cells: Mapping[int, Rollups] = field(default_factory=dict)
    # For lanes of data windows: the number of their state in the store, and when they are due;
    # and the numbers of records that wait for the watermark.
    open: Mapping[int, tuple[int, int | None]] = field(default_factory=dict)
    waiting: Mapping[int, list[int]] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """Returns the state as JSON."""
        segments = {str(lane): segments_to_json(of_lane) for lane, of_lane in self.segments.items()}
        cells = {str(lane): [rollups.number, rollups.width] for lane, rollups in self.cells.items()}
        opened = {str(lane): list(place) for lane, place in self.open.items()}
        state = {"given": self.given, "number": self.number, "runs": segments, "cells": cells}
        waiting = {str(lane): numbers for lane, numbers in self.waiting.items()}
        return json.dumps({**state, "open": opened, "waiting": waiting}).encode()

    @staticmethod
    def from_bytes(data: bytes) -> "BucketState":
        """Returns the state that `to_bytes` wrote."""
        fields = json.loads(data)
        return BucketState(
            given=fields["given"],
            number=fields["number"],
            segments={
                int(lane): segments_from_json(of_lane) for lane, of_lane in fields["runs"].items()
            },
            cells={
                int(lane): Rollups(number=number, width=width)
                for lane, (number, width) in fields["cells"].items()
            },
            open={int(lane): (number, due) for lane, (number, due) in fields["open"].items()},
            waiting={int(lane): numbers for lane, numbers in fields["waiting"].items()},
        )


class BucketRuntime:
    """Answers the queries of all lanes for the keys of one bucket."""

    def __init__(
        self,
        lanes: Iterable[Lane],
        store: Store,
        state: BucketState,
        records: Iterable[RecordLane] = (),
    ) -> None:
        self._lanes = {lane.number: lane for lane in lanes}
        self._records = {lane.number: lane for lane in records}
        self._store = store
        self.state = state

    def step(
        self, arrived: Mapping[int, pa.Table], until: int
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Take in slices and records by lane; yield answers, by lane, of what ends by `until`.

        Slices of lanes that the plan no longer has are removed. `state` is updated after the last
        answer.
        """
        number = self.state.number
        segments: dict[int, list[Segment]] = {}
        cells: dict[int, Rollups] = {}
        self._forget(self.state.segments.keys() - self._lanes.keys())
        for gone in self.state.open.keys() - self._records.keys():
            self._store.remove(self.state.open[gone][0])
        for gone in self.state.waiting.keys() - self._records.keys():
            for place in self.state.waiting[gone]:
                self._store.remove(place)
        for lane in self._lanes.values():
            slices = SliceStore(
                self._store,
                lane,
                segments=self.state.segments.get(lane.number, []),
                cells=self.state.cells.get(lane.number),
                number=number,
            )
            new = arrived.get(lane.number)
            if new is not None and new.num_rows:
                new = new.select(lane.columns)
            yield from self._answers(lane, slices, new, until)
            horizon = until - lane.span
            slices.drop(horizon)
            if new is not None and new.num_rows:
                slices.add(new)
                slices.drop(horizon)
            number = slices.number
            if slices.segments:
                segments[lane.number] = slices.segments
            if slices.cells is not None:
                cells[lane.number] = slices.cells
        opened: dict[int, tuple[int, int | None]] = {}
        waiting: dict[int, list[int]] = {}
        for record_lane in self._records.values():
            stepped = step_records(
                record_lane,
                arrived.get(record_lane.number),
                known=self.state.open.get(record_lane.number),
                waiting=self.state.waiting.get(record_lane.number, []),
                given=self.given,
                until=until,
                store=self._store,
                number=number,
            )
            for answer in stepped.answers:
                yield record_lane.number, answer
            number = stepped.number
            if stepped.open is not None:
                opened[record_lane.number] = stepped.open
            if stepped.waiting:
                waiting[record_lane.number] = stepped.waiting
        self.state = BucketState(
            given=until,
            number=number,
            segments=segments,
            cells=cells,
            open=opened,
            waiting=waiting,
        )

    @property
    def given(self) -> int:
        """The watermark up to which answers were given; Spark's begins with 1970."""
        return 0 if self.state.given is None else self.state.given

    def _forget(self, lanes: Iterable[int]) -> None:
        for lane in lanes:
            for segment in self.state.segments[lane]:
                self._store.remove(segment.number)
            if lane in self.state.cells:
                self._store.remove(self.state.cells[lane].number)

    def _answers(
        self, lane: Lane, slices: SliceStore, new: pa.Table | None, until: int
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        after = self.given
        begins = begins_between(lane.flat, after=after, until=until)
        if all(first > last for first, last in begins.values()):
            return
        tables = list(slices.rows(begins))
        if new is not None:
            tables.append(new)
        if not tables:
            return
        rows = pa.concat_tables(tables, promote_options="permissive")
        batch = ordered(rows, lane.layout.key_columns, lane.layout.start)
        runtime = TreeRuntime(lane.flat, lane.layout)
        for answer in runtime.between(batch, after=after, until=until):
            yield lane.number, answer
