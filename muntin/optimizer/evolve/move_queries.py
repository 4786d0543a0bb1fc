"""Moves running queries to other trees: the old trees go on answering them for a while.

The slices of a query's open windows are kept with its old tree. So the query stays there under
another name, as one that leaves, until the windows that its new tree sees completely begin. The
engine says when that is.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from muntin.model.plan import Plan
from muntin.model.query import Query, parts_of
from muntin.optimizer.evolve.pin_running_queries import homes_of, in_trees, pinned
from muntin.optimizer.plan_for_stream import unite_groups_of_pass


@dataclass(frozen=True, kw_only=True)
class Transition:
    """A plan that can go on where another one runs."""

    plan: Plan
    # The queries that move, by the names under which their old trees go on answering them.
    moved: Mapping[str, str] = field(default_factory=dict)


def staying(plan: Plan, running: Plan, leaving: Collection[str] = ()) -> Transition:
    """Returns the plan with every running query in the tree in which it runs.

    `leaving` are the names under which queries are still answered by trees that they have left.
    """
    return Transition(plan=pinned(_with(plan, running, leaving), running))


def moving(
    plan: Plan, running: Plan, leaving: Collection[str] = (), *, mark: str = "leaving"
) -> Transition:
    """Returns the plan with every query in the tree where it puts it.

    A tree goes on with the slices of the running tree that has most of its queries. The other
    queries in it move there. `mark` makes the names under which they leave. Queries with grouping
    sets, which are in several trees, stay where they are.
    """
    asked = unite_groups_of_pass(plan)
    known = {part.name: part for part in parts_of(asked.queries)}
    homes = homes_of(asked, running)
    continued = _continued(asked, homes)
    groups: dict[tuple[str, int], list[str]] = {}
    moved: dict[str, str] = {}
    for number, tree in enumerate(asked.periodic_trees):
        home = continued.get(number)
        group = ("new", number) if home is None else ("runs", home)
        for name in tree.queries:
            has_moved = homes.get(name, home) != home
            if has_moved and known[name].whole is None:
                moved[f"{name} ({mark})"] = name
            stays = has_moved and known[name].whole is not None
            groups.setdefault(("runs", homes[name]) if stays else group, []).append(name)
    for alias, name in moved.items():
        groups.setdefault(("runs", homes[name]), []).append(alias)
    for number, tree in enumerate(running.periodic_trees):
        left = [name for name in tree.queries if name in leaving]
        if left:
            groups.setdefault(("runs", number), []).extend(left)
    aliases = tuple(replace(known[name], name=alias) for alias, name in moved.items())
    before = tuple(query for query in running.queries if query.name in leaving)
    whole = in_trees(
        asked, running, list(groups.values()), queries=(*asked.queries, *aliases, *before)
    )
    return Transition(plan=whole, moved=moved)


def without(plan: Plan, names: Collection[str]) -> Plan:
    """Returns a plan without some of its queries."""
    queries = tuple(query for query in plan.queries if query.name not in names)
    parts = parts_of(queries)
    trees = (tree.answering(parts) for tree in plan.trees)
    workload = replace(plan.workload, queries=queries)
    return replace(plan, workload=workload, trees=tuple(tree for tree in trees if tree.nodes))


def _with(plan: Plan, running: Plan, leaving: Collection[str]) -> Plan:
    """Returns a plan with trees of the queries that leave, too."""
    if not leaving:
        return plan
    before = [q for q in running.queries if q.name in leaving and isinstance(q, Query)]
    trees = (tree.answering(before) for tree in running.periodic_trees)
    return plan.with_trees(
        periodic=(*plan.periodic_trees, *(tree for tree in trees if tree.nodes)),
        queries=(*plan.queries, *before),
    )


def _continued(plan: Plan, homes: Mapping[str, int]) -> dict[int, int]:
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
