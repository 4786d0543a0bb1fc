"""Incremental Weave Share: adds and removes queries without planning again (section 5.2)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from muntin.errors import PlanError
from muntin.model.plan import Plan
from muntin.model.query import Grouping, Query
from muntin.model.time import SECOND
from muntin.model.windows import Edges, Window
from muntin.model.workload import Workload
from muntin.optimizer.edges import edge_rate
from muntin.optimizer.operations import ADDITIVE, Load, load_of
from muntin.optimizer.trees import nodes_of, plan_of, tree_of
from muntin.optimizer.weave_share.groups import (
    Floats,
    Group,
    GroupCost,
    Ints,
    free_share,
    group_of,
    same_edges,
)
from muntin.optimizer.weave_share.weave_share import weave_groups

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


# The most pairs of edge sets that one change may compare to find further merges.
_PAIR_BUDGET = 8_000


class Reweaving:
    """The trees of one grouping's windows, updated with every change."""

    def __init__(
        self, windows: Iterable[Window], cost: GroupCost, *, tolerance: float = 0.25
    ) -> None:
        """Plans from scratch; `tolerance` is ε of equation 6, best at 0.2 to 0.3 by the paper."""
        self.cost = cost
        self.tolerance = tolerance
        # The plan-cost curve: (windows, cost) of each plan made from scratch.
        self.curve: list[tuple[int, float]] = []
        self._trees: list[Woven] = []
        self._home: dict[Window, Woven] = {}
        self._weave(windows)

    def _weave(self, windows: Iterable[Window]) -> None:
        groups = weave_groups(same_edges(dict.fromkeys(windows)), self.cost)
        self._trees = [Woven(group.windows, group.rate) for group in groups]
        self._home = {window: tree for tree in self._trees for window in tree.windows}
        if self._home:
            self.curve.append((len(self._home), self.plan_cost))

    @property
    def windows(self) -> tuple[Window, ...]:
        """Every window, once."""
        return tuple(self._home)

    @property
    def groups(self) -> list[Group]:
        """The current trees."""
        return [group_of(tree.windows) for tree in self._trees]

    @property
    def plan_cost(self) -> float:
        """The cost of the plan (equation 3), with the rates known here."""
        return sum(self._cost(tree.load, tree.rate) for tree in self._trees)

    def _cost(self, load: Load, rate: float) -> float:
        return self.cost.overhead + rate * self.cost.omega(load, rate)

    @property
    def slope(self) -> float:
        """The performance slope: cost per window between the last two points of the curve."""
        if not self.curve:
            return 0.0
        (before, start), (count, end) = ([(0, 0.0), *self.curve])[-2:]
        return (end - start) / (count - before) if count != before else end / count

    @property
    def expected_cost(self) -> float:
        """The cost of a plan made from scratch, expected_cost from the curve."""
        count, cost = self.curve[-1] if self.curve else (0, 0.0)
        return cost + self.slope * (len(self._home) - count)

    @property
    def due(self) -> bool:
        """Whether the plan has drifted by more than the tolerance (equation 6)."""
        expected = self.expected_cost
        return bool(self._home) and (
            expected <= 0 or self.plan_cost / expected - 1 > self.tolerance
        )

    def reconstruct(self) -> None:
        """Plans from scratch, and adds a point to the curve."""
        self._weave(self._home)

    def add(self, window: Window) -> None:
        """Adds a window to the tree where it saves the most, or to a new tree."""
        if window in self._home:
            return
        fresh = Woven([window])
        best = best_home(self._trees, fresh, self.cost)
        if best is None:
            self._trees.append(fresh)
            self._home[window] = fresh
            return
        tree, rate = best
        finer = edge_set(window) not in tree.sets and rate > tree.rate * (1 + 1e-12)
        self._merge(tree, fresh, rate)
        # If a tree has the same edges and more work per edge, no further merge pays.
        if finer:
            self._merge_further(tree)

    def _omega(self, tree: Woven) -> float:
        return self.cost.omega(tree.load, tree.rate)

    def _merge(self, tree: Woven, other: Woven, rate: float) -> None:
        tree.take_in(other, rate)
        self._home |= dict.fromkeys(other.windows, tree)

    def remove(self, window: Window) -> None:
        """Removes a window, then merges its tree with others if that pays now."""
        tree = self._home.pop(window, None)
        if tree is None:
            raise PlanError(f"there is no window {window} to remove")
        if len(tree.windows) == 1:
            self._trees.remove(tree)
            return
        tree.leave_out(window)
        self._merge_further(tree)

    def _merge_further(self, tree: Woven) -> None:
        """Merges a tree with others while that saves, within a budget of comparisons."""
        budget = _PAIR_BUDGET
        while True:
            best: tuple[Woven, float] | None = None
            most, omega = 0.0, self._omega(tree)
            for other in self._trees:
                pairs = len(tree.sets) * len(other.sets)
                if other is tree or pairs > budget:
                    continue
                theirs = self._omega(other)
                additive = self.cost.technique in ADDITIVE
                least = omega + theirs if additive else max(omega, theirs)
                apart = tree.rate * omega + other.rate * theirs + self.cost.overhead
                # Together, two trees have at least the rate of the finer one.
                if apart - max(tree.rate, other.rate) * least <= most:
                    continue
                budget -= pairs
                rate = self._rate_with(tree, other)
                saved = apart - rate * self.cost.omega(tree.load + other.load, rate)
                if saved > most:
                    best, most = (other, rate), saved
            if best is None:
                return
            self._trees.remove(best[0])
            self._merge(tree, *best)

    def _rate_with(self, tree: Woven, other: Woven) -> float:
        few, many = sorted((tree, other), key=lambda woven: len(woven.sets))
        # The sum of what each set adds, an overestimate if the sets of the smaller tree meet.
        added = many.added_by([edges for edges in few.sets if edges not in many.sets])
        return many.rate + min(added, few.rate)


class ReweavingPlan:
    """A Weave Share plan that queries can be added to and removed from."""

    def __init__(
        self, workload: Workload, *, technique: str = "two_stacks", tolerance: float = 0.25
    ) -> None:
        """Plans the workload from scratch."""
        self._facts = workload
        self._cost = GroupCost(overhead=workload.rate / workload.keys, technique=technique)
        self._tolerance = tolerance
        self._queries: dict[str, Query] = {}
        self._asked: dict[tuple[Grouping, Window], int] = {}
        self._woven: dict[Grouping, Reweaving] = {}
        for grouping, queries in workload.queries_by_grouping.items():
            windows = [query.periodic_window for query in queries]
            self._woven[grouping] = Reweaving(windows, self._cost, tolerance=tolerance)
            for query in queries:
                self._count(query, 1)

    def _woven_of(self, query: Query) -> Reweaving:
        return self._woven.setdefault(
            query.grouping, Reweaving((), self._cost, tolerance=self._tolerance)
        )

    def _count(self, query: Query, change: int) -> int:
        place = query.grouping, query.periodic_window
        self._asked[place] = self._asked.get(place, 0) + change
        if change > 0:
            self._queries[query.name] = query
        else:
            del self._queries[query.name]
        return self._asked[place]

    def add(self, query: Query) -> None:
        """Adds a query."""
        if query.name in self._queries:
            raise PlanError(f"a query called {query.name!r} is there already")
        if self._count(query, 1) == 1:
            self._woven_of(query).add(query.periodic_window)

    def remove(self, name: str) -> None:
        """Removes a query."""
        if name not in self._queries:
            raise PlanError(f"no query is called {name!r}")
        query = self._queries[name]
        if self._count(query, -1) == 0:
            self._woven_of(query).remove(query.periodic_window)

    @property
    def due(self) -> bool:
        """Whether some grouping has drifted by more than the tolerance."""
        return any(woven.due for woven in self._woven.values())

    def reconstruct(self) -> None:
        """Plans every grouping that is due from scratch."""
        for woven in self._woven.values():
            if woven.due:
                woven.reconstruct()

    def plan(self) -> Plan:
        """Returns the current plan."""
        workload = replace(self._facts, queries=tuple(self._queries.values()))
        return plan_of(
            "weave",
            workload,
            lambda queries: [
                tree_of(
                    queries[0].grouping,
                    nodes_of(query for query in queries if query.window in set(group.windows)),
                    workload,
                )
                for group in self._woven[queries[0].grouping].groups
            ],
        )
