"""What a plan costs as it stands: at other figures of the data, or after some queries have left."""

from collections.abc import Sequence
from dataclasses import replace

from muntin.model.engine import Engine
from muntin.model.plan import Plan
from muntin.model.trees import DataTree, PeriodicTree
from muntin.model.workload import Workload
from muntin.optimizer.costs import cost
from muntin.optimizer.data_windows import data_tree
from muntin.optimizer.groupings.pass_costs import Members
from muntin.optimizer.trees import plain_spark_cost, tree_each_cost


def price_plan(plan: Plan, workload: Workload | None = None) -> Plan:
    """Returns a plan for a batch with the costs of what it runs, and of what it is compared with.

    They are computed for the rate, keys and shares of the workload, or else of the plan.
    """
    work = replace(workload or plan.workload_of(plan.queries), queries=plan.queries)
    parts = {part.grouping: part for part in work.by_grouping}
    nodes = [_with_node_costs(tree, parts[tree.grouping]) for tree in plan.periodic_trees]
    plain = cost.plain_queries_cost(work)
    return plan.with_trees(
        periodic=_with_pass_costs(nodes, work),
        data=(_with_record_costs(tree, plan, parts[tree.grouping]) for tree in plan.data_trees),
        workload=replace(work, computed=plan.workload.computed),
        unshared_cost=plain + sum(map(tree_each_cost, parts.values())),
        plain_cost=plain + sum(map(plain_spark_cost, parts.values())),
        cost_of_plain=plain,
        # These were computed for the figures of the plan.
        considered={} if workload else plan.considered,
    )


def _with_node_costs(tree: PeriodicTree, part: Workload) -> PeriodicTree:
    """Returns the tree with the costs of its nodes; Spark itself answers one that is alone."""
    if tree.engine is Engine.SPARK and tree.made_in is None:
        (node,) = tree.nodes
        read, answered = cost.alone_cost(node.window, node.aggregates, part)
        return replace(tree, nodes=(replace(node, cost=answered),), cut_cost=read)
    return replace(
        tree,
        nodes=tuple(
            replace(
                node,
                cost=cost.node_cost(
                    node.window,
                    node.aggregates,
                    node.parent or tree.slicing,
                    part,
                    queries=len(node.queries),
                ),
            )
            for node in tree.nodes
        ),
    )


def _with_pass_costs(trees: Sequence[PeriodicTree], work: Workload) -> tuple[PeriodicTree, ...]:
    """Returns the trees with what it costs to make their slices, by the engine of their pass."""
    members: dict[object, list[PeriodicTree]] = {}
    for tree in trees:
        members.setdefault(tree.made_in or id(tree), []).append(tree)
    priced: dict[int, PeriodicTree] = {}
    for together in members.values():
        made_in = together[0].made_in
        candidate = Members(trees=tuple(together), workload=work)
        by_slicer = made_in is not None and made_in.engine is Engine.COMPILED
        spent = candidate.by_slicer if by_slicer else candidate.by_group_by
        for tree, own in zip(together, spent.trees, strict=True):
            if made_in is None:
                priced[id(tree)] = replace(tree, cut_cost=spent.reading + own)
            else:
                made = replace(made_in, cost=spent.reading)
                priced[id(tree)] = replace(tree, made_in=made, cut_cost=own)
    return tuple(priced[id(tree)] for tree in trees)


def _with_record_costs(tree: DataTree, plan: Plan, part: Workload) -> DataTree:
    anew = data_tree(tree.grouping, list(plan.queries_of(tree).values()), part)
    spent = {node.window: node.cost for node in anew.nodes}
    nodes = tuple(replace(node, cost=spent[node.window]) for node in tree.nodes)
    return replace(tree, nodes=nodes, cut_cost=anew.cut_cost)
