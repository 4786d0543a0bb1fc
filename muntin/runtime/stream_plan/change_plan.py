"""Changes a running plan: which lane each tree continues, from when new answers are complete."""

from collections.abc import Sequence
from dataclasses import replace

from muntin.model.plan import Plan, Tree
from muntin.model.plan_json import definition
from muntin.model.slicing import Edges, Slicing
from muntin.runtime.state.lane import Lane
from muntin.runtime.state.levels import finest_from
from muntin.runtime.state.record_lane import RecordNeeds
from muntin.runtime.stream_plan.change_records import changed_records, record_homes
from muntin.runtime.stream_plan.component_columns import Held
from muntin.runtime.stream_plan.stream_plan import (
    Epoch,
    Needs,
    RunningLane,
    StreamPlan,
    key_columns,
    kind_of,
)


def first_start(
    plan: Plan,
    needs: Sequence[Needs],
    records: Sequence[RecordNeeds] = (),
    *,
    buckets: tuple[int, ...],
    delay: int,
    retain: int,
    ansi: bool,
) -> StreamPlan:
    """Returns the running plan of a new checkpoint."""
    nothing = StreamPlan(
        plan=replace(plan, trees=(), queries=(), record_trees=()),
        lanes=(),
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
    lanes: list[RunningLane] = []
    number = running.next_lane
    for tree, need, home in zip(plan.trees, needs, homes, strict=True):
        if home is not None:
            lanes.append(_change_lane(home, tree, need, running, given, unseen))
        else:
            lanes.append(_new_lane(number, tree, need, unseen))
            number += 1
    complete: dict[str, int | None] = {}
    for lane, home in zip(lanes, homes, strict=True):
        there = () if home is None else home.tree.queries
        for name, part in plan.queries_of(lane.tree).items():
            query = part.asked
            if name in there and query.name in same:
                begin = running.complete_from[query.name]
            else:
                begin = lane.complete_from(part, given)
            # A query is complete from where all its grouping sets are.
            known = [each for each in (complete.get(query.name), begin) if each is not None]
            complete[query.name] = max(known, default=None)
    record_lanes, more, number = changed_records(
        running,
        plan,
        records,
        homes_of_records,
        unseen=unseen,
        number=number,
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
        and [kind_of(column) for column in lane.key_columns] == list(need.keys)
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
) -> RunningLane:
    """Returns a lane with its next tree: components that stay keep their columns, others start."""
    since = None if unseen is None else old.tree.slicing.edge_from(unseen)
    stays = [entry for entry in old.held if entry.component in need.numbers]
    held = _held(stays, need, since, old.columns)
    kept_from, epochs = old.kept_from, list(old.epochs)
    if given is not None and since is not None:
        lane = old.at_run_time(ansi=running.ansi, retain=running.retain)
        reached = given - lane.span
        kept_from = reached if kept_from is None else max(kept_from, reached)
        epochs += _merged_away(lane, given)
        if old.tree.slicing.edges != tree.slicing.edges:
            epochs.append(Epoch(slicing=old.tree.slicing, until=since))
        # Of epochs with the same edges, the latest tells all.
        latest = {epoch.slicing.edges: epoch for epoch in sorted(epochs, key=lambda e: e.until)}
        epochs = [epoch for epoch in latest.values() if epoch.until > kept_from]
    return RunningLane(
        number=old.number,
        tree=tree,
        key_columns=old.key_columns,
        held=held,
        columns=old.columns + len(held) - len(stays),
        kept_from=kept_from,
        epochs=tuple(epochs),
    )


def _merged_away(lane: Lane, given: int) -> list[Epoch]:
    """Returns, for the past that only coarser levels have, where these are cut."""
    finest = finest_from(lane.levels, given)
    return [
        Epoch(
            slicing=Slicing(edges=(Edges(period=level.width, phase=level.begin_of(0)),), rate=0.0),
            until=until,
        )
        for level, until in zip(lane.levels[1:], finest, strict=False)
    ]


def _new_lane(number: int, tree: Tree, need: Needs, unseen: int | None) -> RunningLane:
    held = _held([], need, unseen, 0)
    return RunningLane(
        number=number,
        tree=tree,
        key_columns=key_columns(need.keys),
        held=held,
        columns=len(held),
        kept_from=unseen,
    )


def _held(stays: list[Held], need: Needs, since: int | None, columns: int) -> tuple[Held, ...]:
    """Returns columns for all components: those that stay keep theirs, others begin."""
    there = {entry.component for entry in stays}
    begins = [component for component in need.numbers if component not in there]
    return (
        *stays,
        *(
            Held(
                component=component,
                number=need.numbers[component],
                name=f"c{columns + index}",
                since=since,
            )
            for index, component in enumerate(begins)
        ),
    )
