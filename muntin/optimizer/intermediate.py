"""Chooses intermediate windows for the cheapest tree by the runtime's own cost model.

The papers allow few: Factor Windows only common divisors of all that a window covers, Weave Share
none. Here any window between the slices and some of the queries may be chosen.
"""

from collections.abc import Iterable, Sequence
from math import gcd

from muntin.aggregates.aggregate import Aggregate
from muntin.model.plan import Plan
from muntin.model.query import Grouping
from muntin.model.trees import Node, PeriodicTree
from muntin.model.windows import Slicing, Window
from muntin.model.workload import Workload
from muntin.optimizer import costs, edges
from muntin.optimizer.cost_models import harmless
from muntin.optimizer.trees import nodes_of, plan_of, reads_from, tree_of

# The most candidates to try: those that serve the most windows.
_MOST_CANDIDATES = 64
# Above this many windows, half of the candidates are dropped after every choice.
_FEW_WINDOWS = 40


def tumbling_closure(windows: Iterable[Window], *, most: int | None = None) -> list[Window]:
    """Returns the coarsest tumbling window for each set of windows that one can serve.

    A finer one is dominated: it costs as much to make, and more to read. The closure starts with
    the coarsest of each window and adds common divisors. It stops after `most`.
    """
    closed: dict[Window, None] = {}
    fresh = []
    for window in windows:
        width = gcd(window.size, window.slide)
        fresh.append(Window(size=width, slide=width, offset=window.offset))
    while fresh and (most is None or len(closed) < most):
        window = fresh.pop()
        if window in closed:
            continue
        for other in closed:
            width = gcd(window.size, other.size, window.offset - other.offset)
            fresh.append(Window(size=width, slide=width, offset=window.offset))
        closed[window] = None
    return sorted(closed)


def candidates(nodes: Sequence[Node]) -> list[Window]:
    """Returns windows that no query asked for and that may pay, those that serve the most first."""
    asked = {node.window for node in nodes}
    offered = set(tumbling_closure(asked, most=4 * _MOST_CANDIDATES)) - asked
    for node in nodes:
        window = node.window
        rest = window.size % window.slide
        # Where overlap is harmless, a size that is no multiple of the slide needs no finer slide.
        if rest and harmless(node.aggregates):
            short = Window(size=window.slide + rest, slide=window.slide, offset=window.offset)
            offered |= {short} - asked
    serves = {w: sum(reads_from(w, n.window, n.aggregates) for n in nodes) for w in offered}
    ranked = sorted((w for w in offered if serves[w]), key=lambda w: (-serves[w], -w.slide, w))
    return ranked[:_MOST_CANDIDATES]


class ParentSearch:
    """Chooses the cheapest parent of each node among the windows that are present."""

    def __init__(
        self,
        grouping: Grouping,
        nodes: Sequence[Node],
        offered: Sequence[Window],
        workload: Workload,
    ) -> None:
        """`nodes` are those asked for, one per window; `offered` are the candidates."""
        self._grouping, self._nodes, self._workload = grouping, nodes, workload
        everything = frozenset(a for node in nodes for a in node.aggregates)
        self._columns = costs.slicer_columns([grouping], everything)
        self._asked = {node.window: frozenset(node.aggregates) for node in nodes}
        self._queries = {node.window: len(node.queries) for node in nodes}
        self._windows = sorted({*self._asked, *offered})
        wanted = {window: self._asked.get(window, everything) for window in self._windows}
        self._covering = {
            window: [w for w in self._windows if w != window and w.covers(window)]
            for window in self._windows
        }
        # The windows that each may read, with the cost for all its aggregates.
        self._offers = {
            window: sorted(
                (costs.combine_cost(parent, window, wanted[window], workload), parent)
                for parent in self._covering[window]
                if reads_from(parent, window, wanted[window])
            )
            for window in self._windows
        }
        self._wanted = wanted
        self._slicings: dict[tuple[Window, ...], Slicing] = {}

    def _slicing(self, roots: tuple[Window, ...]) -> Slicing:
        if roots not in self._slicings:
            self._slicings[roots] = edges.slicing(roots, self._workload)
        return self._slicings[roots]

    def parents(self, present: set[Window]) -> dict[Window, Window | None]:
        """Returns the cheapest parent of each window, as if each had only its own aggregates.

        Windows that no other covers read the slices, and so decide where these are cut; the others
        have no edge of their own.
        """
        here = {*self._asked, *present}
        windows = [window for window in self._windows if window in here]
        roots = (w for w in windows if not any(c in here for c in self._covering[w]))
        slices = self._slicing(tuple(roots))
        chosen: dict[Window, Window | None] = {}
        for window in windows:
            wanted = self._wanted[window]
            best, least = None, costs.combine_cost(slices, window, wanted, self._workload)
            for spent, parent in self._offers[window]:
                if spent >= least:
                    break
                missing = wanted - self._wanted[parent]
                if missing:
                    spent += costs.combine_cost(slices, parent, missing, self._workload)
                if parent in here and spent < least:
                    best, least = parent, spent
            chosen[window] = best
        return chosen

    def cost(self, parents: dict[Window, Window | None]) -> float:
        """Returns the cost of `tree` without building it."""
        carried: dict[Window, frozenset[Aggregate]] = dict(self._asked)
        total, sources = 0.0, {}
        for window in sorted(parents, reverse=True):
            if not carried.get(window):
                continue
            parent = parents[window]
            while parent is not None and not reads_from(parent, window, carried[window]):
                parent = parents[parent]
            sources[window] = parent
            if parent is not None:
                carried[parent] = carried.get(parent, frozenset()) | carried[window]
        roots = tuple(sorted(window for window, parent in sources.items() if parent is None))
        slices = self._slicing(roots)
        for window, parent in sources.items():
            total += costs.node_cost(
                window,
                carried[window],
                parent or slices,
                self._workload,
                queries=self._queries.get(window, 0),
            )
        return total + costs.cut_cost(slices, self._workload, columns=self._columns)

    def tree(self, parents: dict[Window, Window | None]) -> PeriodicTree:
        """Returns the tree in which each window reads its parent."""
        return tree_of(self._grouping, self._nodes, self._workload, parents)


def best_tree(grouping: Grouping, nodes: Sequence[Node], workload: Workload) -> PeriodicTree:
    """Returns the cheapest tree found by adding and dropping windows while that pays."""
    offered = candidates(nodes)
    if workload.options.slicing is not None:
        slices = edges.slicing([node.window for node in nodes], workload)
        offered = [window for window in offered if slices.cuts(window)]
    search = ParentSearch(grouping, nodes, offered, workload)
    flat: dict[Window, Window | None] = {node.window: None for node in nodes}
    present: set[Window] = set()
    best = min(flat, search.parents(present), key=search.cost)
    least = search.cost(best)
    while offered:
        trials = [(present ^ {window}) for window in offered]
        hung = [(search.parents(trial), trial) for trial in trials]
        costs = [search.cost(parents) for parents, _ in hung]
        cheapest = min(range(len(costs)), key=costs.__getitem__)
        if costs[cheapest] >= least * (1 - 1e-12):
            break
        least, (best, present) = costs[cheapest], hung[cheapest]
        if len(nodes) > _FEW_WINDOWS:
            # Only the better half is kept, so that many windows take few rounds.
            order = sorted(range(len(costs)), key=costs.__getitem__)
            offered = [offered[index] for index in order[: len(order) // 2]]
    return search.tree(best)


def intermediate(workload: Workload) -> Plan:
    """Plans one tree per grouping, with intermediate windows chosen freely."""
    return plan_of(
        "intermediate",
        workload,
        lambda queries: [best_tree(queries[0].grouping, nodes_of(queries), workload)],
    )
