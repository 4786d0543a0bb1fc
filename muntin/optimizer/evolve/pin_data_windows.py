"""Keeps running trees of data windows, which know the open windows; new queries may join them."""

import json
from collections.abc import Mapping
from dataclasses import replace

from muntin.aggregates.aggregate import Aggregate
from muntin.aggregates.user_aggregate import aggregate_to_json
from muntin.model.plan import Plan
from muntin.model.plan_json import definition
from muntin.model.query import Grouping, Query
from muntin.model.trees import DataNode, DataTree
from muntin.model.windows.data_windows import DataWindow, Delta, Session
from muntin.model.windows.window import Window
from muntin.optimizer.data_windows import sharing_group


def pinned_trees(plan: Plan, running: Plan, stays: set[str]) -> tuple[DataTree, ...]:
    """Returns the running trees with those of their queries that stay, then trees of new queries.

    A new query joins a running tree where it can (`_takes`): it sees the tree's records from some
    instant on, which the engine knows. Otherwise it gets a new tree.
    """
    asked = {query.name: query for query in plan.queries if isinstance(query, Query)}
    trees = []
    home: set[str] = set()
    for tree in running.data_trees:
        kept = [name for name in tree.queries if name in stays]
        if kept:
            home.update(kept)
            queries = {name: asked[name] for name in kept}
            trees.append(_with_code(tree, queries).answering(queries.values()))
    begun = len(trees)
    for tree in plan.data_trees:
        left: list[str] = []
        for node in tree.answering(
            query for name, query in asked.items() if name not in home
        ).nodes:
            for index, host in enumerate(trees[:begun]):
                if _takes(host, tree.grouping, node, asked):
                    trees[index] = replace(host, nodes=(*host.nodes, node))
                    break
            else:
                left += node.queries
        if left:
            trees.append(tree.answering([asked[name] for name in left]))
    return tuple(trees)


def _takes(host: DataTree, grouping: Grouping, node: DataNode, asked: Mapping[str, Query]) -> bool:
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
    components = (part for aggregate in node.aggregates for part in aggregate.components)
    if not all(each.joins_running_windows for part in components for each in part.representations):
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
