"""Runs one step of a lane of data windows in a bucket, and keeps what is open in the store.

Windows are found in the order of time. So records wait in the store until the watermark has passed
them, and a record that comes after that is too late. Only where all windows are periodic, with
aggregates of the user's own, a late record still counts: their records are kept for as long as
windows are open (`kept_records`), and a step with a late one finds all open windows anew.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from muntin.runtime.record_steps.stepper import Stepper, StepResult
from muntin.runtime.records.record_tree import END
from muntin.runtime.state.kept_records import KeptRecords
from muntin.runtime.state.lane import START
from muntin.runtime.state.record_lane import RecordLane
from muntin.runtime.state.segments import Segment, Shelf, from_bytes, to_bytes

# Records that wait are written together once they are in so many places.
_FAN = 8


@dataclass(frozen=True, kw_only=True)
class RecordState:
    """What is remembered of a lane between two steps; its data is in the store, by number."""

    # Where what is open is, and when it is due.
    open: tuple[int, int | None] | None = None
    # Where records wait for the watermark, and where those of open windows are.
    waiting: list[int] = field(default_factory=list)
    kept: list[Segment] = field(default_factory=list)

    @property
    def numbers(self) -> list[int]:
        """All numbers in the store."""
        opened = [] if self.open is None else [self.open[0]]
        return [*opened, *self.waiting, *(segment.number for segment in self.kept)]

    def to_json(self) -> list[Any]:
        """Returns the state as JSON."""
        return [self.open, self.waiting, self.kept]

    @staticmethod
    def from_json(data: list[Any]) -> "RecordState":
        """Returns the state that `to_json` wrote."""
        opened, waiting, kept = data
        return RecordState(
            open=None if opened is None else (opened[0], opened[1]),
            waiting=waiting,
            kept=[Segment(*segment) for segment in kept],
        )


class RecordStep:
    """One step of a lane, from the watermark `given` to `until`."""

    def __init__(
        self, lane: RecordLane, known: RecordState, shelf: Shelf, *, given: int, until: int
    ) -> None:
        self._lane, self._known, self._shelf = lane, known, shelf
        self._given, self._until = given, until
        self._released, self._before = lane.released(until), lane.released(given)

    def run(self, arrived: pa.Table | None) -> tuple[list[pa.RecordBatch], RecordState]:
        """Take in what has arrived; returns the answers, and what to remember."""
        new = arrived if arrived is not None and arrived.num_rows else None
        late = None
        if new is not None:
            is_late = pc.less(new.column(START), self._before)
            late, new = new.filter(is_late), new.filter(pc.invert(is_late))
        passed, waiting = self._passed(new)
        if self._lane.keeps is None:
            stepped = self._step(passed)
            kept = []
        else:
            records = KeptRecords(self._shelf, self._known.kept, keep=self._lane.keeps)
            late = None if late is None else records.still_needed(late, self._given)
            stepped = (
                self._step(passed)
                if late is None
                else self._step_anew([*records.all(), late], passed)
            )
            kept = records.keep([late, passed], self._until)
        opened = self._known.open
        if stepped is None:
            return [], RecordState(open=opened, waiting=waiting, kept=kept)
        if opened is not None:
            self._shelf.remove(opened[0])
        left = None if stepped.state is None else self._shelf.write(stepped.state)
        is_open = None if left is None else (left, stepped.due)
        return stepped.answers, RecordState(open=is_open, waiting=waiting, kept=kept)

    def _passed(self, new: pa.Table | None) -> tuple[pa.Table | None, list[int]]:
        """Returns the records that the watermark has just passed, and where the others wait."""
        rows = [] if new is None else [new]
        places = list(self._known.waiting)
        if self._released > self._before or len(places) >= _FAN:
            rows = [*(from_bytes(self._shelf.bytes(place)) for place in places), *rows]
            for place in places:
                self._shelf.remove(place)
            places = []
        table = _together(rows)
        if table is None:
            return None, places
        is_passed = pc.less(table.column(START), self._released)
        left = table.filter(pc.invert(is_passed))
        if left.num_rows:
            places.append(self._shelf.write(to_bytes(left)))
        return table.filter(is_passed), places

    def _step(self, passed: pa.Table | None) -> StepResult | None:
        """Hand records on to what is open; returns None if nothing changes."""
        known = self._known.open
        is_due = known is not None and known[1] is not None and known[1] <= self._released
        stages = list(self._lane.stages(self._before, self._released))
        has_passed = passed is not None and passed.num_rows
        if not has_passed and not is_due and len(stages) == 1:
            return None
        state = None if known is None else self._shelf.bytes(known[0])
        answers: list[pa.RecordBatch] = []
        due, after = None, self._before
        for lane, until in stages:
            rows = None if passed is None else _between(passed, after, until)
            records = lane.records(rows) if rows is not None and rows.num_rows else None
            # What is known is written without windows that have left, before others join.
            stepped = Stepper(lane.tree, lane.layout).step(state, records, until)
            answers += stepped.answers
            state, due, after = stepped.state, stepped.due, until
        return StepResult(answers=answers, state=state, due=due)

    def _step_anew(self, before: Iterable[pa.Table], passed: pa.Table | None) -> StepResult | None:
        """Find all windows anew that are open, and leave out those that were given out."""
        table = _together([*before, *([] if passed is None else [passed])])
        records = None if table is None else self._lane.records(table)
        if records is None or not records.num_rows:
            return self._step(passed)
        stepper = Stepper(self._lane.tree, self._lane.layout)
        stepped = stepper.step(None, records, self._released)
        answers = [
            answer.filter(pc.greater(answer.column(END), self._given)) for answer in stepped.answers
        ]
        return StepResult(answers=answers, state=stepped.state, due=stepped.due)


def _together(tables: list[pa.Table]) -> pa.Table | None:
    return pa.concat_tables(tables, promote_options="permissive") if tables else None


def _between(table: pa.Table, after: int, until: int) -> pa.Table:
    """Returns the rows from an instant on and before another."""
    starts = table.column(START)
    return table.filter(pc.and_(pc.greater_equal(starts, after), pc.less(starts, until)))
