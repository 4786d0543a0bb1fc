"""Changes a running plan: which lane each tree continues, from when new answers are complete."""

from collections.abc import MutableMapping, Sequence
from dataclasses import replace

from muntin.errors import RunError
from muntin.model.plan import Plan, Tree
from muntin.model.plan_json import definition
from muntin.runtime.state.record_lane import RecordNeeds
from muntin.runtime.stream_plan.change_records import changed_records, record_homes
from muntin.runtime.stream_plan.component_columns import Held, functions_of
from muntin.runtime.stream_plan.room import columns_of, kind_of, placed, room_for
from muntin.runtime.stream_plan.stream_plan import Epoch, Needs, RunningLane, StreamPlan


def first_start(
    plan: Plan,
    needs: Sequence[Needs],
    records: Sequence[RecordNeeds] = (),
    *,
    buckets: tuple[int, ...],
    delay: int,
    retain: int,
    ansi: bool,
    spare: int,
) -> StreamPlan:
    """Returns the running plan of a new checkpoint, and decide how many columns it has."""
    wanted = [(list(need.keys), need.uses(ansi=ansi).values()) for need in needs]
    wanted += [(need.groups, need.uses(ansi=ansi).values()) for need in records]
    room = room_for(wanted, spare=spare)
    if any(need.columns for need in records):
        # Later records may have more columns, mostly numbers and conditions.
        more = {kind: room.keys[kind] + spare for kind in ("long", "double")}
        room = replace(room, keys={**room.keys, **more})
    nothing = StreamPlan(
        plan=replace(plan, trees=(), queries=(), record_trees=()),
        lanes=(),
        room=room,
        buckets=buckets,
        delay=delay,
        retain=retain,
        ansi=ansi,
        complete_from={},
        next_lane=0,
        generation=-1,
    )
    return changed(nothing, plan, needs, records, watermark=None, given=None)


def changed(
    running: StreamPlan,
    plan: Plan,
    needs: Sequence[Needs],
    records: Sequence[RecordNeeds] = (),
    *,
    watermark: int | None,
    given: int | None,
) -> StreamPlan:
    """Returns the plan that continues where `running` stopped; `needs` are those of its trees, in
    order, and `records` those of its data windows.

    `watermark` is that of the next batch, and `given` that of the last one, up to which answers
    were given; in microseconds, None if no batch was ever finished. A query that stays in its lane
    continues from where it is (`share.evolve` makes plans in which all do). Any other starts with
    the first windows for which slices hold all that it reads.
    """
    # Watermarks are in whole milliseconds, so an event up to a millisecond later may be in already.
    unseen = None if watermark is None else watermark + running.delay + 1000
    homes = _homes(plan.trees, needs, running.lanes)
    before = {query.name: definition(query) for query in running.plan.queries}
    same = {q.name for q in plan.queries if before.get(q.name) == definition(q)}
    homes_of_records = record_homes(running, plan, records, same)
    # The function of each column, first of those that stay.
    staying = [
        entry
        for need, home in zip(needs, homes, strict=True)
        if home is not None
        for entry in _stays(home, need)
    ]
    staying += [entry for home in homes_of_records if home is not None for entry in home.held]
    functions = functions_of(staying, ansi=running.ansi)
    lanes: list[RunningLane] = []
    number = running.next_lane
    for tree, need, home in zip(plan.trees, needs, homes, strict=True):
        if home is not None:
            lanes.append(_change_lane(home, tree, need, running, given, unseen, functions))
        else:
            lanes.append(_new_lane(number, tree, need, running, unseen, functions))
            number += 1
    complete: dict[str, int | None] = {}
    for lane, home in zip(lanes, homes, strict=True):
        there = () if home is None else home.tree.queries
        for name, query in plan.queries_of(lane.tree).items():
            if name in there and before[name] == definition(query):
                complete[name] = running.complete_from[name]
            else:
                complete[name] = lane.complete_from(query, given)
    record_lanes, more, number = changed_records(
        running,
        plan,
        records,
        homes_of_records,
        unseen=unseen,
        number=number,
        functions=functions,
        no_room=_no_room,
    )
    return replace(
        running,
        plan=plan,
        lanes=tuple(lanes),
        records=record_lanes,
        complete_from={**complete, **more},
        next_lane=number,
        generation=running.generation + 1,
    )


def _homes(
    trees: Sequence[Tree], needs: Sequence[Needs], lanes: Sequence[RunningLane]
) -> list[RunningLane | None]:
    """Returns the lane that each tree continues: the one with most of its queries.

    A tree of new queries takes a lane whose own queries have all left, for its slices.
    """
    wanted = [
        (len({*tree.queries} & {*lane.tree.queries}), index, lane)
        for index, (tree, need) in enumerate(zip(trees, needs, strict=True))
        for lane in lanes
        if _fits(lane, tree, need)
    ]
    homes: list[RunningLane | None] = [None] * len(trees)
    taken: set[int] = set()
    for _, index, lane in sorted(
        wanted, key=lambda choice: (-choice[0], choice[1], choice[2].number)
    ):
        if homes[index] is None and lane.number not in taken:
            homes[index] = lane
            taken.add(lane.number)
    return homes


def _fits(lane: RunningLane, tree: Tree, need: Needs) -> bool:
    """Whether a tree can continue a lane: the same grouping, and types that have not changed."""
    return (
        lane.tree.grouping == tree.grouping
        and [kind_of(slot) for slot in lane.key_slots] == list(need.keys)
        and all(
            need.numbers.get(entry.component, entry.number) == entry.number for entry in lane.held
        )
    )


def _change_lane(
    old: RunningLane,
    tree: Tree,
    need: Needs,
    running: StreamPlan,
    given: int | None,
    unseen: int | None,
    functions: MutableMapping[str, str],
) -> RunningLane:
    """Returns a lane with its next tree: components that stay keep their columns, others start."""
    since = None if unseen is None else old.tree.slicing.edge_from(unseen)
    held = _hold(_stays(old, need), need, running, since, tree, functions)
    kept_from, epochs = old.kept_from, list(old.epochs)
    if given is not None and since is not None:
        span = old.at_run_time(ansi=running.ansi, retain=running.retain).span
        reached = given - span
        kept_from = reached if kept_from is None else max(kept_from, reached)
        if old.tree.slicing.edges != tree.slicing.edges:
            epochs.append(Epoch(slicing=old.tree.slicing, until=since))
        epochs = [epoch for epoch in epochs if epoch.until > kept_from]
    return RunningLane(
        number=old.number,
        tree=tree,
        key_slots=old.key_slots,
        held=held,
        kept_from=kept_from,
        epochs=tuple(epochs),
    )


def _stays(lane: RunningLane, need: Needs) -> list[Held]:
    """Returns the components of a lane that are still needed."""
    return [entry for entry in lane.held if entry.component in need.numbers]


def _new_lane(
    number: int,
    tree: Tree,
    need: Needs,
    running: StreamPlan,
    unseen: int | None,
    functions: MutableMapping[str, str],
) -> RunningLane:
    slots: list[str] = []
    for kind in need.keys:
        slot = running.room.find_key(kind, slots)
        if slot is None:
            raise _no_room(tree.queries, f"{need.keys.count(kind)} keys of the kind {kind}")
        slots.append(slot)
    held = _hold([], need, running, unseen, tree, functions)
    return RunningLane(
        number=number, tree=tree, key_slots=tuple(slots), held=held, kept_from=unseen
    )


def _hold(
    stays: list[Held],
    need: Needs,
    running: StreamPlan,
    since: int | None,
    tree: Tree,
    functions: MutableMapping[str, str],
) -> tuple[Held, ...]:
    """Returns columns for all components; those that stay keep theirs."""
    entries = {entry.component: entry for entry in stays}
    taken = [slot for entry in stays for slot in entry.slots]
    wanted = need.uses(ansi=running.ansi)
    for component, uses in wanted.items():
        if component in entries:
            continue
        slots = placed(uses, running.room, taken, functions)
        if slots is None:
            raise _no_room(tree.queries, columns_of(wanted.values()))
        entries[component] = Held(
            component=component, number=need.numbers[component], slots=slots, since=since
        )
    return tuple(entries.values())


def _no_room(queries: Sequence[str], what: str) -> RunError:
    names = ", ".join(map(repr, sorted(queries)))
    return RunError(
        f"the queries {names} need {what}, and the checkpoint was started with room for fewer; "
        f"start all queries on a new checkpoint and a new sink, with a larger spare= if more may "
        f"come later"
    )
