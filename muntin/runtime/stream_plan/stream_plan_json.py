"""A running plan as JSON and back: what a checkpoint keeps of it."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from muntin.errors import RunError
from muntin.model.aggregates.user_aggregate import call_to_json, component_from_json
from muntin.model.plan_json import (
    plan_from_json,
    plan_to_json,
    query_from_json,
    query_to_json,
    slicing_from_json,
    slicing_to_json,
    tree_from_json,
    tree_to_json,
)
from muntin.model.trees import DataTree, PeriodicTree
from muntin.runtime.state.record_lane import RunningRecords
from muntin.runtime.stream_plan.component_columns import Held
from muntin.runtime.stream_plan.stream_plan import (
    Dropped,
    Epoch,
    Leaving,
    RunningLane,
    StreamPlan,
)

VERSION = 6


def stream_plan_to_json(running: StreamPlan) -> dict[str, Any]:
    """Returns the running plan as what `json.dumps` takes."""
    return {
        "version": VERSION,
        "generation": running.generation,
        "plan": plan_to_json(running.plan),
        "lanes": [_lane_to_json(lane) for lane in running.lanes],
        "records": [_records_to_json(lane) for lane in running.records],
        "buckets": list(running.buckets),
        "delay": running.delay,
        "retain": running.retain,
        "checked": running.ansi,
        "complete_from": dict(running.complete_from),
        "next_lane": running.next_lane,
        "moved_at": dict(running.moved_at),
        "leaving": {alias: asdict(leaving) for alias, leaving in running.leaving.items()},
        "types": dict(running.types),
        "dropped": {
            name: {"query": query_to_json(dropped.query), "error": dropped.error}
            for name, dropped in running.dropped.items()
        },
        "names_joins": running.names_joins,
    }


def stream_plan_from_json(data: Mapping[str, Any]) -> StreamPlan:
    """Returns the running plan that `stream_plan_to_json` wrote; refuses other versions."""
    if data.get("version") != VERSION:
        raise RunError(
            f"the checkpoint was written in version {data.get('version')!r}, and this muntin "
            f"reads version {VERSION}; start with a new checkpoint, or with the muntin that "
            f"wrote it"
        )
    return StreamPlan(
        plan=plan_from_json(data["plan"]),
        lanes=tuple(_lane_from_json(lane) for lane in data["lanes"]),
        records=tuple(_records_from_json(lane) for lane in data["records"]),
        buckets=tuple(data["buckets"]),
        delay=data["delay"],
        retain=data["retain"],
        ansi=data["checked"],
        complete_from=data["complete_from"],
        next_lane=data["next_lane"],
        generation=data["generation"],
        moved_at=data["moved_at"],
        leaving={alias: Leaving(**leaving) for alias, leaving in data["leaving"].items()},
        types=data.get("types", {}),
        dropped={
            name: Dropped(query=query_from_json(dropped["query"]), error=dropped["error"])
            for name, dropped in data.get("dropped", {}).items()
        },
        names_joins=data.get("names_joins", False),
    )


def _lane_to_json(lane: RunningLane) -> dict[str, Any]:
    return {
        "number": lane.number,
        "tree": tree_to_json(lane.tree),
        "key_columns": list(lane.key_columns),
        "held": [_held_to_json(entry) for entry in lane.held],
        "columns": lane.columns,
        "kept_from": lane.kept_from,
        "epochs": [
            {"slicing": slicing_to_json(epoch.slicing), "until": epoch.until}
            for epoch in lane.epochs
        ],
    }


def _lane_from_json(data: Mapping[str, Any]) -> RunningLane:
    tree = tree_from_json(data["tree"])
    assert isinstance(tree, PeriodicTree)
    return RunningLane(
        number=data["number"],
        tree=tree,
        key_columns=tuple(data["key_columns"]),
        held=_held(data),
        columns=data["columns"],
        kept_from=data["kept_from"],
        epochs=tuple(
            Epoch(slicing=slicing_from_json(epoch["slicing"]), until=epoch["until"])
            for epoch in data["epochs"]
        ),
    )


def _records_to_json(lane: RunningRecords) -> dict[str, Any]:
    return {
        "number": lane.number,
        "tree": tree_to_json(lane.tree),
        "key_columns": list(lane.key_columns),
        "columns": dict(lane.columns),
        "held": [_held_to_json(entry) for entry in lane.held],
        "since": lane.since,
        "joined": dict(lane.joined),
    }


def _records_from_json(data: Mapping[str, Any]) -> RunningRecords:
    tree = tree_from_json(data["tree"])
    assert isinstance(tree, DataTree)
    return RunningRecords(
        number=data["number"],
        tree=tree,
        key_columns=tuple(data["key_columns"]),
        columns=data["columns"],
        held=_held(data),
        since=data["since"],
        joined=data["joined"],
    )


def _held_to_json(entry: Held) -> dict[str, Any]:
    return {**asdict(entry), "component": call_to_json(entry.component)}


def _held(data: Mapping[str, Any]) -> tuple[Held, ...]:
    return tuple(
        Held(
            component=component_from_json(entry["component"]),
            number=entry["number"],
            name=entry["name"],
            since=entry["since"],
        )
        for entry in data["held"]
    )
