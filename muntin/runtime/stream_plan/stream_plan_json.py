"""A running plan as JSON and back: what a checkpoint keeps of it."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from muntin.errors import RunError
from muntin.model.plan import Plan
from muntin.model.plan_json import plan_from_json, plan_to_json, query_from_json, query_to_json
from muntin.runtime.stream_plan.stored_data_tree import StoredDataTree
from muntin.runtime.stream_plan.stored_periodic_tree import StoredPeriodicTree
from muntin.runtime.stream_plan.stored_tree import StoredTree
from muntin.runtime.stream_plan.stream_plan import DroppedQuery, LeavingQuery, StreamPlan

VERSION = 6
_KINDS: tuple[type[StoredTree], ...] = (StoredPeriodicTree, StoredDataTree)


def stream_plan_to_json(running: StreamPlan) -> dict[str, Any]:
    """Returns the running plan as what `json.dumps` takes."""
    return {
        "version": VERSION,
        "generation": running.generation,
        "plan": plan_to_json(running.plan),
        **{
            kind.key: [each.to_json() for each in running.trees if isinstance(each, kind)]
            for kind in _KINDS
        },
        "buckets": list(running.buckets),
        "delay": running.delay,
        "retain": running.retain,
        "checked": running.ansi,
        "complete_from": dict(running.complete_from),
        "next_lane": running.next_number,
        "moved_at": dict(running.moved_at),
        "leaving": {alias: asdict(leaving) for alias, leaving in running.leaving.items()},
        "types": dict(running.types),
        "dropped": {
            name: {"query": query_to_json(dropped.query), "error": dropped.error}
            for name, dropped in running.dropped.items()
        },
        "own_definitions": running.own_definitions,
        "followed_relations": list(running.followed_relations),
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
        trees=tuple(kind.from_json(each) for kind in _KINDS for each in data[kind.key]),
        buckets=tuple(data["buckets"]),
        delay=data["delay"],
        retain=data["retain"],
        ansi=data["checked"],
        complete_from=data["complete_from"],
        next_number=data["next_lane"],
        generation=data["generation"],
        moved_at=data["moved_at"],
        leaving={alias: LeavingQuery(**leaving) for alias, leaving in data["leaving"].items()},
        types=data.get("types", {}),
        dropped={
            name: DroppedQuery(query=query_from_json(dropped["query"]), error=dropped["error"])
            for name, dropped in data.get("dropped", {}).items()
        },
        own_definitions=data.get("own_definitions", False),
        followed_relations=tuple(data.get("followed_relations", ())),
    )


def state_of_plan(plan: Plan) -> dict[str, Any]:
    """Returns what the state of a stream depends on in a plan: queries and trees as JSON.

    Costs follow from figures that are measured while a plan runs, and techniques may be chosen
    anew. Neither changes what is kept, so plans that differ in nothing else share a state.
    """
    data = plan_to_json(replace(plan, trees=tuple(tree.without_costs() for tree in plan.trees)))
    return {name: data[name] for name in ("queries", "trees", "discretized")}


def state_of_running(running: StreamPlan) -> dict[str, Any]:
    """Returns a running plan as JSON, without costs and techniques."""
    trees = tuple(replace(each, tree=each.tree.without_costs()) for each in running.trees)
    data = stream_plan_to_json(replace(running, trees=trees))
    return {**data, "plan": state_of_plan(running.plan)}
