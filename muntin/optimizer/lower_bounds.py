"""Lower bounds of plan costs, which spare the search for plans that cannot be cheaper."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from muntin.model.query import Query
from muntin.model.trees import Node
from muntin.model.workload import Workload
from muntin.optimizer import costs
from muntin.optimizer.cost_models import harmless, model_of
from muntin.optimizer.edges import edge_rate, edges_of, slicing
from muntin.optimizer.trees import nodes_of, single_slicing

# Of many progressions of edges, only this many are counted, the densest.
_FEW_PROGRESSIONS = 8
# A sample is a Spark job, worth it only if one tree may be this much dearer than several.
_WORTH_A_LOOK = 1.05
# Events per second and key at which plans are compared if these are not known.
RATIOS = tuple(10.0**power for power in range(-5, 6))


def least_with_one_tree(queries: Iterable[Query], workload: Workload) -> float:
    """Returns the least cost of any plan of a grouping whose events are cut once, at all edges."""
    queries = tuple(queries)
    nodes = nodes_of(queries)
    prices = workload.prices
    densest = edges_of(node.window for node in nodes)[:_FEW_PROGRESSIONS]
    handed = costs.pairs(edge_rate(densest), workload, rate=workload.rate, keys=workload.keys)
    if len(nodes) == 1 and nodes[0].window.is_tumbling and len(nodes[0].queries) == 1:
        return sum(costs.alone_cost(nodes[0].window, nodes[0].aggregates, workload))
    combines = _own_combines(nodes, workload)
    cutting = costs.cutting_cost(handed, prices, workload.rate, columns=_columns(queries))
    return _answers(nodes, workload, prices.answer) + cutting + combines


def least_with_two_trees(queries: Iterable[Query], workload: Workload) -> float:
    """Returns the least cost of any plan of a grouping with two or more trees.

    Some windows have a tree of their own, which Spark answers alone. The other trees hand over at
    least the slices of their finest window, and combine the slices of each window.
    """
    queries = tuple(queries)
    nodes = nodes_of(queries)
    prices = workload.prices
    handed = {node.window: _own_partials(node, workload) for node in nodes}
    combines = _own_combines([node for node in nodes if not node.window.is_tumbling], workload)
    scan = prices.event * workload.rate
    columns = min(_columns([query]) for query in queries)
    options = []
    finest_first = sorted(nodes, key=lambda node: handed[node.window], reverse=True)
    # Queries of the finest windows that have a tree each, and what their answers cost.
    alone, given = 0, 0.0
    either = min(prices.answer, prices.group)
    for number, node in enumerate(finest_first):
        rest = _answers(finest_first[number:], workload, either)
        cutting = costs.cutting_cost(handed[node.window], prices, workload.rate, columns=columns)
        shared = cutting - scan + combines
        options.append(scan * max(2, alone + 1) + given + rest + shared)
        if not node.window.is_tumbling:
            break
        alone += len(node.queries)
        given += _answers([node], workload, prices.group)
    else:
        options.append(scan * max(2, alone) + given)
    return min(options)


def depends_on_data(workload: Workload) -> bool:
    """Whether several trees may be cheaper than one at some rate, so that a sample is worth it.

    Costs at a fixed ratio of rate to keys are proportional, so it is enough to try some ratios.
    """
    for queries in workload.queries_by_grouping.values():
        nodes = nodes_of(queries)
        for ratio in RATIOS:
            tried = replace(workload, rate=ratio, keys=1.0)
            cut = slicing([node.window for node in nodes], tried)
            flat = costs.cut_cost(cut, tried, columns=_columns(queries)) + sum(
                costs.node_cost(node.window, node.aggregates, cut, tried, queries=len(node.queries))
                for node in nodes
            )
            if len(nodes) > 1 and flat > _WORTH_A_LOOK * least_with_two_trees(queries, tried):
                return True
    return False


def _columns(queries: Sequence[Query]) -> int:
    """Returns the columns that the slicer needs for some queries of one grouping."""
    aggregates = (aggregate for query in queries for aggregate in query.aggregates.values())
    return costs.slicer_columns([queries[0].grouping], aggregates)


def _answers(nodes: Iterable[Node], workload: Workload, price: float) -> float:
    return price * sum(
        len(node.queries) * costs.partials_per_second(node.window, workload) for node in nodes
    )


def _own_partials(node: Node, workload: Workload) -> float:
    """Returns the partials per second between a window's own edges, the least in any tree.

    A tree of the window alone may have more, since it may be cut on a finer grid.
    """
    edges = edge_rate(edges_of([node.window]))
    return costs.pairs(edges, workload, rate=workload.rate, keys=workload.keys)


def _own_combines(nodes: Sequence[Node], workload: Workload) -> float:
    """Returns the combines that no other window can save.

    A window of the same size can save them, and where overlap is harmless, any window.
    """
    sizes = Counter(node.window.size for node in nodes)
    total = 0.0
    for node in nodes:
        window = node.window
        if sizes[window.size] == 1 and not harmless(node.aggregates):
            cut = single_slicing(window, workload)
            model = model_of(workload)
            own = model.partials_per_second(cut, workload)
            combines = model.combines_per_second(cut, window, node.aggregates, workload)
            total += workload.prices.combine * combines * _own_partials(node, workload) / own
    return total
