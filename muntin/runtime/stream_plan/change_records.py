"""Changes the lanes of data windows from one running plan to the next."""

from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import replace

from muntin.errors import RunError
from muntin.model.plan import Plan
from muntin.model.record_tree import RecordTree
from muntin.runtime.state.record_lane import RecordNeeds, RunningRecords, grains
from muntin.runtime.stream_plan.component_columns import Held
from muntin.runtime.stream_plan.room import columns_of, kind_of, placed
from muntin.runtime.stream_plan.stream_plan import StreamPlan

# Makes the error of a tree for which there are too few columns.
NoRoom = Callable[[Sequence[str], str], RunError]


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
    functions: MutableMapping[str, str],
    no_room: NoRoom,
) -> tuple[tuple[RunningRecords, ...], dict[str, int | None], int]:
    """Returns (the lanes, the begin of each query's first complete window, the next number)."""
    lanes: list[RunningRecords] = []
    complete: dict[str, int | None] = {}
    for tree, need, home in zip(plan.record_trees, needs, homes, strict=True):
        if home is None:
            lanes.append(_begins(number, tree, need, running, unseen, functions, no_room))
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
        kinds = {sql: kind_of(slot) for sql, slot in lane.columns.items()}
        same = (
            lane.tree.grouping == tree.grouping
            and lane.tree.grain == tree.grain
            and [kind_of(slot) for slot in lane.key_slots] == list(need.keys)
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
        key_slots=lane.key_slots,
        columns={sql: lane.columns[sql] for sql in need.columns},
        held=tuple(entry for entry in lane.held if entry.component in need.numbers),
        since=lane.since,
    )


def _begins(
    number: int,
    tree: RecordTree,
    need: RecordNeeds,
    running: StreamPlan,
    unseen: int | None,
    functions: MutableMapping[str, str],
    no_room: NoRoom,
) -> RunningRecords:
    """Returns a new lane, which starts at an instant that no event has reached yet."""
    slots: list[str] = []
    for kind in need.groups:
        slot = running.room.find_key(kind, slots)
        if slot is None:
            what = f"{need.groups.count(kind)} columns of records and keys of the kind {kind}"
            raise no_room(tree.queries, what)
        slots.append(slot)
    taken: list[str] = []
    held: list[Held] = []
    wanted = need.uses(ansi=running.ansi)
    for component, uses in wanted.items():
        places = placed(uses, running.room, taken, functions)
        if places is None:
            raise no_room(tree.queries, columns_of(wanted.values()))
        number_class = need.numbers[component]
        held.append(Held(component=component, number=number_class, slots=places, since=None))
    grained = grains(tree)
    since = unseen if unseen is None or grained is None else grained.edge_from(unseen)
    return RunningRecords(
        number=number,
        tree=tree,
        key_slots=tuple(slots[: len(need.keys)]),
        columns=dict(zip(need.columns, slots[len(need.keys) :], strict=True)),
        held=tuple(held),
        since=since,
    )
