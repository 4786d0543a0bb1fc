"""What the state of a stream depends on: plans that differ in nothing else go on from it.

The costs of a plan follow from figures that are measured while it runs, and techniques may be
chosen anew. Neither changes what is kept, so neither makes another plan of a stored one.
"""

from dataclasses import replace
from typing import Any

from muntin.model.plan import Plan
from muntin.model.plan_json import plan_to_json
from muntin.runtime.stream_plan.stream_plan import StreamPlan
from muntin.runtime.stream_plan.stream_plan_json import stream_plan_to_json


def state_of_plan(plan: Plan) -> dict[str, Any]:
    """Returns the queries and trees of a plan as JSON, without costs and techniques."""
    data = plan_to_json(replace(plan, trees=tuple(tree.without_costs() for tree in plan.trees)))
    return {name: data[name] for name in ("queries", "trees", "discretized")}


def state_of_running(running: StreamPlan) -> dict[str, Any]:
    """Returns a running plan as JSON, without costs and techniques."""
    lanes = tuple(replace(lane, tree=lane.tree.without_costs()) for lane in running.lanes)
    records = tuple(replace(lane, tree=lane.tree.without_costs()) for lane in running.records)
    data = stream_plan_to_json(replace(running, lanes=lanes, records=records))
    return {**data, "plan": state_of_plan(running.plan)}
