"""Putting queries on a tree: one node per distinct window, with all the aggregates asked of it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from muntin.model.aggregate import Aggregate
from muntin.model.plan import Node, Plan, Slicing, Tree
from muntin.model.query import Family, Query, Workload
from muntin.model.window import Window
from muntin.share import cost, edges


def nodes_of(queries: Iterable[Query]) -> tuple[Node, ...]:
    """A node that reads the slices for each distinct window; equal queries meet in one node."""
    asked: dict[Window, tuple[list[str], dict[Aggregate, None]]] = {}
    for query in queries:
        names, aggregates = asked.setdefault(query.window, ([], {}))
        names.append(query.name)
        aggregates.update(dict.fromkeys(query.aggregates.values()))
    return tuple(
        Node(window=window, aggregates=tuple(aggregates), queries=tuple(names))
        for window, (names, aggregates) in sorted(asked.items())
    )


def reads_from(parent: Window, window: Window, aggregates: Iterable[Aggregate]) -> bool:
    """Whether a node may read these aggregates from another: overlap must harm none of them."""
    return parent.partitions(window) or (
        parent.covers(window) and all(one.definition.idempotent for one in aggregates)
    )


def tree_of(
    family: Family,
    asked: Iterable[Node],
    workload: Workload,
    parents: Mapping[Window, Window | None] | None = None,
) -> Tree:
    """A tree of the asked nodes, each hung below its entry in `parents`, with its costs.

    Windows that stand in `parents` and were not asked for become factor windows. Every node carries
    what its readers need. A node that may not read its parent reads the nearest ancestor that
    it may, in the end the slices. A factor window that nobody reads is left out.
    """
    parents = parents or {}
    nodes = {node.window: node for node in asked}
    for window in {*parents, *parents.values()} - {None}:
        if window is not None and window not in nodes:
            nodes[window] = Node(window=window, aggregates=())
    hung: list[Node] = []
    # A window that covers another sorts before it, so readers are seen before what they read.
    for window in sorted(nodes, reverse=True):
        node = nodes[window]
        if not node.aggregates:
            continue
        parent = parents.get(window)
        while parent is not None and not reads_from(parent, window, node.aggregates):
            parent = parents.get(parent)
        hung.append(replace(node, parent=parent))
        if parent is not None:
            carried = tuple(dict.fromkeys((*nodes[parent].aggregates, *node.aggregates)))
            nodes[parent] = replace(nodes[parent], aggregates=carried, techniques=())
    hung.reverse()
    return costed(
        Tree(
            family=family,
            slicing=edges.slicing(node.window for node in hung if node.parent is None),
            nodes=tuple(hung),
        ),
        workload,
    )


def flat_tree(queries: Sequence[Query], workload: Workload) -> Tree:
    """A tree in which every node reads the slices; the queries are of one family."""
    return tree_of(queries[0].family, nodes_of(queries), workload)


def costed(tree: Tree, workload: Workload) -> Tree:
    """The same tree with its costs filled in."""
    rate, keys = workload.rate, workload.keys
    nodes = tuple(
        replace(
            node,
            cost=cost.node_cost(
                node.window,
                len(node.aggregates),
                node.parent or tree.slicing,
                queries=len(node.queries),
                rate=rate,
                keys=keys,
            ),
        )
        for node in tree.nodes
    )
    return replace(tree, nodes=nodes, cut_cost=cost.cut_cost(tree.slicing, rate=rate, keys=keys))


@lru_cache(maxsize=1 << 16)
def single_cost(window: Window, aggregates: int, rate: float, keys: float) -> float:
    """What one query costs with a tree of its own."""
    slicing: Slicing = edges.slicing([window])
    return cost.cut_cost(slicing, rate=rate, keys=keys) + cost.node_cost(
        window, aggregates, slicing, queries=1, rate=rate, keys=keys
    )


def plan_of(
    strategy: str, workload: Workload, grow: Callable[[tuple[Query, ...]], Iterable[Tree]]
) -> Plan:
    """A plan with the trees that `grow` makes of each family, beside what it is measured by."""
    rate, keys = workload.rate, workload.keys
    trees = tuple(tree for queries in workload.families.values() for tree in grow(queries))
    return Plan(
        strategy=strategy,
        trees=trees,
        queries=workload.queries,
        rate=rate,
        keys=keys,
        unshared_cost=sum(
            single_cost(query.window, len(set(query.aggregates.values())), rate, keys)
            for query in workload.shared
        ),
        plain_cost=cost.plain_cost(workload.shared, rate=rate, keys=keys),
    )
