"""Runs one step of a lane of data windows in a bucket, and keeps what is open in the store.

Windows are found in the order of time. So records wait in the store until the watermark has passed
them, and a record that comes after that is too late.
"""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from muntin.runtime.record_steps.stepper import Stepper
from muntin.runtime.state.lane import START
from muntin.runtime.state.record_lane import RecordLane
from muntin.runtime.state.segments import Store, from_bytes, to_bytes

# Records that wait are written together once they are in so many places.
_FAN = 8


@dataclass(frozen=True, kw_only=True)
class SteppedLane:
    """Answers; where the lane's state is and when it is due; where records wait; next number."""

    answers: list[pa.RecordBatch]
    open: tuple[int, int | None] | None
    waiting: list[int]
    number: int


def step_records(
    lane: RecordLane,
    arrived: pa.Table | None,
    *,
    known: tuple[int, int | None] | None,
    waiting: list[int],
    given: int,
    until: int,
    store: Store,
    number: int,
) -> SteppedLane:
    """Take in what has arrived, and answer up to the watermark `until`; `given` is that before."""
    released = lane.released(until)
    rows = [] if arrived is None or not arrived.num_rows else [on_time(lane, arrived, given)]
    places = list(waiting)
    if released > lane.released(given) or len(places) >= _FAN:
        rows = [*(from_bytes(store.read(place)) for place in places), *rows]
        for place in places:
            store.remove(place)
        places = []
    table = pa.concat_tables(rows, promote_options="permissive") if rows else None
    passed = None
    if table is not None:
        is_passed = pc.less(table.column(START), released)
        passed, table = table.filter(is_passed), table.filter(pc.invert(is_passed))
        if table.num_rows:
            store.write(number, to_bytes(table))
            places.append(number)
            number += 1
    is_due = known is not None and known[1] is not None and known[1] <= released
    records = None if passed is None or not passed.num_rows else lane.records(passed)
    if (records is None or not records.num_rows) and not is_due:
        return SteppedLane(answers=[], open=known, waiting=places, number=number)
    state = None if known is None else store.read(known[0])
    stepped = Stepper(lane.tree, lane.layout).step(state, records, released)
    if known is not None:
        store.remove(known[0])
    if stepped.state is None:
        return SteppedLane(answers=stepped.answers, open=None, waiting=places, number=number)
    store.write(number, stepped.state)
    return SteppedLane(
        answers=stepped.answers, open=(number, stepped.due), waiting=places, number=number + 1
    )


def on_time(lane: RecordLane, arrived: pa.Table, given: int) -> pa.Table:
    """Returns the records that windows have not been found beyond yet."""
    return arrived.filter(pc.greater_equal(arrived.column(START), lane.released(given)))
