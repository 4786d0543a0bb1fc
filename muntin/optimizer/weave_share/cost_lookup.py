"""The cost lookup of Weave Share (section 8.1): what merging any two trees adds."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from muntin.model.time import SECOND
from muntin.optimizer.costs.operations import deque_length
from muntin.optimizer.weave_share.groups import Group, GroupCost

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
