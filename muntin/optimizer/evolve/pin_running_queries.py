"""Pins running queries: in a new plan, they stay in the tree in which they run.

The slices of a query's open windows are kept with its tree, so a query that changes trees would
lose them. New queries can go anywhere.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from muntin.model.plan import Plan
from muntin.model.plan_json import definition
from muntin.model.query import PlainQuery, Query, parts_of
from muntin.model.trees import PeriodicTree
from muntin.optimizer.evolve.pin_data_windows import pinned_trees
from muntin.optimizer.intermediate import best_tree
from muntin.optimizer.plan_for_stream import read_slices_or_levels, unite_groups_of_pass
from muntin.optimizer.strategies import STRATEGIES
from muntin.optimizer.trees import nodes_of


def pinned(plan: Plan, running: Plan) -> Plan:
    """Returns `plan` with every running query in the tree in which it runs.

    A new query joins the tree that holds most of the queries that `plan` puts beside it. A tree
    whose queries differ from the plan's is built again.
    """
    plan = unite_groups_of_pass(plan)
    homes = homes_of(plan, running)
    groups: dict[tuple[str, int], list[str]] = {}
    for number, tree in enumerate(plan.periodic_trees):
        near = Counter(homes[name] for name in tree.queries if name in homes)
        free = ("runs", near.most_common(1)[0][0]) if near else ("new", number)
        for name in tree.queries:
            groups.setdefault(("runs", homes[name]) if name in homes else free, []).append(name)
    return in_trees(plan, running, list(groups.values()))


def in_trees(
    plan: Plan,
    running: Plan,
    groups: Sequence[Sequence[str]],
    *,
    queries: Sequence[Query | PlainQuery] | None = None,
) -> Plan:
    """Returns the plan with these trees of periodic windows, and with these queries if given."""
    as_planned = {frozenset(tree.queries): tree for tree in plan.periodic_trees}
    known = {part.name: part for part in parts_of(queries or plan.queries)}
    trees = [as_planned.get(frozenset(names)) or _grown(names, known, plan) for names in groups]
    return read_slices_or_levels(
        plan.with_trees(
            periodic=trees,
            data=pinned_trees(plan, running, _staying(plan, running)),
            queries=queries,
        )
    )


def homes_of(plan: Plan, running: Plan) -> dict[str, int]:
    """Returns the number of the tree in which each query that stays runs now."""
    stays = _staying(plan, running)
    return {
        name: number
        for number, tree in enumerate(running.periodic_trees)
        for name in tree.queries
        if name in stays
    }


def _staying(plan: Plan, running: Plan) -> set[str]:
    """Returns the names of queries, one for each grouping set, that run already with the same
    definition."""
    before = {query.name: definition(query) for query in running.queries}
    stays = (query for query in plan.queries if before.get(query.name) == definition(query))
    return {part.name for part in parts_of(stays)}


def _grown(names: Sequence[str], known: Mapping[str, Query], plan: Plan) -> PeriodicTree:
    """Returns one tree for some queries: that of the plan's strategy, if it makes only one."""
    queries = [part for name, part in known.items() if name in names]
    workload = plan.workload_of(queries)
    if plan.strategy in STRATEGIES:
        trees = STRATEGIES[plan.strategy](workload).periodic_trees
        if len(trees) == 1:
            return trees[0]
    return best_tree(queries[0].grouping, nodes_of(queries), workload)
