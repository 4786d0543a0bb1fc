"""Changes the lanes of data windows from one running plan to the next."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from muntin.model.plan import Plan
from muntin.model.trees import DataTree
from muntin.runtime.state.record_lane import RecordNeeds, RunningRecords
from muntin.runtime.stream_plan.component_columns import Held
from muntin.runtime.stream_plan.stream_plan import StreamPlan, key_columns, kind_of
from muntin.runtime.stream_plan.value_types import is_retyped


def resumed(running: StreamPlan, plan: Plan) -> StreamPlan:
    """Returns a checkpoint's plan with the techniques, classes and functions of an equal plan."""
    lanes = zip(running.lanes, plan.periodic_trees, strict=True)
    records = zip(running.records, plan.data_trees, strict=True)
    return replace(
        running,
        plan=plan,
        lanes=tuple(replace(lane, tree=tree) for lane, tree in lanes),
        records=tuple(replace(lane, tree=tree) for lane, tree in records),
    )


def record_homes(
    running: StreamPlan,
    plan: Plan,
    needs: Sequence[RecordNeeds],
    stays: set[str],
    others: Collection[str] = (),
) -> list[RunningRecords | None]:
    """Returns the lane that each tree continues; `stays` are the queries that have not changed,
    `others` the expressions that have another type than before."""
    return [
        _home(tree, need, running.records, stays, others)
        for tree, need in zip(plan.data_trees, needs, strict=True)
    ]


def changed_records(
    running: StreamPlan,
    plan: Plan,
    needs: Sequence[RecordNeeds],
    homes: Sequence[RunningRecords | None],
    *,
    stays: set[str],
    unseen: int | None,
    number: int,
) -> tuple[tuple[RunningRecords, ...], dict[str, int | None], int]:
    """Returns (the lanes, the begin of each query's first complete window, the next number).

    `stays` are the queries that have not changed.
    """
    lanes: list[RunningRecords] = []
    complete: dict[str, int | None] = {}
    for tree, need, home in zip(plan.data_trees, needs, homes, strict=True):
        there = set() if home is None else stays & set(home.tree.queries)
        if home is None:
            lanes.append(_begins(number, tree, need, unseen))
            number += 1
        else:
            joins = [name for name in tree.queries if name not in there]
            lanes.append(_goes_on(home, tree, need, joins, unseen, running.generation + 1))
        for name, query in plan.queries_of(tree).items():
            complete[name] = (
                running.complete_from[name] if name in there else lanes[-1].complete_from(query)
            )
    return tuple(lanes), complete, number


def _home(
    tree: DataTree,
    need: RecordNeeds,
    lanes: Sequence[RunningRecords],
    stays: set[str],
    others: Collection[str],
) -> RunningRecords | None:
    """Returns the lane that a tree continues: some of its queries run there, on columns of the same
    kinds. What has another type than before is not in it.

    `optimizer.evolve` makes plans in which a tree that has queries which stay has them from one
    tree, and behind them those that join.
    """
    names = set(tree.queries)
    for lane in lanes:
        if not names & stays & set(lane.tree.queries):
            continue
        if is_retyped(tree, others):
            return None
        lane = replace(
            lane,
            columns={sql: column for sql, column in lane.columns.items() if sql not in others},
            held=tuple(entry for entry in lane.held if not entry.reads(others)),
        )
        is_same = lane.tree.grouping == tree.grouping and lane.tree.grain == tree.grain
        return lane if is_same and stores_records(lane, need) else None
    return None


def stores_records(lane: RunningRecords, need: RecordNeeds) -> bool:
    """Whether what a lane has of a tree's records is stored as the tree needs it."""
    kinds = {sql: kind_of(column) for sql, column in lane.columns.items()}
    numbers = {entry.component: entry.number for entry in lane.held}
    return (
        [kind_of(column) for column in lane.key_columns] == list(need.keys)
        and all(kinds.get(sql, kind) == kind for sql, kind in need.columns.items())
        and all(numbers.get(part, number) == number for part, number in need.numbers.items())
    )


def _goes_on(
    lane: RunningRecords,
    tree: DataTree,
    need: RecordNeeds,
    joins: Sequence[str],
    unseen: int | None,
    generation: int,
) -> RunningRecords:
    """Returns a lane with the queries that are left, and with those that join it.

    Columns that stay keep their order: records of one time are in the order of their columns, and
    what joins does not change it for what was there.
    """
    stays = {sql: column for sql, column in lane.columns.items() if sql in need.columns}
    held = [entry for entry in lane.held if entry.component in need.numbers]
    known = {entry.component for entry in held}
    joined = {name: since for name, since in lane.joined.items() if name in tree.queries}
    since = _first_instant(tree, unseen)
    # Before the first batch was finished, all is still to be seen.
    joined |= {} if since is None else dict.fromkeys(joins, since)
    return RunningRecords(
        number=lane.number,
        tree=tree,
        key_columns=lane.key_columns,
        columns={**stays, **_more_columns(lane, need)},
        held=(
            *held,
            # No lane uses a name again: records that wait have the columns of those before.
            *(
                Held(component=part, number=need.numbers[part], name=name, since=None)
                for index, part in enumerate(need.numbers)
                if part not in known and (name := f"g{generation}c{index}")
            ),
        ),
        since=lane.since,
        joined=joined,
    )


def _more_columns(lane: RunningRecords, need: RecordNeeds) -> dict[str, str]:
    """Returns columns for what records carry from now on, under names that the lane does not use.

    Records that wait may have values of something else there, but no query that joins sees them.
    """
    used = {*lane.key_columns, *lane.columns.values()}
    more: dict[str, str] = {}
    for sql, kind in need.columns.items():
        if sql not in lane.columns:
            names = (f"{kind}{index}" for index in range(len(used) + 1))
            more[sql] = next(name for name in names if name not in used)
            used.add(more[sql])
    return more


def _begins(number: int, tree: DataTree, need: RecordNeeds, unseen: int | None) -> RunningRecords:
    """Returns a new lane, which starts at an instant that no event has reached yet."""
    columns = key_columns([*need.keys, *need.columns.values()])
    return RunningRecords(
        number=number,
        tree=tree,
        key_columns=columns[: len(need.keys)],
        columns=dict(zip(need.columns, columns[len(need.keys) :], strict=True)),
        held=tuple(
            Held(component=component, number=number_class, name=f"c{index}", since=None)
            for index, (component, number_class) in enumerate(need.numbers.items())
        ),
        since=_first_instant(tree, unseen),
    )


def _first_instant(tree: DataTree, unseen: int | None) -> int | None:
    """Returns the first instant from which on a query that is new sees all records."""
    return unseen if unseen is None or tree.grains is None else tree.grains.edge_from(unseen)
