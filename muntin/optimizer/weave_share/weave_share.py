"""Weave Share: merges the two trees that save the most, until no merge saves anything.

Guirguis et al., section 5.1. Few groups are counted exactly. For many, the cost lookup uses an
estimate that is exact for pairs. For very many, a sample is woven and the rest assigned.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from muntin.model.plan import Plan
from muntin.model.query import Query
from muntin.model.trees import PeriodicTree
from muntin.model.workload import Workload
from muntin.optimizer.choose_techniques import technique_in_groups
from muntin.optimizer.trees import nodes_of, plan_of, tree_of
from muntin.optimizer.weave_share.groups import (
    Group,
    GroupCost,
    Lookup,
    free_share,
    progressions_of,
    same_edges,
)

# Up to this many groups, every entry of the lookup is counted exactly.
MOST_EXACT = 40
# Up to this many groups, the lookup of all pairs is in memory at once.
MOST_LOOKED_UP = 1_200
# Groups assigned at a time, which bounds memory.
_BATCH = 256


def weave_groups(groups: Sequence[Group], cost: GroupCost) -> list[Group]:
    """Merges groups by the greedy algorithm (figure 2)."""
    groups = list(groups)
    if len(groups) <= MOST_EXACT:
        return weave_exactly(groups, cost)
    if len(groups) > MOST_LOOKED_UP:
        step = -(-len(groups) // (MOST_LOOKED_UP - 1))
        rest = [group for index, group in enumerate(groups) if index % step]
        # With all groups, a tree has `step` times the work per edge, and up to `step` times the
        # edges. A power between one and two did best on the papers' workloads.
        scaled = replace(cost, overhead=cost.overhead / step**1.5)
        return _assign(rest, weave_groups(groups[::step], scaled), cost)
    lookup = Lookup(groups, cost)
    while lookup.merge_best():
        pass
    groups = [_sum([groups[item] for item in items]) for items in lookup.members if items]
    few = len(groups) <= MOST_EXACT and sum(len(group.edges) for group in groups) <= 4 * MOST_EXACT
    return weave_exactly(groups, cost) if few else groups


def _assign(groups: Sequence[Group], trees: Sequence[Group], cost: GroupCost) -> list[Group]:
    """Puts each group into the tree that it adds the least to, or alone if it adds λ or more."""
    taken: list[list[Group]] = [[tree] for tree in trees]
    rate = np.array([tree.rate for tree in trees])
    omega = np.array([cost.omega(tree.load, tree.rate) for tree in trees])
    for start in range(0, len(groups), _BATCH):
        batch = groups[start : start + _BATCH]
        periods, phases, owner = progressions_of([*trees, *batch])
        ours = owner < len(trees)
        starts = np.searchsorted(owner[ours], np.arange(len(trees)))
        gained = np.zeros((len(trees), len(batch)))
        for side in (0, 1):
            atoms = ~ours & (phases[:, side] >= 0)
            free = free_share(
                periods[ours, None], phases[ours, None, :], periods[atoms], phases[atoms, side]
            )
            share = np.multiply.reduceat(free, starts)
            np.add.at(gained.T, owner[atoms] - len(trees), (share / periods[atoms]).T)
        alone = np.bincount(
            owner[~ours] - len(trees),
            weights=(1.0 + (phases[~ours, 1] >= 0)) / periods[~ours],
            minlength=len(batch),
        )
        rates = np.array([group.rate for group in batch])
        omegas = np.array([cost.omega(group.load, group.rate) for group in batch])
        finer = rate[:, None] + gained * (rates / alone)
        added = finer * (omega[:, None] + omegas) - (rate * omega)[:, None] - rates * omegas
        homes = added.argmin(axis=0)
        for index, group in enumerate(batch):
            tree = homes[index]
            if added[tree, index] < cost.overhead:
                taken[tree].append(group)
                rate[tree] += gained[tree, index] * rates[index] / alone[index]
                omega[tree] += omegas[index]
            else:
                taken.append([group])
    return [_sum(members) for members in taken]


def _sum(groups: Sequence[Group]) -> Group:
    """Returns the sum of groups, added pairwise so that long ones are seldom copied."""
    groups = list(groups)
    while len(groups) > 1:
        pairs = zip(groups[::2], groups[1::2], strict=False)
        groups = [a + b for a, b in pairs] + groups[len(groups) & ~1 :]
    return groups[0]


def weave_exactly(groups: Sequence[Group], cost: GroupCost) -> list[Group]:
    """Merges groups by the greedy algorithm, with every entry of the cost lookup counted."""
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


def cost_of_groups(queries: Sequence[Query], workload: Workload) -> GroupCost:
    """Returns the cost of groups of a grouping's windows, with Ω of the technique that will run.

    The overhead of a tree is λ, the event rate of one key.
    """
    technique, least_overlap = technique_in_groups(nodes_of(queries), workload)
    return GroupCost(
        overhead=workload.rate / workload.keys,
        technique=technique,
        least_overlap=least_overlap,
    )


def weave(workload: Workload) -> Plan:
    """Plans by Weave Share: a flat tree for each group of a grouping's windows."""

    def build_trees(queries: tuple[Query, ...]) -> list[PeriodicTree]:
        nodes = {node.window: node for node in nodes_of(queries)}
        cost = cost_of_groups(queries, workload)
        return [
            tree_of(queries[0].grouping, [nodes[window] for window in group.windows], workload)
            for group in weave_groups(same_edges(nodes), cost)
        ]

    return plan_of("weave", workload, build_trees)
