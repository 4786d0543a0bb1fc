"""TriWeave: the stream is cut once, at all edges, and several groups read those slices.

Incremental MQO, section 3.1.1. The cost is λ + m·E + Σ Eᵢ·Ωᵢ, with E the rate of the finest slices:
Weave Share with E in place of λ. It suits Spark, where the scan is paid once: one pass makes the
finest slices, and each group is a tree whose slices are composed from them.
"""

from collections.abc import Iterable, Sequence
from itertools import count

from muntin.model.plan import Plan
from muntin.model.query import Query
from muntin.model.trees import PeriodicTree
from muntin.model.windows import Slicing, Window
from muntin.model.workload import Workload
from muntin.optimizer import edges
from muntin.optimizer.choose_passes import in_one_pass
from muntin.optimizer.trees import nodes_of, plan_of, tree_of
from muntin.optimizer.weave_share.groups import Group, GroupCost, group_of, same_edges
from muntin.optimizer.weave_share.weave_share import weave_groups


def triweave_cost(groups: Iterable[Group], *, rate: float, technique: str) -> float:
    """Returns the cost λ + m·E + Σ Eᵢ·Ωᵢ."""
    groups = list(groups)
    finest = group_of(window for group in groups for window in group.windows).rate
    return rate + GroupCost(overhead=finest, technique=technique).plan(groups)


def triweave_groups(groups: Sequence[Group], *, technique: str) -> list[Group]:
    """Groups by the greedy algorithm of Weave Share; each tree costs one reading of the slices."""
    finest = edges.edge_rate(progression for group in groups for progression in group.edges)
    return weave_groups(groups, GroupCost(overhead=finest, technique=technique))


def triweave(workload: Workload, *, technique: str = "two_stacks") -> Plan:
    """Plans a tree for each group of windows, cut at its own edges; one pass cuts the events."""
    numbers = count()

    def grow(queries: tuple[Query, ...]) -> list[PeriodicTree]:
        nodes = {node.window: node for node in nodes_of(queries)}
        # Groups whose slices come out the same, because both are cut on one grid, are one tree.
        alike: dict[Slicing, list[Window]] = {}
        for group in triweave_groups(same_edges(nodes), technique=technique):
            alike.setdefault(edges.slicing(group.windows), []).extend(group.windows)
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

    return plan_of("triweave", workload, grow)
