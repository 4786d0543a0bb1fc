"""Binds a plan to its data: finds types, and with them who computes what."""

from muntin.model.plan import Plan
from muntin.spark.binding.bind_data_windows import bind_data_trees
from muntin.spark.binding.bind_periodic import bind_periodic_trees
from muntin.spark.binding.bound_tree import BoundPlan
from muntin.spark.binding.relations import Relations


def bind(plan: Plan, relations: Relations, *, is_stream: bool = False) -> BoundPlan:
    """Returns the plan with the types of its data; queries that only Spark can answer leave their
    tree, with a reason."""
    plan, data_trees = bind_data_trees(plan, relations, is_stream=is_stream)
    plan, periodic_trees = bind_periodic_trees(plan, relations)
    return BoundPlan(plan=plan, trees=(*periodic_trees, *data_trees))
