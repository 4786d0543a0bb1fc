"""What the state of a stream depends on: plans that differ in nothing else go on from it.

The costs of a plan follow from figures that are measured while it runs, and techniques may be
chosen anew. Neither changes what is kept, so neither makes another plan of a stored one.
"""

from dataclasses import replace
from typing import Any

from muntin.model.plan import Plan, Tree
from muntin.model.plan_json import plan_to_json
from muntin.model.record_tree import RecordTree
from muntin.runtime.stream_plan.stream_plan import StreamPlan
from muntin.runtime.stream_plan.stream_plan_json import stream_plan_to_json


def state_of_plan(plan: Plan) -> dict[str, Any]:
    """Returns the queries and trees of a plan as JSON, without costs and techniques."""
    trees = tuple(map(_bare, plan.trees))
    record_trees = tuple(map(_bare_records, plan.record_trees))
    data = plan_to_json(replace(plan, trees=trees, record_trees=record_trees))
    return {name: data[name] for name in ("queries", "trees", "discretized")}


def state_of_running(running: StreamPlan) -> dict[str, Any]:
    """Returns a running plan as JSON, without costs and techniques."""
    lanes = tuple(replace(lane, tree=_bare(lane.tree)) for lane in running.lanes)
    records = tuple(replace(lane, tree=_bare_records(lane.tree)) for lane in running.records)
    data = stream_plan_to_json(replace(running, lanes=lanes, records=records))
    return {**data, "plan": state_of_plan(running.plan)}


def _bare(tree: Tree) -> Tree:
    nodes = tuple(replace(node, techniques=(), cost=0.0) for node in tree.nodes)
    return replace(tree, nodes=nodes, made_in=None, cut_cost=0.0)


def _bare_records(tree: RecordTree) -> RecordTree:
    nodes = tuple(replace(node, cost=0.0) for node in tree.nodes)
    return replace(tree, nodes=nodes, cut_cost=0.0)
