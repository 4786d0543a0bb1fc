"""Turns a running plan into the next one.

The slices of a query's open windows are kept with its tree, so a query that changed trees would
lose them. Either running queries stay in their trees (`pin_queries`), or their old trees go on
answering them for a while (`move_queries`): a query stays there under another name, as one that
leaves, until the windows that its new tree sees completely begin. The engine decides when that is.
"""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from muntin.aggregates.aggregate import Aggregate
from muntin.aggregates.user_aggregate import aggregate_to_json
from muntin.model.data_windows import DataWindow, Delta, Session
from muntin.model.plan import Plan
from muntin.model.plan_json import definition
from muntin.model.query import Grouping, PlainQuery, Query, parts_of
from muntin.model.trees import DataNode, DataTree, PeriodicTree
from muntin.model.windows import Window
from muntin.optimizer.data_trees import sharing_group
from muntin.optimizer.intermediate import best_tree
from muntin.optimizer.plan_for_stream import read_slices_or_levels, unite_groups_of_pass
from muntin.optimizer.strategies import STRATEGIES
from muntin.optimizer.trees import nodes_of


def pin_data_trees(plan: Plan, running: Plan, stays: set[str]) -> tuple[DataTree, ...]:
    """Returns the running trees with those of their queries that stay, then trees of new queries.

    A new query joins a running tree where it can: it sees the tree's records from some instant on,
    which the engine knows. Otherwise it gets a new tree.
    """
    asked = {query.name: query for query in plan.queries if isinstance(query, Query)}
    trees = []
    home: set[str] = set()
    for tree in running.data_trees:
        kept = [name for name in tree.queries if name in stays]
        if kept:
            home.update(kept)
            queries = {name: asked[name] for name in kept}
            trees.append(_with_code(tree, queries).restrict_to(queries.values()))
    begun = len(trees)
    for tree in plan.data_trees:
        left: list[str] = []
        for node in tree.restrict_to(
            query for name, query in asked.items() if name not in home
        ).nodes:
            for index, host in enumerate(trees[:begun]):
                if _can_join(host, tree.grouping, node, asked):
                    trees[index] = replace(host, nodes=(*host.nodes, node))
                    break
            else:
                left += node.queries
        if left:
            trees.append(tree.restrict_to([asked[name] for name in left]))
    return tuple(trees)


def _can_join(
    host: DataTree, grouping: Grouping, node: DataNode, asked: Mapping[str, Query]
) -> bool:
    """Whether the queries of a new node can join a running tree.

    They are to see what they would see in a tree of their own, so nothing that the tree remembers
    may be about records from before: neither open windows of an equal window, nor the highest value
    of a growing column. Records of sessions are merged within the shortest gap. Periodic windows
    keep their records, for those that come late. Partials that are sets have trees of their own.
    """
    window = node.window
    if grouping != host.grouping or not isinstance(window, DataWindow) or isinstance(window, Delta):
        return False
    if any(other.window == window or isinstance(other.window, Window) for other in host.nodes):
        return False
    parts = (each.part for aggregate in node.aggregates for each in aggregate.components)
    if not all(each.joins_running_windows for part in parts for each in part.all_representations):
        return False
    if host.grain is not None and not (isinstance(window, Session) and window.gap >= host.grain):
        return False
    groups = {sharing_group(asked[name]) for each in (*host.nodes, node) for name in each.queries}
    return len(groups) == 1


def with_code(plan: Plan, given: Plan) -> Plan:
    """Returns a plan read from a checkpoint with the classes and functions of `given`.

    A checkpoint has only their names. What `given` does not have stays a name.
    """
    there = {query.name: definition(query) for query in plan.queries}
    known = {
        query.name: query
        for query in given.queries
        if isinstance(query, Query) and there.get(query.name) == definition(query)
    }
    return plan.with_trees(
        data=(_with_code(tree, known) for tree in plan.data_trees),
        queries=tuple(known.get(query.name, query) for query in plan.queries),
    )


def _with_code(tree: DataTree, queries: Mapping[str, Query]) -> DataTree:
    nodes = []
    for node in tree.nodes:
        mine = [queries[name] for name in node.queries if name in queries]
        if mine:
            own = {
                _identity(aggregate): aggregate
                for query in mine
                for aggregate in query.aggregates.values()
            }
            aggregates = tuple(
                own.get(_identity(aggregate), aggregate) for aggregate in node.aggregates
            )
            node = replace(node, window=mine[0].window, aggregates=aggregates)
        nodes.append(node)
    return replace(tree, nodes=tuple(nodes))


def _identity(aggregate: Aggregate) -> str:
    """Returns the text that identifies an aggregate in a checkpoint."""
    return json.dumps(aggregate_to_json(aggregate), sort_keys=True)


@dataclass(frozen=True, kw_only=True)
class Transition:
    """A plan that can go on where another one runs."""

    plan: Plan
    # The queries that move, by the names under which their old trees go on answering them.
    moved: Mapping[str, str] = field(default_factory=dict)


def pin_queries(plan: Plan, running: Plan, leaving: Collection[str] = ()) -> Transition:
    """Returns `plan` with every running query in the tree in which it runs.

    A new query joins the running tree of most of the queries with which `plan` puts it into one
    tree. A tree whose queries differ from the plan's is built again. `leaving` are the names under
    which queries are still answered by trees that they have left.
    """
    plan = unite_groups_of_pass(_with_leaving_queries(plan, running, leaving))
    homes = running_trees_of(plan, running)
    groups: dict[tuple[str, int], list[str]] = {}
    for number, tree in enumerate(plan.periodic_trees):
        near = Counter(homes[name] for name in tree.queries if name in homes)
        free = ("runs", near.most_common(1)[0][0]) if near else ("new", number)
        for name in tree.queries:
            groups.setdefault(("runs", homes[name]) if name in homes else free, []).append(name)
    return Transition(plan=rebuild_trees(plan, running, list(groups.values())))


def rebuild_trees(
    plan: Plan,
    running: Plan,
    groups: Sequence[Sequence[str]],
    *,
    queries: Sequence[Query | PlainQuery] | None = None,
) -> Plan:
    """Returns the plan with these trees of periodic windows, and with these queries if given."""
    as_planned = {frozenset(tree.queries): tree for tree in plan.periodic_trees}
    known = {part.name: part for part in parts_of(queries or plan.queries)}
    trees = [
        as_planned.get(frozenset(names)) or _build_tree(names, known, plan) for names in groups
    ]
    return read_slices_or_levels(
        plan.with_trees(
            periodic=trees,
            data=pin_data_trees(plan, running, _unchanged_queries(plan, running)),
            queries=queries,
        )
    )


def running_trees_of(plan: Plan, running: Plan) -> dict[str, int]:
    """Returns the number of the tree in which each query that stays runs now."""
    stays = _unchanged_queries(plan, running)
    return {
        name: number
        for number, tree in enumerate(running.periodic_trees)
        for name in tree.queries
        if name in stays
    }


def _unchanged_queries(plan: Plan, running: Plan) -> set[str]:
    """Returns the names of queries, one for each grouping set, that run already with the same
    definition."""
    before = {query.name: definition(query) for query in running.queries}
    stays = (query for query in plan.queries if before.get(query.name) == definition(query))
    return {part.name for part in parts_of(stays)}


def _build_tree(names: Sequence[str], known: Mapping[str, Query], plan: Plan) -> PeriodicTree:
    """Returns one tree for some queries: that of the plan's strategy, if it makes only one."""
    queries = [part for name, part in known.items() if name in names]
    workload = plan.workload_of(queries)
    if plan.strategy in STRATEGIES:
        trees = STRATEGIES[plan.strategy](workload).periodic_trees
        if len(trees) == 1:
            return trees[0]
    return best_tree(queries[0].grouping, nodes_of(queries), workload)


def move_queries(
    plan: Plan, running: Plan, leaving: Collection[str] = (), *, mark: str = "leaving"
) -> Transition:
    """Returns the plan with every query in the tree where it puts it.

    A tree goes on with the slices of the running tree that has most of its queries. The other
    queries in it move there. `mark` makes the names under which they leave. Queries with grouping
    sets, which are in several trees, stay where they are.
    """
    asked = unite_groups_of_pass(plan)
    known = {part.name: part for part in parts_of(asked.queries)}
    homes = running_trees_of(asked, running)
    continued = _trees_to_continue(asked, homes)
    groups: dict[tuple[str, int], list[str]] = {}
    moved: dict[str, str] = {}
    for number, tree in enumerate(asked.periodic_trees):
        home = continued.get(number)
        group = ("new", number) if home is None else ("runs", home)
        for name in tree.queries:
            has_moved = homes.get(name, home) != home
            if has_moved and known[name].part_of is None:
                moved[f"{name} ({mark})"] = name
            stays = has_moved and known[name].part_of is not None
            groups.setdefault(("runs", homes[name]) if stays else group, []).append(name)
    for alias, name in moved.items():
        groups.setdefault(("runs", homes[name]), []).append(alias)
    for number, tree in enumerate(running.periodic_trees):
        left = [name for name in tree.queries if name in leaving]
        if left:
            groups.setdefault(("runs", number), []).extend(left)
    aliases = tuple(replace(known[name], name=alias) for alias, name in moved.items())
    before = tuple(query for query in running.queries if query.name in leaving)
    whole = rebuild_trees(
        asked, running, list(groups.values()), queries=(*asked.queries, *aliases, *before)
    )
    return Transition(plan=whole, moved=moved)


def without(plan: Plan, names: Collection[str]) -> Plan:
    """Returns a plan without some of its queries."""
    queries = tuple(query for query in plan.queries if query.name not in names)
    parts = parts_of(queries)
    trees = (tree.restrict_to(parts) for tree in plan.trees)
    workload = replace(plan.workload, queries=queries)
    return replace(plan, workload=workload, trees=tuple(tree for tree in trees if tree.nodes))


def _with_leaving_queries(plan: Plan, running: Plan, leaving: Collection[str]) -> Plan:
    """Returns a plan with trees of the queries that leave, too."""
    if not leaving:
        return plan
    before = [q for q in running.queries if q.name in leaving and isinstance(q, Query)]
    trees = (tree.restrict_to(before) for tree in running.periodic_trees)
    return plan.with_trees(
        periodic=(*plan.periodic_trees, *(tree for tree in trees if tree.nodes)),
        queries=(*plan.queries, *before),
    )


def _trees_to_continue(plan: Plan, homes: Mapping[str, int]) -> dict[int, int]:
    """Returns, by the numbers of trees, the running tree that each of them goes on with."""
    common = sorted(
        (
            (-sum(homes.get(name) == home for name in tree.queries), number, home)
            for number, tree in enumerate(plan.periodic_trees)
            for home in {homes[name] for name in tree.queries if name in homes}
        ),
    )
    found: dict[int, int] = {}
    for _, number, home in common:
        if number not in found and home not in found.values():
            found[number] = home
    return found
