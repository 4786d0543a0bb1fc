"""A tree that windows can be added to and removed from; it keeps its edge rate up to date."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from muntin.model.slicing import Edges
from muntin.model.time import SECOND
from muntin.model.windows.window import Window
from muntin.optimizer.costs.operations import load_of
from muntin.optimizer.slicing.edges import edge_rate
from muntin.optimizer.weave_share.cost_lookup import Floats, Ints, free_share
from muntin.optimizer.weave_share.groups import GroupCost

# Trees with at most this many edge sets are counted exactly, larger ones estimated.
_FEW_SETS = 8
# How many of the trees that look best are costed with their true Ω.
_SHORT_LIST = 8
# A period with one or two phases; the second is -1 if there is only one.
EdgeSet = tuple[int, int, int]


def edge_set(window: Window) -> EdgeSet:
    """Returns a window's edges; windows with equal edge sets weave perfectly."""
    begin = window.offset % window.slide
    end = (begin + window.size) % window.slide
    return window.slide, min(begin, end), max(begin, end) if begin != end else -1


def added_rate(edges: EdgeSet, table: Ints, owner: Ints, trees: int) -> Floats:
    """Returns what an edge set adds to the rate of each tree, whose sets are rows of `table`."""
    added = np.zeros(trees)
    common = np.gcd(table[:, 0], edges[0])
    for phase in edges[1:]:
        if phase >= 0:
            free = free_share(table[:, 0], table[:, 1:], edges[0], phase, common)
            logs = np.log(np.maximum(free, 1e-300))
            added += np.exp(np.bincount(owner, weights=logs, minlength=trees)) * SECOND / edges[0]
    return added


class Woven:
    """One tree: its windows, how many of them have each edge set, its rate and its load."""

    def __init__(self, windows: Iterable[Window], rate: float | None = None) -> None:
        """Counts the rate if none is given."""
        self.windows = dict.fromkeys(windows)
        self.sets = Counter(edge_set(window) for window in self.windows)
        self.load = load_of(self.windows)
        self._tabulate()
        self.rate = self.counted_rate() if rate is None else rate

    def _tabulate(self) -> None:
        self.rows = {edges: row for row, edges in enumerate(self.sets)}
        self.table = np.array(list(self.sets), dtype=np.int64).reshape(-1, 3)

    def counted_rate(self) -> float:
        """Returns the edge rate, counted if possible."""
        return edge_rate(
            Edges(period=edges[0], phase=phase)
            for edges in self.sets
            for phase in edges[1:]
            if phase >= 0
        )

    def added_by(self, sets: Sequence[EdgeSet]) -> float:
        """Returns what edge sets that are not in the tree add to its rate, each by itself."""
        if not sets:
            return 0.0
        periods, phases = self.table[:, None, 0], self.table[:, None, 1:]
        theirs = np.array(sets, dtype=np.int64)
        common = np.gcd(periods, theirs[:, 0])
        added = 0.0
        for side in (1, 2):
            free = free_share(periods, phases, theirs[:, 0], theirs[:, side], common)
            there = theirs[:, side] >= 0
            added += float(np.sum(there * free.prod(axis=0) / theirs[:, 0]))
        return added * SECOND

    def take_in(self, other: "Woven", rate: float) -> None:
        """Adds another tree's windows; `rate` is an estimate for both together."""
        self.windows |= other.windows
        fresh = [edges for edges in other.sets if edges not in self.sets]
        self.sets.update(other.sets)
        for edges in fresh:
            self.rows[edges] = len(self.rows)
        self.table = np.concatenate([self.table, np.array(fresh, dtype=np.int64).reshape(-1, 3)])
        self.load = self.load + other.load
        self.rate = self.counted_rate() if len(self.sets) <= _FEW_SETS else rate

    def leave_out(self, window: Window) -> None:
        """Removes a window, which must not be the last."""
        del self.windows[window]
        self.load = self.load.without(window)
        edges = edge_set(window)
        self.sets[edges] -= 1
        if self.sets[edges]:
            return
        del self.sets[edges]
        # The last row moves into the gap.
        gap, last = self.rows.pop(edges), len(self.rows)
        if gap != last:
            moved: EdgeSet = tuple(self.table[last].tolist())
            self.table[gap] = self.table[last]
            self.rows[moved] = gap
        self.table = self.table[:last].copy()
        if len(self.sets) <= _FEW_SETS:
            self.rate = self.counted_rate()
        else:
            self.rate -= self.added_by([edges])


def best_home(trees: Sequence[Woven], fresh: Woven, cost: GroupCost) -> tuple[Woven, float] | None:
    """Returns the tree where one more window saves the most, and its new rate, or None."""
    if not trees:
        return None
    (edges,) = fresh.sets
    tables = [tree.table for tree in trees]
    owner = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    added = added_rate(edges, np.concatenate(tables), owner, len(tables))
    rates = np.array([tree.rate for tree in trees]) + added
    omegas = np.array([cost.omega(tree.load, tree.rate) for tree in trees])
    alone = cost.omega(fresh.load, fresh.rate)
    # Ranks all trees as if Ω were additive, then costs the best of them in full.
    rough = added * omegas + rates * alone
    best, most = None, 0.0
    for index in np.argsort(rough)[:_SHORT_LIST].tolist():
        tree, rate = trees[index], float(rates[index])
        apart = cost.overhead + tree.rate * omegas[index] + fresh.rate * alone
        saved = float(apart - rate * cost.omega(tree.load + fresh.load, rate))
        if saved > most:
            best, most = (tree, rate), saved
    return best
