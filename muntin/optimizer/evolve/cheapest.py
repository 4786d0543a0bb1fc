"""Finds the plan that is now the cheapest for a stream, and what a running one costs by now."""

from dataclasses import replace

from muntin.errors import PlanError
from muntin.model.plan import Plan
from muntin.model.workload import Workload
from muntin.optimizer.optimize import optimize
from muntin.optimizer.plan_for_stream import plan_for_stream, read_slices_or_levels
from muntin.optimizer.trees import flat_tree, plain_spark_cost, tree_each_cost

# A stream cuts the trees of all of these from one reading of the events; where nodes read other
# nodes, it has them read the slices. So only how queries are put together in trees matters.
STRATEGIES = ("shared", "weave", "unshared", "exact")


def cheapest(workload: Workload) -> Plan:
    """Returns the cheapest plan of all strategies for the rate and keys of a workload."""
    plans = []
    for strategy in STRATEGIES:
        try:
            plans.append(plan_for_stream(optimize(workload, strategy)))
        except PlanError:
            # The exact strategy refuses what is too large for it.
            continue
    return min(plans, key=lambda plan: plan.cost)


def priced(plan: Plan, workload: Workload) -> Plan:
    """Returns a plan for a stream with its costs at the rate and keys of a workload."""
    facts = {part.shared[0].grouping: part for part in workload.by_grouping if part.shared}
    trees = (
        flat_tree(list(plan.queries_of(tree).values()), facts[tree.grouping])
        for tree in plan.periodic_trees
    )
    return read_slices_or_levels(
        plan.with_trees(
            periodic=trees,
            workload=replace(workload, queries=plan.queries),
            unshared_cost=sum(map(tree_each_cost, workload.by_grouping)),
            plain_cost=sum(map(plain_spark_cost, workload.by_grouping)),
        )
    )
