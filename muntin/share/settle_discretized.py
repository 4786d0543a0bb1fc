"""Trees of user-defined windows that stay as they run: what is open is known to them alone."""

from collections.abc import Mapping
from dataclasses import replace

from muntin.model.discretized import DiscretizedTree
from muntin.model.plan import Plan
from muntin.model.query import Query


def settled_trees(plan: Plan, running: Plan, stays: set[str]) -> tuple[DiscretizedTree, ...]:
    """The trees that run, with the queries of theirs that stay, then trees of new queries alone.

    A new query does not join a tree that runs, which has seen records that it has not.
    """
    asked = {query.name: query for query in plan.queries if isinstance(query, Query)}
    trees = []
    home: set[str] = set()
    for tree in running.discretized:
        kept = [name for node in tree.nodes for name in node.queries if name in stays]
        if kept:
            home.update(kept)
            trees.append(_given(tree, {name: asked[name] for name in kept}))
    for tree in plan.discretized:
        new = [name for node in tree.nodes for name in node.queries if name not in home]
        if new:
            trees.append(tree.answering([asked[name] for name in new]))
    return tuple(trees)


def _given(tree: DiscretizedTree, queries: Mapping[str, Query]) -> DiscretizedTree:
    """The part of a tree that some queries need, with their own windows: a plan that was read from
    a checkpoint has the names of classes, not the classes."""
    nodes = []
    for node in tree.nodes:
        names = [name for name in node.queries if name in queries]
        if names:
            nodes.append(replace(node, window=queries[names[0]].window))
        else:
            nodes.append(node)
    return replace(tree, nodes=tuple(nodes)).answering(queries.values())
