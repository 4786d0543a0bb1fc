"""Runs a bucket of keys: takes slices and a watermark, gives the answers of windows that closed.

A slice counts for every window that has not been given out, however late it is. Windows are given
out when the watermark passes their end. What a bucket remembers is small and rewritten with every
batch (`BucketState`); slices are kept in segments, which are not rewritten.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import pyarrow as pa

from muntin.model.windows.window import Window
from muntin.runtime.columns.row_order import sort_slices
from muntin.runtime.periodic.tree import TreeRuntime, begins_between
from muntin.runtime.state.lane import Lane, Level
from muntin.runtime.state.levels import KeptLevel, Levels
from muntin.runtime.state.record_lane import RecordLane
from muntin.runtime.state.record_step import RecordState, RecordStep
from muntin.runtime.state.segments import Segment, Shelf, Store


@dataclass(frozen=True, kw_only=True)
class StoredLane:
    """What a lane keeps, as a hash, and the columns of its components in the order of the hash."""

    digest: str
    columns: Sequence[Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class BucketState:
    """All that a bucket remembers beside its segments; data that outlives the plan."""

    # Windows that end up to here were given out.
    given: int | None = None
    # The number of the next segment.
    number: int = 0
    levels: Mapping[int, list[KeptLevel]] = field(default_factory=dict)
    # What lanes of data windows remember.
    records: Mapping[int, RecordState] = field(default_factory=dict)
    # The lanes by their numbers, where nothing else knows them (`find_state`).
    lanes: Mapping[int, StoredLane] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """Returns the state as JSON."""
        levels = {
            str(lane): [_level_to_json(level) for level in kept]
            for lane, kept in self.levels.items()
        }
        records = {str(lane): known.to_json() for lane, known in self.records.items()}
        state: dict[str, Any] = {
            "given": self.given,
            "number": self.number,
            "levels": levels,
            "records": records,
        }
        if self.lanes:
            state["lanes"] = {str(number): asdict(lane) for number, lane in self.lanes.items()}
        return json.dumps(state).encode()

    @staticmethod
    def from_bytes(data: bytes) -> "BucketState":
        """Returns the state that `to_bytes` wrote."""
        fields = json.loads(data)
        return BucketState(
            given=fields["given"],
            number=fields["number"],
            levels={
                int(lane): [_level_from_json(level) for level in kept]
                for lane, kept in fields["levels"].items()
            },
            records={
                int(lane): RecordState.from_json(known) for lane, known in fields["records"].items()
            },
            lanes={
                int(number): StoredLane(**lane) for number, lane in fields.get("lanes", {}).items()
            },
        )


def _level_to_json(kept: KeptLevel) -> list[Any]:
    cells = kept.level.cells
    of_cells = None if cells is None else [cells.size, cells.offset]
    return [of_cells, kept.level.keep, kept.segments]


def _level_from_json(data: list[Any]) -> KeptLevel:
    of_cells, keep, segments = data
    cells = of_cells and Window(size=of_cells[0], slide=of_cells[0], offset=of_cells[1])
    level = Level(cells=cells, keep=keep)
    return KeptLevel(level=level, segments=[Segment(*each) for each in segments])


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
        # How many partials the last step combined, by lane.
        self.combined: dict[int, int] = {}

    def step(
        self, arrived: Mapping[int, pa.Table], until: int
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Take in slices and records by lane; yield answers, by lane, of what ends by `until`.

        Slices of lanes that the plan no longer has are removed. `state` is updated after the last
        answer.
        """
        shelf = Shelf(self._store, self.state.number)
        kept: dict[int, list[KeptLevel]] = {}
        self._forget()
        for lane in self._lanes.values():
            new = arrived.get(lane.number)
            levels = Levels(
                shelf,
                lane,
                self.state.levels.get(lane.number, []),
                given=self.given,
                until=until,
                arrived=new.select(lane.columns) if new is not None and new.num_rows else None,
            )
            yield from self._answers(lane, levels, until)
            kept[lane.number] = levels.keep()
            self.combined[lane.number] = levels.combined
        records: dict[int, RecordState] = {}
        for record_lane in self._records.values():
            number = record_lane.number
            known = self.state.records.get(number, RecordState())
            step = RecordStep(record_lane, known, shelf, given=self.given, until=until)
            answers, records[number] = step.run(arrived.get(number))
            for answer in answers:
                yield number, answer
        self.state = replace(
            self.state, given=until, number=shelf.number, levels=kept, records=records
        )

    @property
    def given(self) -> int:
        """The watermark up to which answers were given; Spark's begins with 1970."""
        return 0 if self.state.given is None else self.state.given

    def _forget(self) -> None:
        """Remove what lanes have left that the plan no longer has."""
        for gone in self.state.levels.keys() - self._lanes.keys():
            for level in self.state.levels[gone]:
                for segment in level.segments:
                    self._store.remove(segment.number)
        for gone in self.state.records.keys() - self._records.keys():
            for place in self.state.records[gone].numbers:
                self._store.remove(place)

    def _answers(
        self, lane: Lane, levels: Levels, until: int
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        for level, windows in lane.readers.items():
            begins = begins_between(windows, after=self.given, until=until)
            rows = levels.rows(level, begins) if begins else None
            if rows is None:
                continue
            batch = sort_slices(rows, lane.layout.key_columns, lane.layout.start)
            runtime = TreeRuntime(lane.flat, lane.layout, begins)
            for answer in runtime.between(batch, begins):
                yield lane.number, answer
