"""Binds a plan to the data of a batch, and records in the plan who computes what."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from muntin.model.passes import Engine, Pass
from muntin.model.plan import Plan
from muntin.model.time import SECOND
from muntin.model.trees import Node, PeriodicTree
from muntin.model.windows import Slicing
from muntin.optimizer.price_plan import price_plan
from muntin.optimizer.strategies import UNSHARED
from muntin.spark.binding.bind import bind
from muntin.spark.binding.bound_tree import BoundPeriodicTree, BoundPlan
from muntin.spark.binding.relations import Relations
from muntin.spark.engine.session_kind import cores_of

# A part of time is this many times as long as the longest window, so one in so many slices is read
# twice.
_WINDOWS_PER_PART = 4
# A part has at least this many slices, as fewer would not keep a core busy.
_SLICES_PER_PART = 1 << 14
# With this many keys for each core, all cores have about as much to do.
_KEYS_PER_CORE = 4


def bind_batch(plan: Plan, relations: Relations) -> BoundPlan:
    """Returns the plan that runs on a batch, bound to its data.

    Queries that cannot share because of their types are left to Spark. Each tree records who makes
    its slices and who combines them. Costs are computed anew.
    """
    bound, cores = bind(plan, relations), cores_of(relations.session)
    apart = [part for each in bound.periodic_trees for part in _split_by_combiner(each, bound.plan)]
    trees = tuple(_record_decisions(each, bound.plan, cores) for each in _with_slicer_passes(apart))
    plan = bound.plan.with_trees(periodic=(bound_tree.tree for bound_tree in trees))
    # Without sharing, every query is computed as Spark alone would.
    is_shared = plan.strategy != UNSHARED
    computed = relations.relations_to_store(plan.readings) if is_shared else frozenset()
    plan = replace(plan, workload=replace(plan.workload, computed=computed))
    return replace(bound, plan=price_plan(plan), periodic_trees=trees)


def _split_by_combiner(bound: BoundPeriodicTree, plan: Plan) -> Iterator[BoundPeriodicTree]:
    """Yields a tree, split in two if Spark combines partials for some of its queries and others
    need partials that only the slicer makes."""
    queries = plan.queries_of(bound.tree)
    by_spark = [queries[name] for name in _names_combined_by_spark(bound, plan)]
    if bound.tree.engine is Engine.SPARK or bound.tree.fits_group_by or not by_spark:
        yield bound
        return
    others = [query for query in queries.values() if query not in by_spark]
    yield replace(bound, tree=replace(bound.tree.restrict_to(by_spark), slicing_pass=None))
    if others:
        yield replace(bound, tree=bound.tree.restrict_to(others))


def _with_slicer_passes(trees: Sequence[BoundPeriodicTree]) -> list[BoundPeriodicTree]:
    """Returns the trees; those with partials that GROUP BY cannot make get passes of the slicer."""
    passes: dict[Pass, Pass] = {}
    number = (
        max((each.tree.slicing_pass.number for each in trees if each.tree.slicing_pass), default=-1)
        + 1
    )
    own: list[Pass | None] = []
    for each in trees:
        tree = each.tree
        made_in = tree.slicing_pass
        if tree.engine is not Engine.SPARK and not tree.fits_group_by:
            if made_in is None:
                made_in = Pass(
                    number=number,
                    engine=Engine.COMPILED,
                    keys=tree.grouping.keys,
                    slicing=tree.slicing,
                )
                number += 1
            passes[made_in] = replace(made_in, engine=Engine.COMPILED)
        own.append(made_in)
    return [
        replace(
            each, tree=replace(each.tree, slicing_pass=made_in and passes.get(made_in, made_in))
        )
        for each, made_in in zip(trees, own, strict=True)
    ]


def _names_combined_by_spark(bound: BoundPeriodicTree, plan: Plan) -> tuple[str, ...]:
    """Returns the queries of a tree with an aggregate that compiled code does not combine."""
    return tuple(
        name
        for name, query in plan.queries_of(bound.tree).items()
        if any(bound.engines[each] is Engine.SPARK for each in query.aggregates.values())
    )


def _record_decisions(bound: BoundPeriodicTree, plan: Plan, cores: int) -> BoundPeriodicTree:
    tree = bound.tree
    by_spark = _names_combined_by_spark(bound, plan)
    decided = replace(
        tree,
        nodes=tuple(_with_spark_techniques(node, bound) for node in tree.nodes)
        if by_spark
        else tree.nodes,
        combined_by_spark=() if tree.engine is Engine.SPARK else by_spark,
        # The slicer makes only partials that the compiled runtime takes.
        slicing_pass=None if by_spark and _is_made_by_slicer(tree) else tree.slicing_pass,
        time_part=_time_part(tree, plan, cores),
    )
    return replace(bound, tree=decided)


def _with_spark_techniques(node: Node, bound: BoundPeriodicTree) -> Node:
    """Returns the node with Spark as the technique of aggregates that it combines."""
    named = zip(node.aggregates, node.techniques, strict=True)
    return replace(
        node,
        techniques=tuple(
            names
            if bound.engines[aggregate] is Engine.COMPILED
            else (Engine.SPARK.value,) * len(names)
            for aggregate, names in named
        ),
    )


def _time_part(tree: PeriodicTree, plan: Plan, cores: int) -> int | None:
    """Returns the length of the parts of time that a tree is divided into; see `part_width`."""
    if tree.engine is Engine.SPARK:
        return None
    known = plan.keys if plan.workload.keys_known else None
    keys = known if tree.grouping.keys else 1
    return part_width(tree.slicing, tree.longest_window, keys=keys, cores=cores)


def part_width(slicing: Slicing, longest: int, *, keys: float | None, cores: int) -> int | None:
    """Returns the length of the parts of time that cores share, if there are few keys; None if the
    keys can use all cores, or their number is unknown.

    Parts overlap in what they read, not in what they answer. `longest` is the size of the longest
    window. Both are in microseconds.

    ```
    0         P         2P
    [---------)              windows that part 0 answers begin here
    [-------------)          slices that it reads: as far as its last windows reach
              [---------)    part 1 answers
              [-------------)
    ```
    """
    if keys is None or keys >= _KEYS_PER_CORE * cores:
        return None
    return max(_WINDOWS_PER_PART * longest, int(_SLICES_PER_PART * SECOND / slicing.rate))


def _is_made_by_slicer(tree: PeriodicTree) -> bool:
    return tree.slicing_pass is not None and tree.slicing_pass.engine is Engine.COMPILED
