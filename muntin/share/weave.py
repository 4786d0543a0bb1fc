"""Weave Share: merge the two trees that save the most, until none saves anything.

Guirguis et al., section 5.1 with the cost lookup of section 8.1. Few groups are counted exactly.
Among many, the lookup is filled and kept by whole rows of an estimate that is exact for pairs.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from muntin.model.plan import Plan, Tree
from muntin.model.query import Query, Workload
from muntin.model.time import SECOND
from muntin.share.groups import Group, GroupCost, same_edges
from muntin.share.operations import deque_length
from muntin.share.trees import nodes_of, plan_of, tree_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Up to this many groups, every entry of the lookup is counted exactly.
MOST_EXACT = 40
# Up to this many groups, the lookup of all pairs is held at once.
MOST_LOOKED_UP = 2_500


def weave_groups(groups: Sequence[Group], cost: GroupCost) -> list[Group]:
    """The greedy algorithm (figure 2), from the groups given to those that it ends with."""
    groups = list(groups)
    if len(groups) > MOST_LOOKED_UP:
        halves = groups[::2], groups[1::2]
        groups = [group for half in halves for group in weave_groups(half, cost)]
        if len(groups) > MOST_LOOKED_UP:
            return groups
    if len(groups) > MOST_EXACT:
        lookup = Lookup(groups, cost)
        while lookup.merge_best():
            pass
        groups = [_sum([groups[item] for item in items]) for items in lookup.members.values()]
    return _weave_exactly(groups, cost) if len(groups) <= MOST_EXACT else groups


def _sum(groups: Sequence[Group]) -> Group:
    """One group of several, added pairwise so that long ones are copied seldom."""
    groups = list(groups)
    while len(groups) > 1:
        pairs = zip(groups[::2], groups[1::2], strict=False)
        groups = [a + b for a, b in pairs] + groups[len(groups) & ~1 :]
    return groups[0]


def _weave_exactly(groups: list[Group], cost: GroupCost) -> list[Group]:
    saved = {
        (i, j): cost.reduction(groups[i], groups[j])
        for i in range(len(groups))
        for j in range(i + 1, len(groups))
    }
    trees = dict(enumerate(groups))
    while saved:
        (i, j), most = max(saved.items(), key=lambda entry: entry[1])
        if most <= 0:
            break
        trees[i] = trees[i] + trees.pop(j)
        saved = {pair: saving for pair, saving in saved.items() if not {i, j} & {*pair}}
        for k in trees:
            if k != i:
                saved[min(i, k), max(i, k)] = cost.reduction(trees[i], trees[k])
    return list(trees.values())


def free_share(periods: Ints, phases: Ints, period: Ints, phase: Ints) -> Floats:
    """The share of a progression (`period`, `phase`) that items leave free.

    An item is one period with up to two phases (a row of `phases`), which never meet each other,
    so the share is exact. All arguments broadcast.
    """
    common = np.gcd(periods, period)
    hits = sum(
        ((phases[..., side] - phase) % common == 0) & ((side == 0) | (phases[..., 1] >= 0))
        for side in (0, 1)
    )
    free: Floats = 1.0 - hits * (common / periods)
    return np.maximum(free, 0.0)


def progressions_of(groups: Sequence[Group]) -> tuple[Ints, Ints, Ints]:
    """(period, phases, owner) of groups: a row for each period and at most two of its phases."""
    rows: list[tuple[int, int, int, int]] = []
    for owner, group in enumerate(groups):
        edges = group.edges
        index = 0
        while index < len(edges):
            one = edges[index]
            pair = index + 1 < len(edges) and edges[index + 1].period == one.period
            rows.append((one.period, one.phase, edges[index + 1].phase if pair else -1, owner))
            index += 1 + pair
    table = np.array(rows, dtype=np.int64).reshape(-1, 4)
    return table[:, 0], table[:, 1:3], table[:, 3]


class Lookup:
    """The cost lookup: what merging any two trees saves, kept up to date merge by merge.

    For each tree and each progression it holds the share of the progression's edges that the tree
    does not have. The edge rate of two trees is that of one plus the free shares of the other's;
    when trees merge, free shares multiply, as if their edges were independent.
    """

    def __init__(self, groups: Sequence[Group], cost: GroupCost) -> None:
        """Fills the lookup for all pairs."""
        self._cost = cost
        periods, phases, owner = progressions_of(groups)
        sides = phases.ravel() >= 0
        atom_period = np.repeat(periods, 2)[sides]
        atom_phase = phases.ravel()[sides]
        self._owner = np.repeat(owner, 2)[sides]
        count = len(groups)
        item_free = free_share(periods[:, None], phases[:, None, :], atom_period, atom_phase)
        if len(periods) == count:
            self._free = item_free
        else:
            self._free = np.ones((count, len(atom_period)))
            np.multiply.at(self._free, owner, item_free)
        self._rate = np.array([group.rate for group in groups])
        alone = np.bincount(self._owner, weights=SECOND / atom_period, minlength=count)
        # Where a group's own progressions meet, each gives its part of the group's rate.
        self._mass = SECOND / atom_period * (self._rate / alone)[self._owner]
        loads = [group.load for group in groups]
        self._count = np.array([float(load.count) for load in loads])
        self._longest = np.array([load.sizes.max() for load in loads])
        # Ω of a tree by itself, for techniques where two trees together need not be the sum.
        self._alone = np.array([cost.omega(group.load, group.rate) for group in groups])
        self.members = {index: [index] for index in range(count)}
        self._alive = np.ones(count, dtype=bool)
        self._saved = np.full((count, count), -np.inf)
        for tree in range(count):
            self._refill(tree)
        self._best = self._saved.max(axis=1)

    def _omega(self, tree: int, rates: Floats) -> Floats:
        """Ω of one tree merged with each other, at the slices per second that this gives."""
        if self._cost.technique == "slick_deque":
            partials = np.maximum(
                1.0, np.maximum(self._longest, self._longest[tree]) * rates / SECOND
            )
            walk = deque_length(float(partials.min()))
            omega: Floats = 2.0 - 2.0 / partials + self._count + self._count[tree] + walk
            return omega
        summed: Floats = self._alone + self._alone[tree]
        return summed

    def _refill(self, tree: int) -> None:
        """Looks up one tree against all others anew."""
        gained = np.bincount(
            self._owner, weights=self._mass * self._free[tree], minlength=len(self._rate)
        )
        rates = self._rate[tree] + gained
        before = self._rate[tree] * self._alone[tree] + self._rate * self._alone
        row = self._cost.overhead + before - rates * self._omega(tree, rates)
        row[~self._alive] = -np.inf
        row[tree] = -np.inf
        self._saved[tree] = row
        self._saved[:, tree] = row

    def merge_best(self) -> bool:
        """Merges the two trees that save the most; false when no merge saves anything."""
        one = int(self._best.argmax())
        if self._best[one] <= 0:
            return False
        other = int(self._saved[one].argmax())
        moved = self._owner == other
        self._mass[moved] *= self._free[one, moved]
        self._rate[one] += self._mass[moved].sum()
        self._owner[moved] = one
        self._free[one] *= self._free[other]
        self.members[one] += self.members.pop(other)
        self._count[one] += self._count[other]
        self._longest[one] = max(self._longest[one], self._longest[other])
        self._alone[one] = self._omega_alone(one, other)
        self._alive[other] = False
        stale = (self._best == self._saved[:, one]) | (self._best == self._saved[:, other])
        self._saved[other] = self._saved[:, other] = -np.inf
        self._refill(one)
        stale[one] = True
        rows = np.flatnonzero(stale)
        self._best[rows] = self._saved[rows].max(axis=1)
        self._best = np.maximum(self._best, self._saved[:, one])
        return True

    def _omega_alone(self, one: int, other: int) -> float:
        if self._cost.technique == "slick_deque":
            partials = max(1.0, self._longest[one] * self._rate[one] / SECOND)
            return float(2.0 - 2.0 / partials + self._count[one] + deque_length(partials))
        return float(self._alone[one] + self._alone[other])


def grouped_plan(
    strategy: str, workload: Workload, split: Callable[[list[Group]], Sequence[Group]]
) -> Plan:
    """A plan with a flat tree for each group that `split` makes of a family's windows."""

    def grow(queries: tuple[Query, ...]) -> list[Tree]:
        nodes = {node.window: node for node in nodes_of(queries)}
        return [
            tree_of(queries[0].family, [nodes[w] for w in sorted(group.windows)], workload)
            for group in split(same_edges(nodes))
        ]

    return plan_of(strategy, workload, grow)


def weave(workload: Workload, *, technique: str = "two_stacks") -> Plan:
    """Weave Share with any technique's Ω; λ is the events of one key."""
    cost = GroupCost(overhead=workload.rate / workload.keys, technique=technique)
    return grouped_plan("weave", workload, lambda groups: weave_groups(groups, cost))
