"""Decides who computes what in a batch, when the plan is bound, and records it in the plan."""

from dataclasses import replace

from muntin.model.passes import SLICER, Pass
from muntin.model.plan import NATIVE, Node, Plan, Tree
from muntin.model.sql_text import SqlText
from muntin.spark.batch.time_split import part_width
from muntin.spark.binding.bind_periodic import BoundPlan, BoundTree
from muntin.spark.binding.relations import Relations


def decide_batch(bound: BoundPlan, relations: Relations, *, cores: int) -> BoundPlan:
    """Returns the plan with trees that say which queries Spark combines, and how few keys are split
    by time over `cores`; and with the relations that are computed for several passes."""
    free = 1 + max((each.number for each in bound.plan.passes), default=-1)
    trees = tuple(
        _decided(bound_tree, bound.plan, cores, free + index)
        for index, bound_tree in enumerate(bound.trees)
    )
    plan = replace(bound.plan, trees=tuple(bound_tree.tree for bound_tree in trees))
    return BoundPlan(plan=replace(plan, computed=_computed(plan, relations)), trees=trees)


def _computed(plan: Plan, relations: Relations) -> frozenset[SqlText]:
    """Returns the relations that are read several times and cost more than reading.

    Without sharing, every query is computed as Spark alone would.
    """
    if plan.strategy == "unshared":
        return frozenset()
    several = [relation for relation, times in plan.readings.items() if times > 1]
    return frozenset(relation for relation in several if relations.is_computed(relation))


def _decided(bound: BoundTree, plan: Plan, cores: int, number: int) -> BoundTree:
    """Returns a tree as it runs; `number` is that of a pass of its own."""
    tree = bound.tree
    queries = plan.queries_of(tree)
    native = tuple(
        name
        for name, query in queries.items()
        if not bound.compiled.issuperset(query.aggregates.values())
    )
    made_in = None if native and _by_slicer(tree) else tree.made_in
    if tree.has_sets_of_values and not tree.is_alone and not _by_slicer(tree):
        # Only the slicer makes sets of values.
        made_in = Pass(number=number, maker=SLICER, keys=tree.grouping.keys, slicing=tree.slicing)
    decided = replace(
        tree,
        nodes=tuple(_combined_by_spark(node, bound) for node in tree.nodes),
        native=() if tree.is_alone else native,
        # The slicer makes only partials that the compiled runtime takes.
        made_in=made_in,
        time_part=_time_part(tree, plan, cores),
    )
    return replace(bound, tree=decided)


def _combined_by_spark(node: Node, bound: BoundTree) -> Node:
    """Returns the node with Spark as technique of what the compiled runtime does not take."""
    named = zip(node.aggregates, node.techniques, strict=True)
    return replace(
        node,
        techniques=tuple(
            names if aggregate in bound.compiled else (NATIVE,) * len(names)
            for aggregate, names in named
        ),
    )


def _time_part(tree: Tree, plan: Plan, cores: int) -> int | None:
    """Returns the length of parts; None if Spark computes all, or keys are many."""
    if tree.is_alone:
        return None
    known = plan.keys if plan.keys_known else None
    keys = known if tree.grouping.keys else 1
    return part_width(tree.slicing, tree.longest, keys=keys, cores=cores)


def _by_slicer(tree: Tree) -> bool:
    return tree.made_in is not None and tree.made_in.maker == SLICER
