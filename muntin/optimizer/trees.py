"""Builds trees from queries: one node per distinct window, with all its aggregates."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from muntin.aggregates.aggregate import Aggregate
from muntin.model.passes import Engine
from muntin.model.plan import Plan
from muntin.model.query import Grouping, Query
from muntin.model.trees import Node, PeriodicTree
from muntin.model.windows import Slicing, Window
from muntin.model.workload import Workload
from muntin.optimizer import costs, edges
from muntin.optimizer.cost_models import harmless
from muntin.optimizer.data_trees import data_trees, data_trees_cost


def nodes_of(queries: Iterable[Query]) -> tuple[Node, ...]:
    """Returns a node for each distinct window; it reads the slices and answers all its queries."""
    asked: dict[Window, tuple[list[str], dict[Aggregate, None]]] = {}
    for query in queries:
        names, aggregates = asked.setdefault(query.periodic_window, ([], {}))
        names.append(query.name)
        aggregates.update(dict.fromkeys(query.aggregates.values()))
    return tuple(
        Node(window=window, aggregates=tuple(aggregates), queries=tuple(names))
        for window, (names, aggregates) in sorted(asked.items(), key=lambda item: _order(item[0]))
    )


def _order(window: Window) -> tuple[int, int, int]:
    """Returns a fast sort key for windows; a window comes before those that it covers."""
    return window.size, window.slide, window.offset


def reads_from(parent: Window, window: Window, aggregates: Iterable[Aggregate]) -> bool:
    """Whether a node may read aggregates from a parent, whose intervals may overlap."""
    return parent.partitions(window) or (parent.covers(window) and harmless(tuple(aggregates)))


def tree_of(
    grouping: Grouping,
    asked: Iterable[Node],
    workload: Workload,
    parents: Mapping[Window, Window | None] | None = None,
    *,
    may_be_alone: bool = True,
) -> PeriodicTree:
    """Returns a tree of the asked nodes, each below its entry in `parents`, with its costs.

    Windows in `parents` that were not asked for become factor windows. Every node has the
    aggregates that its readers need. A node that may not read its parent reads the nearest ancestor
    that it may, at last the slices. A factor window without readers is left out. Spark answers one
    tumbling window by itself, unless `may_be_alone` is false: the tree will share a pass.
    """
    nodes = {node.window: node for node in asked}
    parents = _cut_by_slicing(parents or {}, tuple(nodes), workload)
    for window in {*parents, *parents.values()} - {None}:
        if window is not None and window not in nodes:
            nodes[window] = Node(window=window, aggregates=())
    sources: dict[Window, Window | None] = {}
    # Readers come before the nodes that they read.
    for window in sorted(nodes, key=_order, reverse=True):
        node = nodes[window]
        if not node.aggregates:
            continue
        parent = parents.get(window)
        while parent is not None and not reads_from(parent, window, node.aggregates):
            parent = parents.get(parent)
        sources[window] = parent
        if parent is not None:
            carried = tuple(dict.fromkeys((*nodes[parent].aggregates, *node.aggregates)))
            nodes[parent] = replace(nodes[parent], aggregates=carried, techniques=())
    tree = PeriodicTree(
        grouping=grouping,
        slicing=edges.slicing(
            [window for window, parent in sources.items() if parent is None], workload
        ),
        nodes=tuple(
            replace(nodes[window], parent=parent) for window, parent in reversed(sources.items())
        ),
    )
    columns = costs.slicer_columns([grouping], tree.aggregates)
    cut_cost = costs.cut_cost(tree.slicing, workload, columns=columns)
    return with_costs(replace(tree, cut_cost=cut_cost), workload, may_be_alone=may_be_alone)


def _cut_by_slicing(
    parents: Mapping[Window, Window | None], asked: Sequence[Window], workload: Workload
) -> Mapping[Window, Window | None]:
    """Returns the parents without factor windows that the slicing of the user's choice does not
    cut; their readers read what they read."""
    if workload.options.slicing is None:
        return parents
    slices = edges.slicing(asked, workload)
    left_out = {
        window
        for window in {*parents, *parents.values()}
        if window is not None and window not in asked and not slices.cuts(window)
    }
    rest = {}
    for window, parent in parents.items():
        while parent is not None and parent in left_out:
            parent = parents.get(parent)
        if window not in left_out:
            rest[window] = parent
    return rest


def with_costs(
    tree: PeriodicTree, workload: Workload, *, may_be_alone: bool = True
) -> PeriodicTree:
    """Returns the tree with the costs of its nodes, and of cutting if Spark's own GROUP BY answers
    it."""
    if may_be_alone and tree.engine is Engine.SPARK:
        (node,) = tree.nodes
        cut_cost, spent = costs.alone_cost(node.window, node.aggregates, workload)
        return replace(tree, nodes=(replace(node, cost=spent),), cut_cost=cut_cost)
    nodes = []
    for node in tree.nodes:
        source = node.parent or tree.slicing
        spent = costs.node_cost(
            node.window, node.aggregates, source, workload, queries=len(node.queries)
        )
        nodes.append(replace(node, cost=spent))
    return replace(tree, nodes=tuple(nodes))


def flat_tree(queries: Sequence[Query], workload: Workload) -> PeriodicTree:
    """Returns a tree of one grouping's queries in which every node reads the slices."""
    return tree_of(queries[0].grouping, nodes_of(queries), workload)


def single_slicing(window: Window, workload: Workload) -> Slicing:
    """Returns the slices of a window alone."""
    # Windows of equal edges have one entry in the cache of slicings.
    rest = window.size % window.slide
    shortest = Window(size=window.slide + rest, slide=window.slide, offset=window.offset)
    return edges.slicing([shortest], workload)


def single_cost(
    window: Window, aggregates: frozenset[Aggregate], workload: Workload, *, columns: int
) -> float:
    """Returns the cost of one query with a tree of its own, which reads `columns` of an event."""
    if window.is_tumbling:
        return sum(costs.alone_cost(window, aggregates, workload))
    slicing = single_slicing(window, workload)
    return costs.cut_cost(slicing, workload, columns=columns) + costs.node_cost(
        window, aggregates, slicing, workload, queries=1
    )


def tree_each_cost(workload: Workload) -> float:
    """Returns the cost of the queries of one grouping with a tree each."""
    return data_trees_cost(workload) + sum(
        count * single_cost(window, aggregates, workload, columns=columns)
        for (window, aggregates, columns), count in _queries_of_equal_cost(workload).items()
    )


def plain_spark_cost(workload: Workload) -> float:
    """Returns the cost of the queries of one grouping in plain Spark.

    Spark supports few data windows: these have a tree each.
    """
    workload = workload.without_records
    return data_trees_cost(workload) + sum(
        count * costs.plain_cost(window, aggregates, workload)
        for (window, aggregates, _), count in _queries_of_equal_cost(workload).items()
    )


def _queries_of_equal_cost(workload: Workload) -> Counter[tuple[Window, frozenset[Aggregate], int]]:
    """Counts queries that cost the same: there may be very many of them."""
    return Counter(
        (
            query.periodic_window,
            frozenset(query.aggregates.values()),
            costs.slicer_columns([query.grouping], query.aggregates.values()),
        )
        for query in workload.periodic_queries
    )


def plan_of(
    strategy: str,
    workload: Workload,
    build_trees: Callable[[tuple[Query, ...]], Iterable[PeriodicTree]],
) -> Plan:
    """Returns a plan with the trees that `build_trees` returns for each grouping, and costs to
    compare."""
    trees = (
        tree for queries in workload.queries_by_grouping.values() for tree in build_trees(queries)
    )
    return Plan(
        strategy=strategy,
        trees=(*trees, *data_trees(workload)),
        workload=workload,
        unshared_cost=tree_each_cost(workload),
        plain_cost=plain_spark_cost(workload),
    )
