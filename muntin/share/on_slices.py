"""Periodic windows on slices of time, also where a plan had put them among records."""

from dataclasses import replace

from muntin.model.plan import Plan
from muntin.model.query import Query, workload
from muntin.model.user_aggregate import UserAggregate
from muntin.model.window import Window
from muntin.share.shared import shared


def on_slices(plan: Plan) -> Plan:
    """The plan for a stream: there a query stays in the tree in which it runs, so that it must not
    depend on the other queries, or on the rate, whether it is among slices or among records."""
    guests = [
        query
        for tree in plan.discretized
        for node in tree.nodes
        for name in node.queries
        if isinstance(query := plan.query(name), Query) and _is_sliced(query)
    ]
    if not guests:
        return plan
    moved = {query.name for query in guests}
    left = [q for q in plan.queries if isinstance(q, Query) and q.name not in moved]
    trees = [tree.answering(left) for tree in plan.discretized]
    return replace(
        plan,
        trees=plan.trees + shared(workload(guests, rate=plan.rate, keys=plan.keys)).trees,
        discretized=tuple(tree for tree in trees if tree.nodes),
    )


def _is_sliced(query: Query) -> bool:
    own = any(isinstance(one, UserAggregate) for one in query.aggregates.values())
    return isinstance(query.window, Window) and not own
