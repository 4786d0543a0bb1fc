"""TriWeave: the stream is cut once, at all edges, and several groups read those slices.

Incremental MQO, section 3.1.1. The cost is λ + m·E + Σ Eᵢ·Ωᵢ, with E the rate of the finest slices:
Weave Share with E in place of λ. It suits Spark, where the scan is paid once.
"""

from collections.abc import Iterable, Sequence

from muntin.model.plan import Plan, Tree
from muntin.model.query import Query, Workload
from muntin.model.slicing import Slicing
from muntin.model.time import SECOND
from muntin.model.windows.window import Window
from muntin.share.slicing import edges
from muntin.share.trees import nodes_of, plan_of, tree_of
from muntin.share.weave_share.groups import Group, GroupCost, group_of, same_edges
from muntin.share.weave_share.weave_share import weave_groups


def triweave_cost(groups: Iterable[Group], *, rate: float, technique: str) -> float:
    """Returns the cost λ + m·E + Σ Eᵢ·Ωᵢ."""
    groups = list(groups)
    finest = group_of(window for group in groups for window in group.windows).rate
    return rate + GroupCost(overhead=finest, technique=technique).plan(groups)


def triweave_groups(groups: Sequence[Group], *, technique: str) -> list[Group]:
    """Groups by the greedy algorithm of Weave Share; each tree costs one reading of the slices."""
    finest = edges.edge_rate(progression for group in groups for progression in group.edges)
    return weave_groups(groups, GroupCost(overhead=finest, technique=technique))


def coarser(group: Group, finest: Slicing) -> Window | None:
    """Returns the tumbling window that makes a group's own slices, or None if it does not pay.

    The finest slices must cut it, it must have fewer edges than these, and more than one window
    must read it.
    """
    cell = edges.grid(group.edges)
    window = Window(size=cell.period, slide=cell.period, offset=cell.phase)
    fewer = SECOND / cell.period < finest.rate
    if len(group.windows) > 1 and fewer and finest.cuts(window):
        return window
    return None


def triweave(workload: Workload, *, technique: str = "two_stacks") -> Plan:
    """Plans one tree per grouping; each group reads a tumbling window of its own."""

    def grow(queries: tuple[Query, ...]) -> list[Tree]:
        nodes = nodes_of(queries)
        windows = [node.window for node in nodes]
        finest = edges.slicing(windows)
        parents: dict[Window, Window | None] = {}
        for group in triweave_groups(same_edges(windows), technique=technique):
            middle = coarser(group, finest)
            parents |= {window: middle for window in group.windows if window != middle}
        tree = tree_of(queries[0].grouping, nodes, workload, parents)
        return [tree]

    return plan_of("triweave", workload, grow)
