"""TriWeave: the stream is cut once, at all edges, and several groups read those slices.

Incremental MQO, section 3.1.1. The cost is λ + m·E + Σ Eᵢ·Ωᵢ, with E the rate of the finest slices:
Weave Share with E in place of λ. It suits Spark, where the scan is paid once: one pass makes the
finest slices, and each group is a tree whose slices are composed from them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count

from muntin.model.plan import Plan
from muntin.model.query import Query
from muntin.model.trees import PeriodicTree
from muntin.model.windows import Slicing, Window
from muntin.model.workload import Workload
from muntin.optimizer import edges
from muntin.optimizer.choose_passes import in_one_pass
from muntin.optimizer.trees import nodes_of, plan_of, tree_of
from muntin.optimizer.weave_share.groups import Group, GroupCost, same_edges
from muntin.optimizer.weave_share.weave_share import cost_of_groups, weave_groups


def in_finest_slices(cost: GroupCost, groups: Iterable[Group]) -> GroupCost:
    """Returns the cost of groups where each reads all finest slices instead of the events."""
    finest = edges.edge_rate(progression for group in groups for progression in group.edges)
    return replace(cost, overhead=finest)


def triweave_cost(groups: Sequence[Group], cost: GroupCost) -> float:
    """Returns the cost λ + m·E + Σ Eᵢ·Ωᵢ; the overhead of `cost` is λ."""
    return cost.overhead + in_finest_slices(cost, groups).plan(groups)


def triweave_groups(groups: Sequence[Group], cost: GroupCost) -> list[Group]:
    """Groups by the greedy algorithm of Weave Share; each tree costs one reading of the slices."""
    return weave_groups(groups, in_finest_slices(cost, groups))


def triweave(workload: Workload) -> Plan:
    """Plans a tree for each group of windows, cut at its own edges; one pass cuts the events."""
    numbers = count()

    def build_trees(queries: tuple[Query, ...]) -> list[PeriodicTree]:
        nodes = {node.window: node for node in nodes_of(queries)}
        # Groups whose slices come out the same, because both are cut on one grid, are one tree.
        alike: dict[Slicing, list[Window]] = {}
        for group in triweave_groups(same_edges(nodes), cost_of_groups(queries, workload)):
            alike.setdefault(edges.slicing(group.windows, workload), []).extend(group.windows)
        trees = [
            tree_of(
                queries[0].grouping,
                [nodes[window] for window in windows],
                workload,
                may_be_alone=len(alike) == 1,
            )
            for windows in alike.values()
        ]
        if len(trees) == 1:
            return trees
        return list(in_one_pass(trees, workload, number=next(numbers)))

    return plan_of("triweave", workload, build_trees)
