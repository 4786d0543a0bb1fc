"""Turns a plan into one that a stream runs: every periodic window reads the slices of its tree."""

from collections.abc import Collection
from dataclasses import replace

from muntin.model.plan import Plan, Tree
from muntin.model.query import Query
from muntin.share.costs import cost
from muntin.share.shared import shared
from muntin.share.trees import flat_tree


def on_slices(plan: Plan) -> Plan:
    """Returns the plan for a stream, in which all periodic windows read slices, never records.

    A query stays in the tree in which it runs, so whether it reads slices or records must not
    depend on the other queries or on the rate.
    """
    guests = [
        query
        for tree in plan.record_trees
        for query in plan.queries_of(tree).values()
        if query.is_periodic
    ]
    return reading_slices(sliced(plan, guests) if guests else plan)


def reading_slices(plan: Plan) -> Plan:
    """Returns the plan with every node reading the slices, cut only at edges of asked windows.

    A stream answers only the windows that have just closed. To keep a node's long history for its
    readers would cost more than it saves, so factor windows and their slices are of no use.
    """
    trees = tuple(_reading_slices(tree, plan) for tree in plan.trees)
    if trees == plan.trees:
        return plan
    # The costs of other strategies are of plans that a stream does not run.
    return replace(plan, trees=trees, considered={}, taken=())


def _reading_slices(tree: Tree, plan: Plan) -> Tree:
    """Returns the flat tree of a stream, without what is decided for batches only."""
    tree = replace(tree, native=(), time_part=None)
    if tree.is_flat and tree.made_in is None:
        return tree
    queries = tuple(plan.queries_of(tree).values())
    facts = plan.workload_of(queries)
    grown = flat_tree(queries, facts)
    return replace(grown, cut_cost=cost.cut_cost(grown.slicing, facts, may_slice=False))


def sliced(plan: Plan, guests: Collection[Query]) -> Plan:
    """Moves some queries with periodic windows from records to slices of their own."""
    names = {query.name for query in guests}
    left = [q for q in plan.queries if isinstance(q, Query) and q.name not in names]
    trees = [tree.answering(left) for tree in plan.record_trees]
    return replace(
        plan,
        trees=plan.trees + shared(plan.workload_of(guests)).trees,
        record_trees=tuple(tree for tree in trees if tree.nodes),
    )
