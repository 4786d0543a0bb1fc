"""Putting queries on a tree: one node per distinct window, with all the aggregates asked of it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from muntin.model.aggregate import Aggregate
from muntin.model.plan import Node, Plan, Slicing, Tree
from muntin.model.query import Query, Workload
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


def flat_tree(queries: Sequence[Query], workload: Workload) -> Tree:
    """A tree in which every node reads the slices; the queries are of one family."""
    nodes = nodes_of(queries)
    return costed(
        Tree(
            family=queries[0].family,
            slicing=edges.slicing(node.window for node in nodes),
            nodes=nodes,
        ),
        workload,
    )


def costed(tree: Tree, workload: Workload) -> Tree:
    """The same tree with its costs filled in."""
    rate, keys = workload.rate, workload.keys
    sources: dict[Window | None, Slicing | Node] = {None: tree.slicing}
    nodes = []
    for node in tree.nodes:
        reads = cost.partials_per_second(sources[node.parent], rate=rate, keys=keys)
        nodes.append(
            replace(
                node,
                cost=cost.node_cost(node.window, len(node.aggregates), reads, rate=rate, keys=keys),
            )
        )
        sources[node.window] = node
    return replace(tree, nodes=tuple(nodes), cut_cost=cost.cut_cost(rate=rate))


def plan_of(
    strategy: str, workload: Workload, grow: Callable[[tuple[Query, ...]], Iterable[Tree]]
) -> Plan:
    """A plan with the trees that `grow` makes of each family, beside what sharing is measured by."""
    trees = tuple(tree for queries in workload.families.values() for tree in grow(queries))
    return Plan(
        strategy=strategy,
        trees=trees,
        queries=workload.queries,
        rate=workload.rate,
        keys=workload.keys,
        unshared_cost=sum(flat_tree([query], workload).cost for query in workload.shared),
        plain_cost=cost.plain_cost(workload.shared, rate=workload.rate),
    )
