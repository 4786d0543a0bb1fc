"""The plan as a stream runs it: every periodic window reads the slices of its tree."""

from collections.abc import Collection
from dataclasses import replace

from muntin.model.plan import Plan, Tree
from muntin.model.query import Query
from muntin.share.costs import cost
from muntin.share.shared import shared
from muntin.share.trees import flat_tree


def on_slices(plan: Plan) -> Plan:
    """The plan for a stream: all periodic windows read slices, no other window, and no records.

    A query stays in the tree in which it runs, so whether it is among slices or among records must
    not depend on the other queries, or on the rate.
    """
    guests = [
        query
        for tree in plan.record_trees
        for query in plan.queries_of(tree).values()
        if query.is_periodic
    ]
    return reading_slices(sliced(plan, guests) if guests else plan)


def reading_slices(plan: Plan) -> Plan:
    """The plan with every node reading the slices, which are cut at edges of asked windows alone.

    A stream gives out only the windows that have just closed, and retains slices and cells: to
    compute a node's long history for those that read it would cost more than it saves. So it has
    no use for factor windows, and for the slices that those would need.
    """
    trees = tuple(_reading_slices(tree, plan) for tree in plan.trees)
    if trees == plan.trees:
        return plan
    # What other strategies cost was found for plans that a stream does not run.
    return replace(plan, trees=trees, considered={}, taken=())


def _reading_slices(tree: Tree, plan: Plan) -> Tree:
    """The tree without what is decided for batches alone: a stream is cut where its events are."""
    tree = replace(tree, native=(), time_part=None)
    if tree.is_flat and not tree.moves_events:
        return tree
    queries = tuple(plan.queries_of(tree).values())
    facts = plan.workload_of(queries)
    grown = flat_tree(queries, facts)
    if not grown.moves_events:
        return grown
    return replace(
        grown,
        moves_events=False,
        cut_cost=cost.cut_cost(grown.slicing, facts, may_move=False),
    )


def sliced(plan: Plan, guests: Collection[Query]) -> Plan:
    """The plan with some queries of periodic windows taken from records to slices of their own."""
    names = {query.name for query in guests}
    left = [q for q in plan.queries if isinstance(q, Query) and q.name not in names]
    trees = [tree.answering(left) for tree in plan.record_trees]
    return replace(
        plan,
        trees=plan.trees + shared(plan.workload_of(guests)).trees,
        record_trees=tuple(tree for tree in trees if tree.nodes),
    )
