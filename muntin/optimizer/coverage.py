"""The window coverage graph and its cheapest forest (Factor Windows, section III).

A window reads the stream, or the intervals of another window that covers it. Where overlap harms
an aggregate, the other window must partition it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import lcm

from muntin.model.plan import Plan
from muntin.model.time import SECOND
from muntin.model.trees import Node
from muntin.model.windows import Window
from muntin.model.workload import Workload
from muntin.optimizer import costs
from muntin.optimizer.trees import nodes_of, plan_of, tree_of

# Whether overlap harms none of a window's aggregates.
Harmless = Callable[[Window], bool]
# The window that each window reads; None is the stream.
Forest = dict[Window, Window | None]

# Above this period, rates are used instead.
_LONGEST_PERIOD = 1 << 53


def recurrence(window: Window, period: int) -> float:
    """Returns how many intervals of a window lie in a period (equation 1)."""
    return 1 + (period - window.size) / window.slide


def common_period(windows: Iterable[Window]) -> int | None:
    """Returns the least common multiple of the sizes, or None if rates must be used instead.

    That is if a size is not a multiple of its slide, which the paper leaves out, or if the period
    is too long.
    """
    windows = tuple(windows)
    if any(window.size % window.slide for window in windows):
        return None
    period = lcm(*(window.size for window in windows))
    return period if period <= _LONGEST_PERIOD else None


@dataclass(frozen=True, kw_only=True)
class Counting:
    """The paper's cost model: the reads per period, or per microsecond if there is no period."""

    # η: events per microsecond.
    eta: float
    period: int | None

    def recurrence(self, window: Window) -> float:
        """Returns how often a window is computed (nᵢ)."""
        return 1 / window.slide if self.period is None else recurrence(window, self.period)

    def instance(self, window: Window, parent: Window | None, *, harmless: bool) -> float:
        """Returns how much is read to compute a window once (μᵢ, observation 1)."""
        if parent is None:
            return self.eta * window.size
        return parent.fewest_count(window) if harmless else parent.multiplier(window)

    def cost(self, window: Window, parent: Window | None, *, harmless: bool) -> float:
        """Returns nᵢ · μᵢ."""
        return self.recurrence(window) * self.instance(window, parent, harmless=harmless)

    def total(self, forest: Forest, harmless: Harmless) -> float:
        """Returns the cost of a forest."""
        return sum(self.cost(w, parent, harmless=harmless(w)) for w, parent in forest.items())


def counting_of(windows: Iterable[Window], workload: Workload) -> Counting:
    """Returns the cost model for a workload's events per key."""
    eta = workload.rate / workload.keys / SECOND
    return Counting(eta=eta, period=common_period(windows))


def may_read(parent: Window, window: Window, harmless: Harmless) -> bool:
    """Whether the coverage graph has this edge."""
    if parent == window:
        return False
    return parent.covers(window) if harmless(window) else parent.partitions(window)


def choices(
    windows: Iterable[Window], counting: Counting, harmless: Harmless
) -> dict[Window, list[tuple[float, Window | None]]]:
    """Returns the coverage graph: what each window may read and at what cost, cheapest first.

    At equal cost, a window comes before the stream, and a wider window before a narrower one.
    """
    windows = sorted(set(windows), reverse=True)
    graph: dict[Window, list[tuple[float, Window | None]]] = {}
    for window in windows:
        safe = harmless(window)
        offers: list[tuple[float, Window | None]] = [
            (counting.cost(window, parent, harmless=safe), parent)
            for parent in windows
            if may_read(parent, window, harmless)
        ]
        offers.append((counting.cost(window, None, harmless=safe), None))
        graph[window] = sorted(offers, key=lambda offer: offer[0])
    return graph


# Which window each of some windows reads.
Growth = Callable[[Sequence[Window], Counting, Harmless], Forest]


def min_cost_forest(windows: Iterable[Window], counting: Counting, harmless: Harmless) -> Forest:
    """Algorithm 1: each window reads what is cheapest for it."""
    graph = choices(windows, counting, harmless)
    return {window: offers[0][1] for window, offers in graph.items()}


def harmless_nodes(nodes: Iterable[Node]) -> Harmless:
    """Returns whether overlap is harmless for a window and for all that it partitions.

    A window that it partitions may read it, and then it has that window's aggregates too.
    """
    harmed = [node.window for node in nodes if not costs.harmless(node.aggregates)]
    known: dict[Window, bool] = {}

    def harmless(window: Window) -> bool:
        if window not in known:
            known[window] = not any(window.partitions(other) for other in harmed)
        return known[window]

    return harmless


def coverage(workload: Workload) -> Plan:
    """Plans one tree per grouping: the min-cost coverage graph, without factor windows."""
    return plan_by_forest("coverage", workload, min_cost_forest)


def plan_by_forest(strategy: str, workload: Workload, grow: Growth) -> Plan:
    """Plans one tree per grouping, in which windows read what `grow` chooses for them."""

    def forest(nodes: tuple[Node, ...]) -> Forest:
        windows = [node.window for node in nodes]
        return grow(windows, counting_of(windows, workload), harmless_nodes(nodes))

    return plan_of(
        strategy,
        workload,
        lambda queries: [
            tree_of(queries[0].grouping, nodes := nodes_of(queries), workload, forest(nodes))
        ],
    )
