"""Plans the trees of data windows: sessions on merged events, the others record by record."""

from collections.abc import Sequence
from dataclasses import replace
from math import exp

from muntin.aggregates.aggregate import Aggregate
from muntin.errors import PlanError
from muntin.model.data_windows import CountWindow, Custom, DataWindow, Session, Threshold
from muntin.model.passes import Engine
from muntin.model.plan import Plan, cost_of
from muntin.model.query import Grouping, Query
from muntin.model.time import SECOND
from muntin.model.trees import DataNode, DataTree
from muntin.model.windows import CumulateWindow, Window
from muntin.model.workload import Workload
from muntin.optimizer import costs
from muntin.optimizer.edges import slicing_by_name

# The tree of windows that look at every record.
_RECORDS = "records"
# Windows per record, assumed for windows whose number depends on the data.
_WINDOWS_PER_RECORD = 0.01
# Operations to find begins and ends, and to fold a record into the open slice.
_PER_RECORD = 3.0
# Operations to call a custom window's class, in Python, for each record.
_PER_CALL = 300.0


def data_trees(workload: Workload) -> tuple[DataTree, ...]:
    """Returns the trees of all data windows; queries of a grouping share slices if they can.

    Sessions need not see every event: events within the shortest gap are one record to all of them.
    Windows that need a partial per record have their own tree, to spare the others. Sessions of a
    batch are left to Spark, each query by itself, where that is cheaper.
    """
    groups: dict[tuple[Grouping, str], list[Query]] = {}
    for query in workload.data_window_queries:
        groups.setdefault((query.grouping, sharing_group(query)), []).append(query)
    trees: list[DataTree] = []
    for (grouping, _), queries in groups.items():
        tree = data_tree(grouping, queries, workload)
        apart = [data_tree(grouping, [query], workload) for query in queries]
        is_batch = workload.seconds is not None
        may_be_apart = is_batch and all(each.engine is Engine.SPARK for each in apart)
        spent = tree.cost + workload.start_cost
        trees += apart if may_be_apart and sum(each.cost for each in apart) < spent else [tree]
    return tuple(trees)


def data_trees_cost(workload: Workload) -> float:
    """Returns the cost of the data windows with a tree each."""
    return sum(
        data_tree(query.grouping, [query], workload).cost for query in workload.data_window_queries
    )


def move_into_data_trees(plan: Plan, workload: Workload) -> Plan:
    """Moves periodic windows into the tree of data windows of their grouping where that is cheaper.

    That tree reads and sorts every event anyway, for its data windows.
    """
    for host in plan.data_trees:
        guests = [tree for tree in plan.periodic_trees if tree.grouping == host.grouping]
        asked = [query for tree in (host, *guests) for query in plan.queries_of(tree).values()]
        # The sets of a query are answered together, from slices.
        is_set = any(query.part_of is not None for query in asked)
        grows = any(isinstance(query.window, CumulateWindow) for query in asked)
        if (
            not guests
            or is_set
            or grows
            or any(sharing_group(query) != _RECORDS for query in asked)
        ):
            continue
        joined = data_tree(host.grouping, asked, workload)
        if joined.cost < host.cost + cost_of(guests):
            plan = plan.with_trees(
                periodic=(tree for tree in plan.periodic_trees if tree not in guests),
                data=(joined if tree is host else tree for tree in plan.data_trees),
            )
    return plan


def check_slicing(workload: Workload) -> None:
    """Raises an error if the slicing that the user named does not exist or cannot serve a query."""
    if workload.options.slicing is None:
        return
    slicing_by_name(workload.options.slicing)
    for query in workload.data_window_queries:
        if query.is_periodic and query.part_of is not None:
            raise PlanError(
                f"query {query.whole_query.name!r}: grouping sets are answered from slices, and "
                f"{query.window} ends inside a slice of 'cutty'; 'pairs' can serve it"
            )


def sharing_group(query: Query) -> str:
    """Returns the group of a query: it may share records with the queries of its grouping that are
    in the same group."""
    window = query.window
    if isinstance(window, Session) and not _needs_events(query):
        return "sessions"
    if isinstance(window, Custom) and not window.is_deterministic:
        return "partial per record"
    return _RECORDS


def _needs_events(query: Query) -> bool:
    """Whether a query has an aggregate that Spark cannot compute of the events of a record: one of
    the user's own, or of a set of values."""
    has_own = any(aggregate.has_user_code for aggregate in query.aggregates.values())
    return has_own or not query.is_native


def data_tree(grouping: Grouping, queries: Sequence[Query], workload: Workload) -> DataTree:
    """Returns the tree of some queries of a grouping, with its costs."""
    asked: dict[DataWindow | Window, tuple[list[str], dict[Aggregate, None]]] = {}
    for query in queries:
        names, aggregates = asked.setdefault(query.window, ([], {}))
        names.append(query.name)
        aggregates.update(dict.fromkeys(query.aggregates.values()))
    gaps = [window.gap for window in asked if isinstance(window, Session)]
    alike = len(gaps) == len(asked) and not any(map(_needs_events, queries))
    grain = min(gaps) if alike else None
    handed = workload.rate
    # In a batch whose keys are not known, events of a key may be far apart.
    if grain is not None and (workload.keys_known or workload.seconds is None):
        handed = costs.pairs(SECOND / grain, workload, rate=workload.rate, keys=workload.keys)
    tree = DataTree(
        grouping=grouping,
        grain=grain,
        cut_cost=workload.prices.event * workload.rate + workload.prices.record * handed,
        nodes=tuple(
            DataNode(
                window=window,
                aggregates=tuple(aggregates),
                queries=tuple(names),
                cost=_node_cost(window, len(aggregates), len(names), handed, workload),
            )
            for window, (names, aggregates) in asked.items()
        ),
    )
    return _as_sparks_own(tree, workload) if tree.engine is Engine.SPARK else tree


def _as_sparks_own(tree: DataTree, workload: Workload) -> DataTree:
    """Returns the tree with the cost of Spark's own `session_window`, which groups every event."""
    (node,) = tree.nodes
    return replace(
        tree,
        cut_cost=workload.prices.event * workload.rate,
        nodes=(replace(node, cost=workload.prices.group * workload.rate),),
    )


def _node_cost(
    window: DataWindow | Window, aggregates: int, queries: int, handed: float, workload: Workload
) -> float:
    each = _PER_CALL if isinstance(window, Custom) else _PER_RECORD
    given = workload.prices.answer * queries * _answers(window, workload)
    return handed * (each + workload.prices.combine * aggregates) + given


def _answers(window: DataWindow | Window, workload: Workload) -> float:
    """Returns how many windows end per second, for all keys."""
    rate, keys = workload.rate, workload.keys
    if isinstance(window, Session):
        # With random events, one is the last of its session if none follows within the gap.
        return rate * exp(-rate / keys * window.gap / SECOND)
    if isinstance(window, CountWindow):
        return rate / window.slide
    if isinstance(window, Window):
        return costs.partials_per_second(window, workload)
    if isinstance(window, Threshold):
        sides = (window.inside, window.outside)
        return max(costs.partials_per_second(side, workload) for side in sides)
    return rate * _WINDOWS_PER_RECORD
