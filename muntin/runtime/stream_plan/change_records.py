"""Changes the lanes of data windows from one running plan to the next."""

from collections.abc import Sequence
from dataclasses import replace

from muntin.model.plan import Plan
from muntin.model.record_tree import RecordTree
from muntin.runtime.state.record_lane import RecordNeeds, RunningRecords, grains
from muntin.runtime.stream_plan.component_columns import Held
from muntin.runtime.stream_plan.stream_plan import StreamPlan, key_columns, kind_of


def resumed(running: StreamPlan, plan: Plan) -> StreamPlan:
    """Returns a checkpoint's plan with the techniques, classes and functions of an equal plan."""
    lanes = zip(running.lanes, plan.trees, strict=True)
    records = zip(running.records, plan.record_trees, strict=True)
    return replace(
        running,
        plan=plan,
        lanes=tuple(replace(lane, tree=tree) for lane, tree in lanes),
        records=tuple(replace(lane, tree=tree) for lane, tree in records),
    )


def record_homes(
    running: StreamPlan, plan: Plan, needs: Sequence[RecordNeeds], stays: set[str]
) -> list[RunningRecords | None]:
    """Returns the lane that each tree continues; `stays` are the queries that have not changed."""
    return [
        _home(tree, need, running.records, stays)
        for tree, need in zip(plan.record_trees, needs, strict=True)
    ]


def changed_records(
    running: StreamPlan,
    plan: Plan,
    needs: Sequence[RecordNeeds],
    homes: Sequence[RunningRecords | None],
    *,
    unseen: int | None,
    number: int,
) -> tuple[tuple[RunningRecords, ...], dict[str, int | None], int]:
    """Returns (the lanes, the begin of each query's first complete window, the next number)."""
    lanes: list[RunningRecords] = []
    complete: dict[str, int | None] = {}
    for tree, need, home in zip(plan.record_trees, needs, homes, strict=True):
        if home is None:
            lanes.append(_begins(number, tree, need, unseen))
            number += 1
        else:
            lanes.append(_goes_on(home, tree, need))
        for name, query in plan.queries_of(tree).items():
            known = running.complete_from.get(name)
            complete[name] = lanes[-1].complete_from(query) if home is None else known
    return tuple(lanes), complete, number


def _home(
    tree: RecordTree,
    need: RecordNeeds,
    lanes: Sequence[RunningRecords],
    stays: set[str],
) -> RunningRecords | None:
    """Returns the lane that a tree continues: all its queries run there, on columns of the same
    kinds.

    `share.evolve` makes plans in which queries that stay share no tree with new ones.
    """
    names = set(tree.queries)
    for lane in lanes:
        if not names <= stays & set(lane.tree.queries):
            continue
        kinds = {sql: kind_of(column) for sql, column in lane.columns.items()}
        same = (
            lane.tree.grouping == tree.grouping
            and lane.tree.grain == tree.grain
            and [kind_of(column) for column in lane.key_columns] == list(need.keys)
            and need.columns.items() <= kinds.items()
            and need.numbers.items()
            <= {entry.component: entry.number for entry in lane.held}.items()
        )
        return lane if same else None
    return None


def _goes_on(lane: RunningRecords, tree: RecordTree, need: RecordNeeds) -> RunningRecords:
    """Returns a lane with the queries that are left."""
    return RunningRecords(
        number=lane.number,
        tree=tree,
        key_columns=lane.key_columns,
        columns={sql: lane.columns[sql] for sql in need.columns},
        held=tuple(entry for entry in lane.held if entry.component in need.numbers),
        since=lane.since,
    )


def _begins(number: int, tree: RecordTree, need: RecordNeeds, unseen: int | None) -> RunningRecords:
    """Returns a new lane, which starts at an instant that no event has reached yet."""
    columns = key_columns([*need.keys, *need.columns.values()])
    grained = grains(tree)
    return RunningRecords(
        number=number,
        tree=tree,
        key_columns=columns[: len(need.keys)],
        columns=dict(zip(need.columns, columns[len(need.keys) :], strict=True)),
        held=tuple(
            Held(component=component, number=number_class, name=f"c{index}", since=None)
            for index, (component, number_class) in enumerate(need.numbers.items())
        ),
        since=unseen if unseen is None or grained is None else grained.edge_from(unseen),
    )
