"""Groups of windows that share slices, their costs (Weave Share, section 4), and the lookup of what
merging any two of them adds (section 8.1)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import lcm

import numpy as np
from numpy.typing import NDArray

from muntin.model.time import SECOND
from muntin.model.windows import Edges, Window
from muntin.optimizer.edges import distinct, edge_rate, edges_of
from muntin.optimizer.operations import Load, deque_length, load_of, operations_of


@dataclass(frozen=True, kw_only=True, eq=False)
class Group:
    """Distinct windows that are cut together."""

    windows: tuple[Window, ...]
    edges: tuple[Edges, ...]
    load: Load

    @cached_property
    def rate(self) -> float:
        """E: slices per second."""
        return edge_rate(self.edges)

    def __add__(self, other: "Group") -> "Group":
        merged = Group(
            windows=self.windows + other.windows,
            edges=self.edges
            if self.edges == other.edges
            else distinct((*self.edges, *other.edges)),
            load=self.load + other.load,
        )
        for group in (self, other):
            # The rate of edges that are known need not be counted again.
            if merged.edges == group.edges:
                merged.__dict__["rate"] = group.rate
        return merged


def group_of(windows: Iterable[Window]) -> Group:
    """Returns the group of some distinct windows."""
    windows = tuple(windows)
    return Group(windows=windows, edges=edges_of(windows), load=load_of(windows))


def same_edges(windows: Iterable[Window]) -> list[Group]:
    """Groups windows with identical edges.

    These weave perfectly: to merge them saves λ and costs nothing, the most that any merge can save
    (equation 5), so the greedy algorithm would make these merges first.
    """
    alike: dict[tuple[int, int, int], list[Window]] = {}
    for window in windows:
        begin = window.offset % window.slide
        end = (begin + window.size) % window.slide
        alike.setdefault((window.slide, min(begin, end), max(begin, end)), []).append(window)
    return [
        Group(windows=tuple(members), edges=edges_of(members[:1]), load=load_of(members))
        for members in alike.values()
    ]


def weaveability(a: Group, b: Group) -> float:
    """Returns the share of edges in the composite slide that both groups have (equation 4)."""
    both = a + b
    period = lcm(*(edges.period for edges in both.edges))
    total = round(both.rate * period / SECOND)
    common = round((a.rate + b.rate) * period / SECOND) - total
    return common / total


@dataclass(frozen=True, kw_only=True)
class GroupCost:
    """The cost of groups, in operations per second and key, with any technique."""

    # The fixed cost of a tree: λ with Weave Share, the rate of the finest slices with TriWeave.
    overhead: float
    technique: str = "panes"
    # Windows that overlap less are combined anew from all their slices.
    least_overlap: float = 0.0

    def omega(self, load: Load, rate: float) -> float:
        """Returns Ω, the final combines per slice."""
        count = operations_of(self.technique)
        if not self.least_overlap:
            return count(load, rate)
        rest = load.overlapping(self.least_overlap)
        return load.overlap - rest.overlap + (count(rest, rate) if rest.count else 0.0)

    def tree(self, group: Group) -> float:
        """Returns λ + E·Ω (equation 1)."""
        return self.overhead + group.rate * self.omega(group.load, group.rate)

    def plan(self, groups: Iterable[Group]) -> float:
        """Returns the sum over all trees (equation 3)."""
        return sum(self.tree(group) for group in groups)

    def reduction(self, a: Group, b: Group) -> float:
        """Returns what merging two trees saves (equation 5)."""
        return self.tree(a) + self.tree(b) - self.tree(a + b)


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def free_share(
    periods: Ints,
    phases: Ints,
    period: Ints | int,
    phase: Ints | int,
    common: Ints | None = None,
) -> Floats:
    """Returns the share of a progression (`period`, `phase`) that each item leaves free.

    An item is one period with up to two phases (a row of `phases`), which never meet each other,
    so the share is exact. All arguments broadcast. `common` has the divisors of the periods, if
    these are known.
    """
    common = np.gcd(periods, period) if common is None else common
    hits = ((phases[..., 0] - phase) % common == 0) + 0.0
    hits += ((phases[..., 1] - phase) % common == 0) & (phases[..., 1] >= 0)
    free: Floats = 1.0 - hits * (common / periods)
    return np.maximum(free, 0.0)


def progressions_of(groups: Sequence[Group]) -> tuple[Ints, Ints, Ints]:
    """Returns (period, phases, owner) of groups: a row for a period and up to two of its phases.

    Times are in the largest unit that fits all; a missing second phase is -1.
    """
    rows: list[tuple[int, int, int, int]] = []
    for owner, group in enumerate(groups):
        edges = group.edges
        index = 0
        while index < len(edges):
            first = edges[index]
            pair = index + 1 < len(edges) and edges[index + 1].period == first.period
            rows.append((first.period, first.phase, edges[index + 1].phase if pair else -1, owner))
            index += 1 + pair
    table = np.array(rows, dtype=np.int64).reshape(-1, 4)
    # Divisors of smaller numbers are found faster.
    absent = table[:, 2] < 0
    table[absent, 2] = 0
    unit = int(np.gcd.reduce(table[:, :3].ravel()))
    table[:, :3] //= unit
    table[absent, 2] = -1
    return table[:, 0], table[:, 1:3], table[:, 3]


class Lookup:
    """What merging any two trees saves, updated after every merge.

    For each tree and each progression it has the free share: the share of the progression's edges
    that the tree does not have. The edge rate of two trees is that of one plus the free shares of
    the other. When trees merge, free shares multiply, as if their edges were independent.
    """

    def __init__(self, groups: Sequence[Group], cost: GroupCost) -> None:
        """Fills the lookup for all pairs."""
        self._cost = cost
        count = len(groups)
        periods, phases, owner = progressions_of(groups)
        present = phases.ravel() >= 0
        atom_periods = np.repeat(periods, 2)[present]
        self._owner = np.repeat(owner, 2)[present]
        free = free_share(
            periods[:, None], phases[:, None, :], atom_periods, phases.ravel()[present]
        )
        self._free = np.multiply.reduceat(free, np.searchsorted(owner, np.arange(count)))
        self._rate = np.array([group.rate for group in groups])
        # Where a group's own progressions meet, each gets its part of the group's rate.
        alone = np.bincount(self._owner, weights=1 / atom_periods, minlength=count)
        self._mass = (self._rate / alone)[self._owner] / atom_periods
        self._count = np.array([float(group.load.count) for group in groups])
        self._longest = np.array([group.load.sizes.max() for group in groups])
        self._omega = np.array([cost.omega(group.load, group.rate) for group in groups])
        self.members = [[index] for index in range(count)]
        # What a merge adds to the final combines; it saves λ minus this. Single precision is enough
        # to order these, and takes half the time to search.
        self._added = np.full((count, count), np.inf, dtype=np.float32)
        for tree in range(count):
            self._look_up(tree)

    def _merged_omega(self, tree: int, rates: Floats) -> Floats:
        """Returns Ω of one tree merged with each other tree, at the merged slices per second."""
        summed: Floats = self._omega + self._omega[tree]
        if self._cost.technique != "slick_deque":
            return summed
        longest = np.maximum(self._longest, self._longest[tree])
        partials = np.maximum(1.0, longest * (rates / SECOND))
        walk = deque_length(float(partials.min()))
        deque: Floats = 2.0 - 2.0 / partials + self._count + self._count[tree] + walk
        return deque

    def _look_up(self, tree: int) -> None:
        """Fills the row and the column of one tree."""
        gained = np.bincount(
            self._owner, weights=self._mass * self._free[tree], minlength=len(self._rate)
        )
        rates = self._rate[tree] + gained
        apart = self._rate[tree] * self._omega[tree] + self._rate * self._omega
        row = rates * self._merged_omega(tree, rates) - apart
        row[self._rate == 0] = np.inf
        row[tree] = np.inf
        self._added[tree] = self._added[:, tree] = row

    def merge_best(self) -> bool:
        """Merges the two trees that save the most; returns False if no merge saves anything."""
        tree, other = divmod(int(self._added.argmin()), len(self._rate))
        if not self._added[tree, other] < self._cost.overhead:
            return False
        moved = self._owner == other
        self._mass[moved] *= self._free[tree, moved]
        self._owner[moved] = tree
        self._free[tree] *= self._free[other]
        rates = self._rate + self._mass[moved].sum()
        self._omega[tree] = self._merged_omega(tree, rates)[other]
        self._rate[tree] = rates[tree]
        self._count[tree] += self._count[other]
        self._longest[tree] = max(self._longest[tree], self._longest[other])
        self.members[tree] += self.members[other]
        # A tree with rate zero is gone; the rows of gone trees are removed once there are many.
        self._rate[other], self.members[other] = 0.0, []
        self._added[other] = self._added[:, other] = np.inf
        self._look_up(tree)
        gone = self._rate == 0
        if gone.sum() * 4 > len(gone):
            self._sweep(np.flatnonzero(~gone))
        return True

    def _sweep(self, kept: Ints) -> None:
        self._owner = np.searchsorted(kept, self._owner)
        self._free, self._added = self._free[kept], self._added[np.ix_(kept, kept)]
        for name in ("_rate", "_count", "_longest", "_omega"):
            setattr(self, name, getattr(self, name)[kept])
        self.members = [self.members[index] for index in kept]
