"""A running plan as JSON and back: what a checkpoint keeps of it."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from muntin.errors import RunError
from muntin.model.aggregates.user_aggregate import call_to_json, component_from_json
from muntin.model.plan_json import (
    plan_from_json,
    plan_to_json,
    record_tree_from_json,
    record_tree_to_json,
    slicing_from_json,
    slicing_to_json,
    tree_from_json,
    tree_to_json,
)
from muntin.runtime.state.record_lane import RunningRecords
from muntin.runtime.stream_plan.component_columns import Held
from muntin.runtime.stream_plan.room import VALUE_KINDS, Room
from muntin.runtime.stream_plan.stream_plan import Epoch, RunningLane, StreamPlan

VERSION = 3


def stream_plan_to_json(running: StreamPlan) -> dict[str, Any]:
    """The running plan as what `json.dumps` takes."""
    return {
        "version": VERSION,
        "generation": running.generation,
        "plan": plan_to_json(running.plan),
        "lanes": [_lane_to_json(lane) for lane in running.lanes],
        "records": [_records_to_json(lane) for lane in running.records],
        "room": {"keys": dict(running.room.keys), "values": dict(running.room.values)},
        "buckets": list(running.buckets),
        "delay": running.delay,
        "retain": running.retain,
        "checked": running.ansi,
        "complete_from": dict(running.complete_from),
        "next_lane": running.next_lane,
    }


def stream_plan_from_json(data: Mapping[str, Any]) -> StreamPlan:
    """The running plan that `stream_plan_to_json` wrote, or an error that names the version."""
    if data.get("version") != VERSION:
        raise RunError(
            f"the checkpoint was written in version {data.get('version')!r}, and this muntin "
            f"reads version {VERSION}; start with a new checkpoint, or with the muntin that "
            f"wrote it"
        )
    return StreamPlan(
        plan=plan_from_json(data["plan"]),
        lanes=tuple(_lane_from_json(one) for one in data["lanes"]),
        records=tuple(_records_from_json(one) for one in data.get("records", ())),
        room=_room(data["room"]),
        buckets=_buckets(data["buckets"]),
        delay=data["delay"],
        retain=data["retain"],
        ansi=data["checked"],
        complete_from=data["complete_from"],
        next_lane=data["next_lane"],
        generation=data["generation"],
    )


def _buckets(found: int | list[int]) -> tuple[int, ...]:
    """Older checkpoints have their number, which they counted up to."""
    return tuple(range(found) if isinstance(found, int) else found)


def _lane_to_json(lane: RunningLane) -> dict[str, Any]:
    return {
        "number": lane.number,
        "tree": tree_to_json(lane.tree),
        "key_slots": list(lane.key_slots),
        "held": [_held_to_json(one) for one in lane.held],
        "kept_from": lane.kept_from,
        "epochs": [
            {"slicing": slicing_to_json(one.slicing), "until": one.until} for one in lane.epochs
        ],
    }


def _lane_from_json(data: Mapping[str, Any]) -> RunningLane:
    return RunningLane(
        number=data["number"],
        tree=tree_from_json(data["tree"]),
        key_slots=tuple(data["key_slots"]),
        held=_held(data),
        kept_from=data["kept_from"],
        epochs=tuple(
            Epoch(slicing=slicing_from_json(one["slicing"]), until=one["until"])
            for one in data["epochs"]
        ),
    )


def _records_to_json(lane: RunningRecords) -> dict[str, Any]:
    return {
        "number": lane.number,
        "tree": record_tree_to_json(lane.tree),
        "key_slots": list(lane.key_slots),
        "columns": dict(lane.columns),
        "held": [_held_to_json(one) for one in lane.held],
        "since": lane.since,
    }


def _records_from_json(data: Mapping[str, Any]) -> RunningRecords:
    return RunningRecords(
        number=data["number"],
        tree=record_tree_from_json(data["tree"]),
        key_slots=tuple(data["key_slots"]),
        columns=data["columns"],
        held=_held(data),
        since=data["since"],
    )


def _room(data: Mapping[str, Any]) -> Room:
    # Kinds of columns that came later, there are none of.
    return Room(keys=data["keys"], values={**dict.fromkeys(VALUE_KINDS, 0), **data["values"]})


def _held_to_json(held: Held) -> dict[str, Any]:
    return {**asdict(held), "component": call_to_json(held.component)}


def _held(data: Mapping[str, Any]) -> tuple[Held, ...]:
    return tuple(
        Held(
            component=component_from_json(one["component"]),
            number=one["number"],
            slots=tuple(one["slots"]),
            since=one["since"],
        )
        for one in data["held"]
    )
