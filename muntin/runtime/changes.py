"""From one running plan to the next: what goes on where, and from when new answers are whole."""

from collections.abc import Sequence
from dataclasses import replace

from muntin.errors import RunError
from muntin.model.plan import Plan, Tree
from muntin.model.plan_json import definition
from muntin.model.query import Query
from muntin.runtime.held import Held
from muntin.runtime.record_changes import changed_records
from muntin.runtime.record_lane import RecordNeeds
from muntin.runtime.room import Room, kind_of, room_for, value_kind
from muntin.runtime.running import Epoch, Needs, Running, RunningLane


def first_start(
    plan: Plan,
    needs: Sequence[Needs],
    records: Sequence[RecordNeeds] = (),
    *,
    buckets: int,
    delay: int,
    retain: int,
    checked: bool,
    spare: int,
) -> Running:
    """A plan on a new checkpoint, which decides how much room there is."""
    wanted = [(list(one.keys), one.values) for one in needs]
    room = room_for([*wanted, *((one.groups, one.values) for one in records)], spare=spare)
    if any(one.columns for one in records):
        # Other records may carry more, mostly numbers and conditions.
        more = {kind: room.keys[kind] + spare for kind in ("long", "double")}
        room = replace(room, keys={**room.keys, **more})
    nothing = Running(
        plan=replace(plan, trees=(), queries=(), discretized=()),
        lanes=(),
        room=room,
        buckets=buckets,
        delay=delay,
        retain=retain,
        checked=checked,
        complete_from={},
        next_lane=0,
        generation=-1,
    )
    return changed(nothing, plan, needs, records, watermark=None)


def changed(
    running: Running,
    plan: Plan,
    needs: Sequence[Needs],
    records: Sequence[RecordNeeds] = (),
    *,
    watermark: int | None,
) -> Running:
    """The plan that goes on where `running` stopped; `needs` are those of its trees, in order, and
    `records` those of its user-defined windows.

    `watermark` is what the next batch starts with, in microseconds; none where no batch was ever
    finished. A query that stays in its lane keeps answering from where it is (`share.settle` makes
    plans in which all do). What another reads is complete from where slices hold all of it, and its
    first windows are those after that.
    """
    # Watermarks are in whole milliseconds, so an event up to a millisecond later may be in already.
    unseen = None if watermark is None else watermark + running.delay + 1000
    homes = _homes(plan.trees, needs, running.lanes)
    lanes: list[RunningLane] = []
    number = running.next_lane
    for tree, need, home in zip(plan.trees, needs, homes, strict=True):
        if home is not None:
            lanes.append(_change_lane(home, tree, need, running, watermark, unseen))
        else:
            lanes.append(_new_lane(number, tree, need, running, unseen))
            number += 1
    before = {query.name: definition(query) for query in running.plan.queries}
    complete: dict[str, int | None] = {}
    for lane, home in zip(lanes, homes, strict=True):
        there = set() if home is None else names_of(home.tree)
        for name in names_of(lane.tree):
            query = plan.query(name)
            assert isinstance(query, Query)
            if name in there and before[name] == definition(query):
                complete[name] = running.complete_from[name]
            else:
                complete[name] = lane.complete_from(query, watermark)
    same = {q.name for q in plan.queries if before.get(q.name) == definition(q)}
    found, more, number = changed_records(
        running, plan, records, stays=same, unseen=unseen, number=number, no_room=_no_room
    )
    return replace(
        running,
        plan=plan,
        lanes=tuple(lanes),
        records=found,
        complete_from={**complete, **more},
        next_lane=number,
        generation=running.generation + 1,
    )


def names_of(tree: Tree) -> set[str]:
    """The queries that a tree answers."""
    return {name for node in tree.nodes for name in node.queries}


def _homes(
    trees: Sequence[Tree], needs: Sequence[Needs], lanes: Sequence[RunningLane]
) -> list[RunningLane | None]:
    """The lane that each tree goes on in: the one with most of its queries.

    A tree of new queries goes on in a lane whose own queries have all left, for its slices.
    """
    wanted = [
        (len(names_of(tree) & names_of(lane.tree)), index, lane)
        for index, (tree, need) in enumerate(zip(trees, needs, strict=True))
        for lane in lanes
        if _fits(lane, tree, need)
    ]
    homes: list[RunningLane | None] = [None] * len(trees)
    taken: set[int] = set()
    for _, index, lane in sorted(wanted, key=lambda one: (-one[0], one[1], one[2].number)):
        if homes[index] is None and lane.number not in taken:
            homes[index] = lane
            taken.add(lane.number)
    return homes


def _fits(lane: RunningLane, tree: Tree, need: Needs) -> bool:
    """Whether a tree can go on in a lane: one family, and types that are still what they were."""
    return (
        lane.tree.family == tree.family
        and [kind_of(slot) for slot in lane.key_slots] == list(need.keys)
        and all(need.numbers.get(one.component, one.number) == one.number for one in lane.held)
    )


def _change_lane(
    old: RunningLane,
    tree: Tree,
    need: Needs,
    running: Running,
    watermark: int | None,
    unseen: int | None,
) -> RunningLane:
    """A lane that goes on: what stays keeps its column, the rest starts after all old slices."""
    since = None if unseen is None else old.tree.slicing.edge_from(unseen)
    stays = [one for one in old.held if one.component in need.numbers]
    held = _hold(stays, need, running.room, since, tree)
    kept_from, epochs = old.kept_from, list(old.epochs)
    if watermark is not None and since is not None:
        span = old.at_run_time(checked=running.checked, retain=running.retain).span
        reached = watermark - span
        kept_from = reached if kept_from is None else max(kept_from, reached)
        if old.tree.slicing.edges != tree.slicing.edges:
            epochs.append(Epoch(slicing=old.tree.slicing, until=since))
        epochs = [one for one in epochs if one.until > kept_from]
    return RunningLane(
        number=old.number,
        tree=tree,
        key_slots=old.key_slots,
        held=held,
        kept_from=kept_from,
        epochs=tuple(epochs),
    )


def _new_lane(
    number: int, tree: Tree, need: Needs, running: Running, unseen: int | None
) -> RunningLane:
    slots: list[str] = []
    for kind in need.keys:
        slot = running.room.find(kind, slots)
        if slot is None:
            raise _no_room(
                sorted(names_of(tree)), f"{need.keys.count(kind)} keys of the kind {kind}"
            )
        slots.append(slot)
    held = _hold([], need, running.room, unseen, tree)
    return RunningLane(
        number=number, tree=tree, key_slots=tuple(slots), held=held, kept_from=unseen
    )


def _hold(
    stays: list[Held], need: Needs, room: Room, since: int | None, tree: Tree
) -> tuple[Held, ...]:
    """Columns for all components; those that stay keep theirs."""
    found = {one.component: one for one in stays}
    for component, number in need.numbers.items():
        if component in found:
            continue
        kind = value_kind(component, number)
        slot = room.find(kind, [one.slot for one in found.values()])
        if slot is None:
            raise _no_room(
                sorted(names_of(tree)), f"{need.values.count(kind)} columns of the kind {kind}"
            )
        found[component] = Held(component=component, number=number, slot=slot, since=since)
    return tuple(found.values())


def _no_room(queries: Sequence[str], what: str) -> RunError:
    names = ", ".join(map(repr, queries))
    return RunError(
        f"the queries {names} need {what}, and the checkpoint was started with room for fewer; "
        f"start them on a new checkpoint, with spare= for the queries that may come later"
    )
