"""What plans must cost at least: where that is too much, no cheaper one needs to be looked for."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from muntin.model.plan import Node
from muntin.model.query import Query, Workload
from muntin.share.costs import cost
from muntin.share.slicing.edges import edge_rate, edges_of, slicing
from muntin.share.trees import nodes_of, single_slicing

# Of many progressions of edges so many are counted, the densest.
_FEW_PROGRESSIONS = 8
# A sample is a Spark job: it is not taken for what one tree can lose by less than this.
_WORTH_A_LOOK = 1.05
# Events per second and key at which the choice of a plan is looked at, where they are not known.
_RATIOS = tuple(10.0**power for power in range(-5, 6))


def least_with_one_tree(queries: Iterable[Query], workload: Workload) -> float:
    """What any plan of a family costs at least with one tree: its edges must all be cut."""
    nodes = nodes_of(queries)
    prices = workload.prices
    densest = edges_of(node.window for node in nodes)[:_FEW_PROGRESSIONS]
    handed = cost.occupied(edge_rate(densest), rate=workload.rate, keys=workload.keys)
    if len(nodes) == 1 and nodes[0].window.is_tumbling and len(nodes[0].queries) == 1:
        return sum(cost.alone_cost(nodes[0].window, workload))
    combines = _own_combines(nodes, workload)
    return (
        _answers(nodes, workload, prices.answer)
        + prices.event * workload.rate
        + cost.handing_cost(handed, workload)
        + combines
    )


def least_with_two_trees(queries: Iterable[Query], workload: Workload) -> float:
    """What any plan of a family costs at least once it has two trees.

    Some windows have a tree of their own, which Spark answers unaided. What is left hands over at
    least the slices of the finest window in it, and combines the slices of each.
    """
    nodes = nodes_of(queries)
    prices = workload.prices
    handed = {node.window: _own_partials(node, workload) for node in nodes}
    combines = _own_combines([node for node in nodes if not node.window.is_tumbling], workload)
    scan = prices.event * workload.rate
    options = []
    finest_first = sorted(nodes, key=lambda node: handed[node.window], reverse=True)
    # Queries of the finest windows that have a tree each, and what their answers cost.
    alone, given = 0, 0.0
    either = min(prices.answer, prices.group)
    for number, node in enumerate(finest_first):
        rest = _answers(finest_first[number:], workload, either)
        shared = cost.handing_cost(handed[node.window], workload) + combines
        options.append(scan * max(2, alone + 1) + given + rest + shared)
        if not node.window.is_tumbling:
            break
        alone += len(node.queries)
        given += _answers([node], workload, prices.group)
    else:
        options.append(scan * max(2, alone) + given)
    return min(options)


def depends_on_data(workload: Workload) -> bool:
    """Whether one tree may lose to several at some rate: only then is it worth looking at data.

    Costs at one ratio of rate to keys are proportional, so a few ratios are all there is to try.
    """
    for queries in workload.families.values():
        nodes = nodes_of(queries)
        cut = slicing(node.window for node in nodes)
        for ratio in _RATIOS:
            tried = replace(workload, rate=ratio, keys=1.0)
            flat = cost.cut_cost(cut, tried) + sum(
                cost.node_cost(node.window, node.aggregates, cut, tried, queries=len(node.queries))
                for node in nodes
            )
            if len(nodes) > 1 and flat > _WORTH_A_LOOK * least_with_two_trees(queries, tried):
                return True
    return False


def _answers(nodes: Iterable[Node], workload: Workload, price: float) -> float:
    return price * sum(
        len(node.queries) * cost.partials_per_second(node.window, workload) for node in nodes
    )


def _own_partials(node: Node, workload: Workload) -> float:
    """Partials between the edges of a window alone; in any tree with it there are as many.

    Alone it may be cut finer, on a grid, where another tree is not.
    """
    edges = edge_rate(edges_of([node.window]))
    return cost.occupied(edges, rate=workload.rate, keys=workload.keys)


def _own_combines(nodes: Sequence[Node], workload: Workload) -> float:
    """Combines of each window alone, where no other window can save them.

    One of the same size can, and where overlap is harmless, any.
    """
    sizes = Counter(node.window.size for node in nodes)
    total = 0.0
    for node in nodes:
        window = node.window
        if sizes[window.size] == 1 and not cost.harmless(node.aggregates):
            cut = single_slicing(window.slide, window.offset, window.size % window.slide)
            operations = cost.operations_per_partial(cut, window, node.aggregates)
            total += workload.prices.combine * _own_partials(node, workload) * operations
    return total
