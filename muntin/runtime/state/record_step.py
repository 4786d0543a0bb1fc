"""Runs one step of a lane of data windows in a bucket, and keeps what is open in the store."""

from dataclasses import dataclass

import pyarrow as pa

from muntin.runtime.record_steps.stepper import Stepper
from muntin.runtime.state.record_lane import RecordLane
from muntin.runtime.state.segments import Store


@dataclass(frozen=True, kw_only=True)
class SteppedLane:
    """Answers; the number of the lane's state and when it is due; the next free number."""

    answers: list[pa.RecordBatch]
    open: tuple[int, int | None] | None
    number: int


def step_records(
    lane: RecordLane,
    arrived: pa.Table | None,
    known: tuple[int, int | None] | None,
    until: int,
    store: Store,
    number: int,
) -> SteppedLane:
    """Take in what has arrived by the watermark `until`; read no state if nothing is due."""
    released = lane.released(until)
    is_due = known is not None and known[1] is not None and known[1] <= released
    records = None if arrived is None or not arrived.num_rows else lane.records(arrived)
    if (records is None or not records.num_rows) and not is_due:
        return SteppedLane(answers=[], open=known, number=number)
    state = None if known is None else store.read(known[0])
    stepped = Stepper(lane.tree, lane.layout).step(state, records, released)
    if known is not None:
        store.remove(known[0])
    if stepped.state is None:
        return SteppedLane(answers=stepped.answers, open=None, number=number)
    store.write(number, stepped.state)
    return SteppedLane(answers=stepped.answers, open=(number, stepped.due), number=number + 1)
