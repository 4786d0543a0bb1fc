"""The window coverage graph and its cheapest forest (Factor Windows, section III).

A window reads the stream, or the intervals of another window that covers it. Where overlap harms
an aggregate, the other window must partition it.
"""

from collections.abc import Callable, Iterable, Sequence

from muntin.model.plan import Plan
from muntin.model.trees import Node
from muntin.model.windows import Window
from muntin.model.workload import Workload
from muntin.optimizer.cost_models import WindowReads, harmless, window_reads
from muntin.optimizer.trees import nodes_of, plan_of, tree_of

# Whether overlap harms none of a window's aggregates.
Harmless = Callable[[Window], bool]
# The window that each window reads; None is the stream.
Forest = dict[Window, Window | None]


def may_read(parent: Window, window: Window, is_harmless: Harmless) -> bool:
    """Whether the coverage graph has this edge."""
    if parent == window:
        return False
    return parent.covers(window) if is_harmless(window) else parent.partitions(window)


def choices(
    windows: Iterable[Window], reads: WindowReads, is_harmless: Harmless
) -> dict[Window, list[tuple[float, Window | None]]]:
    """Returns the coverage graph: what each window may read and at what cost, cheapest first.

    At equal cost, a window comes before the stream, and a wider window before a narrower one.
    """
    windows = sorted(set(windows), reverse=True)
    graph: dict[Window, list[tuple[float, Window | None]]] = {}
    for window in windows:
        safe = is_harmless(window)
        offers: list[tuple[float, Window | None]] = [
            (reads.cost(window, parent, is_harmless=safe), parent)
            for parent in windows
            if may_read(parent, window, is_harmless)
        ]
        offers.append((reads.cost(window, None, is_harmless=safe), None))
        graph[window] = sorted(offers, key=lambda offer: offer[0])
    return graph


# Returns which window, or the stream, each of some windows reads.
ForestBuilder = Callable[[Sequence[Window], WindowReads, Harmless], Forest]


def min_cost_forest(windows: Iterable[Window], reads: WindowReads, is_harmless: Harmless) -> Forest:
    """Algorithm 1: each window reads what is cheapest for it."""
    graph = choices(windows, reads, is_harmless)
    return {window: offers[0][1] for window, offers in graph.items()}


def harmless_nodes(nodes: Iterable[Node]) -> Harmless:
    """Returns whether overlap is harmless for a window and for all that it partitions.

    A window that it partitions may read it, and then it has that window's aggregates too.
    """
    harmed = [node.window for node in nodes if not harmless(node.aggregates)]
    known: dict[Window, bool] = {}

    def is_harmless(window: Window) -> bool:
        if window not in known:
            known[window] = not any(window.partitions(other) for other in harmed)
        return known[window]

    return is_harmless


def coverage(workload: Workload) -> Plan:
    """Plans one tree per grouping: the min-cost coverage graph, without factor windows."""
    return plan_by_forest("coverage", workload, min_cost_forest)


def plan_by_forest(strategy: str, workload: Workload, build: ForestBuilder) -> Plan:
    """Plans one tree per grouping, in which windows read what `build` chooses for them."""

    def forest(nodes: tuple[Node, ...]) -> Forest:
        windows = [node.window for node in nodes]
        return build(windows, window_reads(windows, workload), harmless_nodes(nodes))

    return plan_of(
        strategy,
        workload,
        lambda queries: [
            tree_of(queries[0].grouping, nodes := nodes_of(queries), workload, forest(nodes))
        ],
    )
