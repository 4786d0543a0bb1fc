"""Turns a plan into one that a stream runs: windows read slices, or levels made of them.

Levels are tumbling windows whose partials a stream keeps for other windows. A long window needs
fine slices only near the watermark. Further behind, windows that are still open begin at fewer
edges, and the partials between these are enough (Subsumption's granules). A level may also be there
for speed only: where many partials of a level lie inside one window, the window reads a coarser
level instead.

```
                                          watermark
  [--------)--------)--------)--------)       |        a level, kept for the longest window
                            [--)--)--)--)--)--)        slices, kept for an hour
```
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from math import gcd, isqrt

from muntin.model.plan import Plan, trees_by_pass
from muntin.model.query import Query, parts_of
from muntin.model.time import SECOND
from muntin.model.trees import DataTree, Node, PeriodicTree
from muntin.model.windows import Edges, Slicing, Window
from muntin.model.workload import Workload
from muntin.optimizer.choose_passes import slice_in_one_pass
from muntin.optimizer.factor_windows import divisors
from muntin.optimizer.strategies import shared
from muntin.optimizer.trees import flat_tree, nodes_of, tree_of
from muntin.optimizer.window_stacks import with_stream_techniques

# A window may hold this many partials of one level before a coarser one is added.
_MANY = 64
# How many partials of one level make one of the next, at most, where that can be chosen.
_FAN = 12
# A level must leave at most this share of the partials that would be kept without it, and there
# must be some: every level costs a little in every batch.
_SHARE, _FEW = 0.75, 16


def in_levels(tree: PeriodicTree, plan: Plan) -> PeriodicTree:
    """Returns the tree of the same queries as a stream runs it: each window reads the coarsest
    level that partitions it, or the slices."""
    queries = list(plan.queries_of(tree).values())
    nodes = {node.window: node for node in nodes_of(queries)}
    workload = plan.workload_of(queries)
    flat = tree_of(tree.grouping, nodes.values(), workload)
    levels = levels_for(nodes, flat.slicing)
    if not levels:
        return flat
    for window in levels:
        # What is kept for one query is there for the next: a level has all that slices have.
        queries_of = nodes[window].queries if window in nodes else ()
        nodes[window] = Node(window=window, aggregates=flat.aggregates, queries=queries_of)
    parents: dict[Window, Window | None] = {}
    for window in nodes:
        below = levels[: levels.index(window)] if window in levels else levels
        readable = [level for level in below if level.partitions(window)]
        parents[window] = readable[-1] if readable else None
    hung = tree_of(tree.grouping, nodes.values(), workload, parents)
    return replace(hung, levels=levels)


def levels_for(windows: Iterable[Window], slicing: Slicing) -> tuple[Window, ...]:
    """Returns the levels, finest first, for the windows of a tree and its slices."""
    windows = sorted(set(windows))
    levels = _granules(windows, slicing)
    position = 0
    while position <= len(levels):
        inserted = _summary(levels, position, windows, slicing)
        if inserted is None:
            position += 1
        else:
            levels.insert(position, inserted)
    return tuple(levels)


def _granules(windows: Sequence[Window], slicing: Slicing) -> list[Window]:
    """Returns levels that take over where windows of some size need no edges any more."""
    levels: list[Window] = []
    longest = max(window.size for window in windows)
    for size in sorted({window.size for window in windows})[:-1]:
        level = _common_begins([window for window in windows if window.size > size])
        if not _is_nested(level, levels, slicing):
            continue
        width = _width(levels, slicing)
        without = longest / width
        if without > _FEW and max(size, level.size) / width + longest / level.size <= (
            _SHARE * without
        ):
            levels.append(level)
    return levels


def _summary(
    levels: Sequence[Window], position: int, windows: Sequence[Window], slicing: Slicing
) -> Window | None:
    """Returns a level to insert at a position, if a window would hold too many of those before."""
    finer = levels[:position]
    base = finer[-1] if finer else _finest(slicing)
    longest = max(window.size for window in windows)
    # The coarsest level may start where the longest windows do, or where the finer levels do.
    offsets = [max(windows).offset, base.offset]
    if position < len(levels):
        offsets = [levels[position].offset]
        whole = levels[position].size // base.size
        if whole <= _MANY or not base.covers(levels[position]):
            return None
        fitting = [each for each in divisors(whole) if 1 < each <= 2 * _FAN and each < whole]
    else:
        if longest <= _MANY * _width(finer, slicing):
            return None
        whole = longest // base.size
        fitting = [each for each in divisors(whole) if 1 < each <= 2 * _FAN] or [_FAN]
    if not fitting:
        return None
    count = min(fitting, key=lambda each: abs(each - isqrt(whole)))
    if 2 * count * base.size > longest:
        return None
    candidates = (
        Window(size=count * base.size, slide=count * base.size, offset=offset) for offset in offsets
    )
    return next((level for level in candidates if _is_nested(level, finer, slicing)), None)


def _common_begins(windows: Sequence[Window]) -> Window:
    """Returns the widest tumbling window at whose edges all windows begin."""
    width = 0
    for window in windows:
        width = gcd(width, window.start_period, window.offset - windows[0].offset)
    return Window(size=width, slide=width, offset=windows[0].offset)


def _is_nested(level: Window, finer: Sequence[Window], slicing: Slicing) -> bool:
    """Whether a level can be made of the one before it, or of slices."""
    if finer:
        return level != finer[-1] and finer[-1].covers(level)
    edges = Edges(period=level.size, phase=level.offset)
    return level.size > _width((), slicing) and any(each.includes(edges) for each in slicing.edges)


def _finest(slicing: Slicing) -> Window:
    """Returns the tumbling window with the shortest period among the edges of slices."""
    edges = min(slicing.edges)
    return Window(size=edges.period, slide=edges.period, offset=edges.phase)


def _width(levels: Sequence[Window], slicing: Slicing) -> float:
    """Returns how wide the partials of the last level are, or the slices on average."""
    return levels[-1].size if levels else SECOND / slicing.rate


def move_all_to_slices(plan: Plan) -> Plan:
    """Returns the plan with all periodic windows reading slices, unless the user chose `cutty`.

    A query stays in the tree in which it runs, so whether it reads slices or records must not
    depend on the other queries or on the rate.
    """
    parts = (part for tree in plan.data_trees for part in plan.queries_of(tree).values())
    periodic = [part for part in parts if plan.workload.reads_slices(part)]
    return move_to_slices(plan, periodic) if periodic else plan


def split_mixed_trees(plan: Plan) -> Plan:
    """Returns the plan with no periodic window in a tree with data windows.

    Those that are left among records have aggregates of the user's own. They take late rows for as
    long as they are open, as all periodic windows do, and data windows take none.
    """
    trees: list[DataTree] = []
    for tree in plan.data_trees:
        for is_periodic in (False, True):
            nodes = [node for node in tree.nodes if isinstance(node.window, Window) == is_periodic]
            if nodes:
                trees.append(replace(tree, nodes=tuple(nodes)))
    if len(trees) == len(plan.data_trees):
        return plan
    return plan.with_trees(data=trees)


def unite_groups_of_pass(plan: Plan) -> Plan:
    """Returns the plan with the groups of TriWeave in one tree, whose slices all of them read.

    As trees of their own, the groups would be cut from the events, each for itself.
    """
    groups = trees_by_pass(plan.periodic_trees)
    if "triweave" not in (plan.strategy, *plan.chosen_strategies) or len(groups) == len(
        plan.periodic_trees
    ):
        return plan
    trees = (group[0] if len(group) == 1 else _flat(group, plan) for group in groups)
    return plan.with_trees(periodic=trees, strategy_costs={}, chosen_strategies=())


def read_slices_or_levels(plan: Plan) -> Plan:
    """Returns the plan with every window reading the slices, or levels of the state that are made
    of them (`levels`), and the slices of all trees made by the slicer.

    Slices are cut only at edges of asked windows. A stream answers only the windows that have just
    closed, so a window whose intervals overlap is not worth keeping for others.
    """
    trees = (_in_levels(tree, plan) for tree in plan.periodic_trees)
    streamed = slice_in_one_pass(plan.with_trees(periodic=trees))
    streamed = streamed.with_trees(
        periodic=(with_stream_techniques(tree, part) for tree, part in _with_parts(streamed))
    )
    if streamed.periodic_trees == plan.periodic_trees:
        return plan
    # The costs of other strategies are of plans that a stream does not run.
    return replace(streamed, strategy_costs={}, chosen_strategies=())


def _with_parts(plan: Plan) -> Iterator[tuple[PeriodicTree, Workload]]:
    """Yields each tree with the workload of its grouping."""
    for tree in plan.periodic_trees:
        (part,) = plan.workload_of(plan.queries_of(tree).values()).split_by_grouping
        yield tree, part


STREAM_STEPS: tuple[Callable[[Plan], Plan], ...] = (
    move_all_to_slices,
    split_mixed_trees,
    unite_groups_of_pass,
    read_slices_or_levels,
)


def plan_for_stream(plan: Plan) -> Plan:
    """Returns a plan of `optimize` as a stream runs it."""
    for step in STREAM_STEPS:
        plan = step(plan)
    return plan


def _in_levels(tree: PeriodicTree, plan: Plan) -> PeriodicTree:
    """Returns the tree as a stream runs it, without decisions that are for batches only."""
    tree = replace(tree, combined_by_spark=(), time_part=None, slicing_pass=None)
    found = in_levels(tree, plan)
    # A flat tree stays as it was planned, with its costs.
    return tree if tree.is_flat and not found.levels else found


def _flat(trees: Iterable[PeriodicTree], plan: Plan) -> PeriodicTree:
    """Returns one tree for the queries of some trees of one grouping; all nodes read its slices."""
    queries = [query for tree in trees for query in plan.queries_of(tree).values()]
    return flat_tree(queries, plan.workload_of(queries))


def move_to_slices(plan: Plan, guests: Collection[Query]) -> Plan:
    """Moves some queries with periodic windows from records to slices of their own."""
    names = {query.name for query in guests}
    left = [query for query in parts_of(plan.queries) if query.name not in names]
    trees = [tree.restrict_to(left) for tree in plan.data_trees]
    return plan.with_trees(
        periodic=(
            *plan.periodic_trees,
            *shared(plan.workload_of(guests).without_records).periodic_trees,
        ),
        data=(tree for tree in trees if tree.nodes),
    )
