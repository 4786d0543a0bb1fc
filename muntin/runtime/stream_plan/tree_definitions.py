"""Identifies the trees of a plan by what they keep, so that their state is found by it.

A plan without a checkpoint of muntin's own numbers its trees by their place. At the next start its
queries may be in another order, under other names, or be others. So each bucket of keys stores the
definitions of its trees beside its state.
"""

from hashlib import sha256

from muntin.model.plan_json import grouping_to_json
from muntin.runtime.state.find_state import TreeDefinition
from muntin.runtime.stream_plan.stored_periodic_tree import text_of
from muntin.runtime.stream_plan.stored_tree import StoredTree
from muntin.runtime.stream_plan.stream_plan import StreamPlan


def tree_definitions(running: StreamPlan) -> dict[int, TreeDefinition]:
    """Returns the definition of each tree of a plan, by its number."""
    return {stored.number: _definition(stored, running) for stored in running.trees}


def _definition(stored: StoredTree, running: StreamPlan) -> TreeDefinition:
    grouping = stored.tree.grouping
    identity, order = stored.identity(running.types)
    whole = {
        "grouping": grouping_to_json(grouping),
        "keys": [[name, running.types.get(name)] for name in (grouping.time, *grouping.keys)],
        "key_columns": list(stored.key_columns),
        # Keys are in other buckets if there are more or fewer; sums may have two columns.
        "buckets": list(running.buckets),
        "ansi": running.ansi,
        **identity,
    }
    digest = sha256(text_of(whole).encode()).hexdigest()[:32]
    return TreeDefinition(digest=digest, order=order, queries=stored.tree.queries)
