"""Keeps running trees of data windows as they are, since only they know the open windows."""

import json
from collections.abc import Mapping
from dataclasses import replace

from muntin.model.aggregates.aggregate import Aggregate
from muntin.model.aggregates.user_aggregate import aggregate_to_json
from muntin.model.plan import Plan
from muntin.model.plan_json import definition
from muntin.model.query import Query
from muntin.model.record_tree import RecordTree


def pinned_trees(plan: Plan, running: Plan, stays: set[str]) -> tuple[RecordTree, ...]:
    """Returns the running trees with those of their queries that stay, then trees of new queries.

    A new query never joins a running tree, which has seen records that the query has not.
    """
    asked = {query.name: query for query in plan.queries if isinstance(query, Query)}
    trees = []
    home: set[str] = set()
    for tree in running.record_trees:
        kept = [name for name in tree.queries if name in stays]
        if kept:
            home.update(kept)
            trees.append(_given(tree, {name: asked[name] for name in kept}))
    for tree in plan.record_trees:
        new = [name for name in tree.queries if name not in home]
        if new:
            trees.append(tree.answering([asked[name] for name in new]))
    return tuple(trees)


def _given(tree: RecordTree, queries: Mapping[str, Query]) -> RecordTree:
    """Returns the part of a tree that `queries` need, with their own windows and aggregates."""
    return _with_code(tree, queries).answering(queries.values())


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
    return replace(
        plan,
        queries=tuple(known.get(query.name, query) for query in plan.queries),
        record_trees=tuple(_with_code(tree, known) for tree in plan.record_trees),
    )


def _with_code(tree: RecordTree, queries: Mapping[str, Query]) -> RecordTree:
    nodes = []
    for node in tree.nodes:
        mine = [queries[name] for name in node.queries if name in queries]
        if mine:
            own = {
                _known(aggregate): aggregate
                for query in mine
                for aggregate in query.aggregates.values()
            }
            aggregates = tuple(
                own.get(_known(aggregate), aggregate) for aggregate in node.aggregates
            )
            node = replace(node, window=mine[0].window, aggregates=aggregates)
        nodes.append(node)
    return replace(tree, nodes=tuple(nodes))


def _known(aggregate: Aggregate) -> str:
    """Returns the text that identifies an aggregate in a checkpoint."""
    return json.dumps(aggregate_to_json(aggregate), sort_keys=True)
