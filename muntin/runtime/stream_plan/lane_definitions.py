"""Identifies the lanes of a plan by what they keep, so that their state is found by it.

A plan without a checkpoint of muntin's own numbers its lanes by their place. At the next start its
queries may be in another order, under other names, or be others. So each bucket of keys stores the
definitions of its lanes beside its state.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from muntin.model.aggregates.user_aggregate import call_to_json, function_name
from muntin.model.plan_json import grouping_to_json, tree_to_json
from muntin.model.trees import Tree
from muntin.model.windows.windows_json import window_to_json
from muntin.runtime.state.record_lane import RunningRecords
from muntin.runtime.stream_plan.stream_plan import RunningLane, StreamPlan


@dataclass(frozen=True, kw_only=True)
class LaneDefinition:
    """What a lane keeps, as a hash; equal for all orders and names of its queries."""

    digest: str
    # The places of its components in the order in which the digest has them.
    order: tuple[int, ...]
    queries: tuple[str, ...]


def lane_definitions(running: StreamPlan) -> dict[int, LaneDefinition]:
    """Returns the definition of each lane of a plan, by its number."""
    found = {lane.number: _periodic(lane, running) for lane in running.lanes}
    return found | {lane.number: _records(lane, running) for lane in running.records}


def _periodic(lane: RunningLane, running: StreamPlan) -> LaneDefinition:
    components = [
        _text([call_to_json(entry.component), entry.number, entry.types(running.types)])
        for entry in lane.held
    ]
    order = sorted(range(len(components)), key=components.__getitem__)
    windows = {_text(window_to_json(node.window)) for node in lane.tree.nodes if node.queries}
    kept = {"components": sorted(components), "windows": sorted(windows)}
    return _definition(lane.tree, lane.key_columns, running, kept, order)


def _records(lane: RunningRecords, running: StreamPlan) -> LaneDefinition:
    tree = tree_to_json(lane.tree)
    # What is open is known by the numbers of nodes, so their order counts.
    nodes = [{**node, "queries": [], "cost": 0} for node in tree["nodes"]]
    kept = {
        "nodes": nodes,
        "grain": lane.tree.grain,
        "columns": [[sql, name, running.types.get(sql)] for sql, name in lane.columns.items()],
        "components": [
            [call_to_json(entry.component), entry.number, entry.types(running.types)]
            for entry in lane.held
        ],
    }
    return _definition(lane.tree, lane.key_columns, running, kept, ())


def _definition(
    tree: Tree,
    key_columns: Sequence[str],
    running: StreamPlan,
    kept: Mapping[str, Any],
    order: Sequence[int],
) -> LaneDefinition:
    grouping = tree.grouping
    whole = {
        "grouping": grouping_to_json(grouping),
        "keys": [[name, running.types.get(name)] for name in (grouping.time, *grouping.keys)],
        "key_columns": list(key_columns),
        # Keys are in other buckets if there are more or fewer; sums may have two columns.
        "buckets": list(running.buckets),
        "ansi": running.ansi,
        **kept,
    }
    digest = sha256(_text(whole).encode()).hexdigest()[:32]
    return LaneDefinition(digest=digest, order=tuple(order), queries=tree.queries)


def _text(data: Any) -> str:
    return json.dumps(data, sort_keys=True, default=function_name)
