"""Periodic windows on slices of time, also where a plan had put them among records."""

from collections.abc import Collection
from dataclasses import replace

from muntin.model.plan import Plan
from muntin.model.query import Query, workload
from muntin.share.shared import shared


def on_slices(plan: Plan) -> Plan:
    """The plan for a stream: there a query stays in the tree in which it runs, so that it must not
    depend on the other queries, or on the rate, whether it is among slices or among records."""
    guests = [
        query
        for tree in plan.record_trees
        for query in plan.queries_of(tree).values()
        if query.is_periodic
    ]
    return sliced(plan, guests) if guests else plan


def sliced(plan: Plan, guests: Collection[Query]) -> Plan:
    """The plan with some queries of periodic windows taken from records to slices of their own."""
    names = {query.name for query in guests}
    left = [q for q in plan.queries if isinstance(q, Query) and q.name not in names]
    trees = [tree.answering(left) for tree in plan.record_trees]
    return replace(
        plan,
        trees=plan.trees + shared(workload(guests, rate=plan.rate, keys=plan.keys)).trees,
        record_trees=tuple(tree for tree in trees if tree.nodes),
    )
