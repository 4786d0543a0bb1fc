"""Chooses the passes of a plan: which trees are made in one reading of their family's events.

Weave Share, section 5.3: queries that differ in predicates or group-by attributes share the scan,
and groupings are made from finer ones that nobody may have asked for. Here, trees are put together
greedily, as the paper does with windows: the two passes are merged that gain most, as long as some
merge gains. A merged pass has the keys and the edges of both. Trees that a strategy has put into
one pass stay together.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations

from muntin.model.passes import Engine, Pass
from muntin.model.plan import Plan, trees_by_family, trees_by_pass
from muntin.model.trees import PeriodicTree
from muntin.model.workload import Workload
from muntin.optimizer.price_plan import PassCandidate, PassCost
from muntin.sql.filters import is_deterministic, is_reference

# With more sets of keys than this, the options are only a pass for each tree, and one for all.
_MOST_KEY_SETS = 40


def choose_passes(plan: Plan) -> Plan:
    """Returns the plan with its trees made in the passes that cost least."""
    chosen: dict[int, PeriodicTree] = {}
    count = 0
    for trees in trees_by_family(plan.periodic_trees).values():
        for members in cheapest_passes(trees, plan.workload):
            made = _place(members, count)
            count += made[0].slicing_pass is not None
            chosen |= {id(old): new for old, new in zip(members.trees, made, strict=True)}
    return plan.with_trees(periodic=(chosen[id(tree)] for tree in plan.periodic_trees))


def slice_in_one_pass(plan: Plan) -> Plan:
    """Returns the plan of a stream, in which the slicer makes all trees of a family in one pass."""
    chosen: dict[int, PeriodicTree] = {}
    for number, trees in enumerate(trees_by_family(plan.periodic_trees).values()):
        queries = [query for tree in trees for query in plan.queries_of(tree).values()]
        members = PassCandidate(trees=tuple(trees), workload=plan.workload_of(queries))
        made = _place_in_pass(members, members.by_slicer, number)
        chosen |= {id(old): new for old, new in zip(trees, made, strict=True)}
    return plan.with_trees(periodic=(chosen[id(tree)] for tree in plan.periodic_trees))


def in_one_pass(
    trees: Sequence[PeriodicTree], workload: Workload, *, number: int
) -> tuple[PeriodicTree, ...]:
    """Returns trees of one grouping made in one pass, with its costs.

    The rate of the workload is that of the grouping: its filter has been counted.
    """
    return _place(PassCandidate(trees=tuple(trees), workload=replace(workload, shares={})), number)


def cost_in_passes(trees: Sequence[PeriodicTree], workload: Workload) -> float:
    """Returns what trees of one grouping cost if they are made in the passes that cost least.

    The rate of the workload is that of the grouping.
    """
    made = _total(cheapest_passes(trees, replace(workload, shares={})))
    return made + sum(node.cost for tree in trees for node in tree.nodes)


def cheapest_passes(trees: Sequence[PeriodicTree], workload: Workload) -> list[PassCandidate]:
    """Returns the cheapest passes for the trees of one family."""
    everyone = PassCandidate(trees=tuple(trees), workload=workload)
    classes = _may_share(map(everyone.of, trees_by_pass(trees)))
    # A computed relation is stored only if several passes read it.
    is_computed = trees[0].grouping.relation in workload.computed
    storing = workload.prices.stored * workload.rate if is_computed and len(classes) == 1 else 0.0
    passes = []
    for alike in classes:
        passes += _merge_passes(alike, storing)
    return passes


def _may_share(units: Iterable[PassCandidate]) -> list[list[list[PassCandidate]]]:
    """Groups trees that may share a pass, and within each group those of equal keys.

    A filter may protect the expressions of its query from failing. So keys and times that are more
    than columns share only with trees of the same filter. Non-deterministic expressions are never
    shared.
    """
    classes: dict[object, dict[tuple[str, ...], list[PassCandidate]]] = {}
    alone = []
    for unit in units:
        grouping = unit.trees[0].grouping
        texts = [grouping.time, *grouping.keys, *([grouping.where] if grouping.where else [])]
        if not all(map(is_deterministic, texts)):
            alone.append([[unit]])
            continue
        plain = all(map(is_reference, (grouping.time, *grouping.keys)))
        by_keys = classes.setdefault("plain" if plain else (grouping.where,), {})
        by_keys.setdefault(grouping.keys, []).append(unit)
    return [*(list(by_keys.values()) for by_keys in classes.values()), *alone]


def _merge_passes(alike: list[list[PassCandidate]], storing: float) -> list[PassCandidate]:
    """Returns the cheapest of three options: passes merged greedily, one for all, or one each.

    Each item has the passes of equal keys. Several passes cost `storing` more than one.
    """
    apart = [unit for units in alike for unit in units]
    ways = [apart, [_unite(apart)]]
    if len(alike) <= _MOST_KEY_SETS:
        ways.insert(
            0, _merge_greedily([split for units in alike for split in _cheaper_passes(units)])
        )
    return min(ways, key=lambda chosen: _total(chosen) + (storing if len(chosen) > 1 else 0.0))


def _cheaper_passes(units: list[PassCandidate]) -> list[PassCandidate]:
    """Returns the cheaper option: one shared pass, or one pass per unit."""
    return min(([_unite(units)], units), key=_total)


def _unite(units: list[PassCandidate]) -> PassCandidate:
    return units[0].of(tuple(tree for unit in units for tree in unit.trees))


def _merge_greedily(passes: list[PassCandidate]) -> list[PassCandidate]:
    """Merges the two passes that save most, until no merge saves anything."""
    gains: dict[tuple[PassCandidate, PassCandidate], tuple[float, PassCandidate]] = {}
    while len(passes) > 1:
        for one, other in combinations(passes, 2):
            if (one, other) not in gains:
                merged = one + other
                gain = one.cheapest.total + other.cheapest.total - merged.cheapest.total
                gains[one, other] = gain, merged
        best = max(combinations(passes, 2), key=lambda pair: gains[pair][0])
        gain, merged = gains[best]
        if gain <= 0:
            break
        passes = [*(each for each in passes if each not in best), merged]
    return passes


def _total(passes: Iterable[PassCandidate]) -> float:
    return sum(each.cheapest.total for each in passes)


def _place(members: PassCandidate, number: int) -> tuple[PeriodicTree, ...]:
    """Returns the trees with their pass and what they then cost.

    A tree whose slices a GROUP BY of its own makes needs no pass.
    """
    cheapest = members.cheapest
    if len(members.trees) == 1 and cheapest.engine is Engine.SPARK:
        (tree,) = members.trees
        return (replace(tree, cut_cost=cheapest.total),)
    return _place_in_pass(members, cheapest, number)


def _place_in_pass(members: PassCandidate, cost: PassCost, number: int) -> tuple[PeriodicTree, ...]:
    shared = Pass(
        number=number,
        engine=cost.engine,
        keys=members.keys,
        slicing=members.slicing,
        drops_rows=members.drops_rows,
        cost=cost.reading,
    )
    return tuple(
        replace(tree, slicing_pass=shared, cut_cost=own)
        for tree, own in zip(members.trees, cost.trees, strict=True)
    )
