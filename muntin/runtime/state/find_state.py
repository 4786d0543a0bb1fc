"""Finds the state of lanes by their definitions, where a plan numbers its lanes by their place."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from muntin.errors import RunError
from muntin.runtime.state.bucket import BucketState, StoredLane
from muntin.runtime.state.lane import Lane
from muntin.runtime.stream_plan.lane_definitions import LaneDefinition


def find_state(
    state: BucketState, lanes: Sequence[Lane], definitions: Mapping[int, LaneDefinition]
) -> tuple[BucketState, list[Lane]]:
    """Returns a bucket's state under the numbers of a plan's lanes, and the lanes of periodic
    windows with the columns that they have in it; refuses a plan whose lanes are not those stored.

    A state without definitions, which an earlier muntin left, is taken as it is.
    """
    numbers = dict(zip(definitions, definitions, strict=True))
    if state.lanes:
        numbers = _stored_numbers(state.lanes, definitions)
        lanes = [_renamed(lane, state.lanes[numbers[lane.number]], definitions) for lane in lanes]
    named = {lane.number: [entry.columns for entry in lane.layout.storages] for lane in lanes}
    stored = {
        number: StoredLane(
            digest=known.digest, columns=[named[number][place] for place in known.order]
        )
        for number, known in definitions.items()
    }
    levels = {now: state.levels[old] for now, old in numbers.items() if old in state.levels}
    records = {now: state.records[old] for now, old in numbers.items() if old in state.records}
    return replace(state, levels=levels, records=records, lanes=stored), list(lanes)


def _stored_numbers(
    stored: Mapping[int, StoredLane], definitions: Mapping[int, LaneDefinition]
) -> dict[int, int]:
    """Returns the number under which each lane of a plan is stored."""
    left = dict(stored)
    numbers: dict[int, int] = {}
    others: list[str] = []
    for number, known in definitions.items():
        found = [old for old, lane in left.items() if lane.digest == known.digest]
        if found:
            numbers[number] = found[0]
            del left[found[0]]
        else:
            others += known.queries
    if others or left:
        what = ", ".join(map(repr, others)) or "one or more that are missing"
        raise RunError(
            f"the checkpoint of this stream has the state of other queries: it differs by {what}. "
            f"A stream of mt.stream goes on with the same queries, types, buckets and "
            f"spark.sql.ansi.enabled; start it with those or with a new checkpoint, or use "
            f"mt.start, whose queries can change"
        )
    return numbers


def _renamed(lane: Lane, stored: StoredLane, definitions: Mapping[int, LaneDefinition]) -> Lane:
    """Returns a lane with the columns under which its components are stored."""
    storages = list(lane.layout.storages)
    for place, columns in zip(definitions[lane.number].order, stored.columns, strict=True):
        storages[place] = replace(storages[place], columns=tuple(columns))
    return replace(lane, layout=replace(lane.layout, storages=tuple(storages)))
