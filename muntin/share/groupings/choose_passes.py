"""Chooses the passes of a plan: which trees are made in one reading of their family's events.

Weave Share, section 5.3: queries that differ in predicates or group-by attributes share the scan,
and groupings are made from finer ones that nobody may have asked for. Here, trees are put together
greedily, as the paper does with windows: the two passes are merged that gain most, as long as some
merge gains. A merged pass has the keys and the edges of both.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations

from muntin.model.passes import GROUP_BY, Pass
from muntin.model.plan import Plan, Tree
from muntin.model.query import Family, Workload
from muntin.share.groupings.pass_costs import Members
from muntin.sql.filters import is_deterministic, is_reference

# Above so many passes only those of equal keys are merged, and all at once are tried.
_MOST_PASSES = 40


def with_passes(plan: Plan, workload: Workload) -> Plan:
    """Returns the plan with its trees made in the passes that cost least."""
    families: dict[Family, list[Tree]] = {}
    for tree in plan.trees:
        families.setdefault(tree.grouping.family, []).append(tree)
    chosen: dict[int, Tree] = {}
    count = 0
    for trees in families.values():
        for members in cheapest_passes(trees, workload):
            made = _made_in(members, count)
            count += made[0].made_in is not None
            chosen |= {id(old): new for old, new in zip(members.trees, made, strict=True)}
    return replace(plan, trees=tuple(chosen[id(tree)] for tree in plan.trees))


def cheapest_passes(trees: Sequence[Tree], workload: Workload) -> list[Members]:
    """Returns the trees of one family, put together in the passes that cost least."""
    everyone = Members(trees=tuple(trees), workload=workload)
    passes = []
    for alike in _may_share(trees):
        passes += _merged([everyone.of(tuple(each)) for each in alike])
    return passes


def _may_share(trees: Iterable[Tree]) -> list[list[list[Tree]]]:
    """Returns the trees that may share a pass, those of equal keys together.

    A filter guards the expressions of its own query. So keys and times that are more than columns
    share only with trees of the same filter. What differs from row to row at random shares nothing.
    """
    classes: dict[object, dict[tuple[str, ...], list[Tree]]] = {}
    alone = []
    for tree in trees:
        grouping = tree.grouping
        texts = [grouping.time, *grouping.keys, *([grouping.where] if grouping.where else [])]
        if not all(map(is_deterministic, texts)):
            alone.append([[tree]])
            continue
        plain = all(map(is_reference, (grouping.time, *grouping.keys)))
        by_keys = classes.setdefault("plain" if plain else (grouping.where,), {})
        by_keys.setdefault(grouping.keys, []).append(tree)
    return [*(list(by_keys.values()) for by_keys in classes.values()), *alone]


def _merged(passes: list[Members]) -> list[Members]:
    """Merges the two passes that gain most until none gains; at the end, tries all in one."""
    apart = [split for each in passes for split in _apart(each)]
    together = [passes[0].of(tuple(tree for each in passes for tree in each.trees))]
    if len(passes) <= _MOST_PASSES:
        passes = _greedily([split for each in passes for split in _cheaper(each)])
    return min((passes, apart, together), key=_total)


def _cheaper(members: Members) -> list[Members]:
    """Returns trees of equal keys in one pass, or in one each if that is cheaper."""
    return min(([members], _apart(members)), key=_total)


def _apart(members: Members) -> list[Members]:
    return [members.of((tree,)) for tree in members.trees]


def _greedily(passes: list[Members]) -> list[Members]:
    gains: dict[tuple[int, int], tuple[float, Members]] = {}
    while len(passes) > 1:
        for one, other in combinations(passes, 2):
            pair = (id(one), id(other))
            if pair not in gains:
                merged = one + other
                gain = one.cheapest.total + other.cheapest.total - merged.cheapest.total
                gains[pair] = gain, merged
        pairs = [(id(one), id(other)) for one, other in combinations(passes, 2)]
        best = max(pairs, key=lambda pair: gains[pair][0])
        gain, merged = gains[best]
        if gain <= 0:
            break
        passes = [*(each for each in passes if id(each) not in best), merged]
    return passes


def _total(passes: Iterable[Members]) -> float:
    return sum(each.cheapest.total for each in passes)


def _made_in(members: Members, number: int) -> tuple[Tree, ...]:
    """Returns the trees with their pass and what they then cost.

    A tree whose slices a GROUP BY of its own makes needs no pass.
    """
    cheapest = members.cheapest
    if len(members.trees) == 1 and cheapest.maker == GROUP_BY:
        (tree,) = members.trees
        return (replace(tree, cut_cost=tree.cut_cost + members.left_out),)
    shared = Pass(
        number=number,
        maker=cheapest.maker,
        keys=members.keys,
        slicing=members.slicing,
        cost=cheapest.reading,
    )
    return tuple(
        replace(tree, made_in=shared, cut_cost=cost)
        for tree, cost in zip(members.trees, cheapest.trees, strict=True)
    )
