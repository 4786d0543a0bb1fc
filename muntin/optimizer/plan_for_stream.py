"""Turns a plan into one that a stream runs: windows read slices, or levels made of them."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from muntin.model.plan import Plan
from muntin.model.query import Query, parts_of
from muntin.model.trees import DataTree, PeriodicTree, group_by_pass
from muntin.model.windows.window import Window
from muntin.optimizer.choose_techniques import choose_techniques
from muntin.optimizer.groupings.choose_passes import by_the_slicer
from muntin.optimizer.levels import in_levels
from muntin.optimizer.strategies import shared
from muntin.optimizer.trees import flat_tree


def move_all_to_slices(plan: Plan) -> Plan:
    """Returns the plan with all periodic windows reading slices, never records.

    A query stays in the tree in which it runs, so whether it reads slices or records must not
    depend on the other queries or on the rate.
    """
    parts = (part for tree in plan.data_trees for part in plan.queries_of(tree).values())
    periodic = [part for part in parts if part.is_periodic]
    return move_to_slices(plan, periodic) if periodic else plan


def split_mixed_trees(plan: Plan) -> Plan:
    """Returns the plan with no periodic window in a tree with data windows.

    Those that are left among records have aggregates of the user's own. They take late rows for as
    long as they are open, as all periodic windows do, and data windows take none.
    """
    trees: list[DataTree] = []
    for tree in plan.data_trees:
        for is_periodic in (False, True):
            nodes = [node for node in tree.nodes if isinstance(node.window, Window) == is_periodic]
            if nodes:
                trees.append(replace(tree, nodes=tuple(nodes)))
    if len(trees) == len(plan.data_trees):
        return plan
    return plan.with_trees(data=trees)


def unite_groups_of_pass(plan: Plan) -> Plan:
    """Returns the plan with the groups of TriWeave in one tree, whose slices all of them read.

    As trees of their own, the groups would be cut from the events, each for itself.
    """
    groups = group_by_pass(plan.periodic_trees)
    if "triweave" not in (plan.strategy, *plan.taken) or len(groups) == len(plan.periodic_trees):
        return plan
    trees = (group[0] if len(group) == 1 else _flat(group, plan) for group in groups)
    return plan.with_trees(periodic=trees, considered={}, taken=())


def read_slices_or_levels(plan: Plan) -> Plan:
    """Returns the plan with every window reading the slices, or levels of the state that are made
    of them (`levels`), and the slices of all trees made by the slicer.

    Slices are cut only at edges of asked windows. A stream answers only the windows that have just
    closed, so a window whose intervals overlap is not worth keeping for others.
    """
    trees = (_in_levels(tree, plan) for tree in plan.periodic_trees)
    streamed = choose_techniques(by_the_slicer(plan.with_trees(periodic=trees)))
    if streamed.periodic_trees == plan.periodic_trees:
        return plan
    # The costs of other strategies are of plans that a stream does not run.
    return replace(streamed, considered={}, taken=())


STREAM_STEPS: tuple[Callable[[Plan], Plan], ...] = (
    move_all_to_slices,
    split_mixed_trees,
    unite_groups_of_pass,
    read_slices_or_levels,
)


def plan_for_stream(plan: Plan) -> Plan:
    """Returns a plan of `optimize` as a stream runs it."""
    for step in STREAM_STEPS:
        plan = step(plan)
    return plan


def _in_levels(tree: PeriodicTree, plan: Plan) -> PeriodicTree:
    """Returns the tree as a stream runs it, without what is decided for batches only."""
    tree = replace(tree, combined_by_spark=(), time_part=None, made_in=None)
    found = in_levels(tree, plan)
    # A flat tree stays as it was planned, with its costs.
    return tree if tree.is_flat and not found.levels else found


def _flat(trees: Iterable[PeriodicTree], plan: Plan) -> PeriodicTree:
    """Returns one tree for the queries of some trees of one grouping; all nodes read its slices."""
    queries = [query for tree in trees for query in plan.queries_of(tree).values()]
    return flat_tree(queries, plan.workload_of(queries))


def move_to_slices(plan: Plan, guests: Collection[Query]) -> Plan:
    """Moves some queries with periodic windows from records to slices of their own."""
    names = {query.name for query in guests}
    left = [query for query in parts_of(plan.queries) if query.name not in names]
    trees = [tree.answering(left) for tree in plan.data_trees]
    return plan.with_trees(
        periodic=(*plan.periodic_trees, *shared(plan.workload_of(guests)).periodic_trees),
        data=(tree for tree in trees if tree.nodes),
    )
