"""Changes a running plan: which lane each tree continues, from when new answers are complete."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from muntin.model.plan import Plan
from muntin.model.plan_json import definition
from muntin.model.slicing import Edges, Slicing
from muntin.model.trees import PeriodicTree
from muntin.runtime.state.lane import Lane
from muntin.runtime.state.levels import finest_from
from muntin.runtime.state.record_lane import RecordNeeds
from muntin.runtime.stream_plan.change_records import changed_records, record_homes, stores_records
from muntin.runtime.stream_plan.component_columns import Held
from muntin.runtime.stream_plan.stream_plan import (
    Epoch,
    Leaving,
    Needs,
    RunningLane,
    StreamPlan,
    key_columns,
    kind_of,
)
from muntin.runtime.stream_plan.value_types import (
    ValueTypes,
    is_retyped,
    retyped,
    unchanged_queries,
)

# Microseconds long before the first year that a timestamp can be in.
_NEVER = -(1 << 62)


def first_start(
    plan: Plan,
    needs: Sequence[Needs],
    records: Sequence[RecordNeeds] = (),
    *,
    buckets: tuple[int, ...],
    delay: int,
    retain: int,
    ansi: bool,
    types: ValueTypes | None = None,
) -> StreamPlan:
    """Returns the running plan of a new checkpoint."""
    nothing = StreamPlan(
        plan=replace(plan, trees=(), queries=()),
        lanes=(),
        buckets=buckets,
        delay=delay,
        retain=retain,
        ansi=ansi,
        complete_from={},
        next_lane=0,
        generation=-1,
    )
    return changed(nothing, plan, needs, records, watermark=None, given=None, types=types)


def changed(
    running: StreamPlan,
    plan: Plan,
    needs: Sequence[Needs],
    records: Sequence[RecordNeeds] = (),
    *,
    watermark: int | None,
    given: int | None,
    moved: Mapping[str, str] | None = None,
    types: ValueTypes | None = None,
) -> StreamPlan:
    """Returns the plan that continues where `running` stopped; `needs` are those of its trees, in
    order, and `records` those of its data windows.

    `watermark` is that of the next batch, and `given` that of the last one, up to which answers
    were given; in microseconds, None if no batch was ever finished. A query that stays in its lane
    continues from where it is. Any other starts with the first windows for which slices hold all
    that it reads. `moved` has the queries that run already and move to other lanes, by the names
    under which the plan has them in their old lanes, too. `types` are those of what the queries
    read: a query that reads something of another type than before starts anew.
    """
    moved, types = moved or {}, types or {}
    others = retyped(running.types, types)
    # Watermarks are in whole milliseconds, so an event up to a millisecond later may be in already.
    unseen = None if watermark is None else watermark + running.delay + 1000
    goes_on = _Names(moved)
    homes = _homes(plan.periodic_trees, needs, running.lanes, goes_on, others)
    before = {q.name: definition(q) for q in unchanged_queries(running.plan, others)}
    same = {q.name for q in plan.queries if before.get(q.name) == definition(q)}
    homes_of_records = record_homes(running, plan, records, same, others)
    lanes: list[RunningLane] = []
    number = running.next_lane
    for tree, need, home in zip(plan.periodic_trees, needs, homes, strict=True):
        if home is not None:
            lanes.append(_change_lane(home, tree, need, running, given, unseen, others))
        else:
            lanes.append(_new_lane(number, tree, need, unseen))
            number += 1
    starts: dict[str, int | None] = {}
    for lane, home in zip(lanes, homes, strict=True):
        there = () if home is None else home.tree.queries
        for name, part in plan.queries_of(lane.tree).items():
            is_same = name in moved or part.asked.name in same
            if not (goes_on(name) in there and is_same):
                starts[name] = lane.complete_from(part, given)
    moved_at, leaving = _moved(running, plan, moved, starts)
    complete: dict[str, int | None] = {}
    for tree in plan.periodic_trees:
        for name, part in plan.queries_of(tree).items():
            query = part.asked.name
            if query not in leaving:
                is_new = name in starts and name not in moved_at
                begin = starts[name] if is_new else running.complete_from[query]
                # A query is complete from where all its grouping sets are.
                known = [each for each in (complete.get(query), begin) if each is not None]
                complete[query] = max(known, default=None)
    record_lanes, more, number = changed_records(
        running,
        plan,
        records,
        homes_of_records,
        stays=same,
        unseen=unseen,
        number=number,
    )
    return replace(
        running,
        plan=plan,
        lanes=tuple(lanes),
        records=record_lanes,
        complete_from={**complete, **more},
        moved_at=moved_at,
        leaving=leaving,
        next_lane=number,
        generation=running.generation + 1,
        types=types,
        dropped={
            name: dropped
            for name, dropped in running.dropped.items()
            if name not in {query.name for query in plan.queries}
        },
    )


def stores_alike(
    running: StreamPlan, needs: Sequence[Needs], records: Sequence[RecordNeeds]
) -> bool:
    """Whether the state of a running plan has all that its trees need as they need it."""
    lanes = zip(running.lanes, needs, strict=True)
    record_lanes = zip(running.records, records, strict=True)
    return all(_fits(lane, lane.tree, need) for lane, need in lanes) and all(
        stores_records(lane, need) for lane, need in record_lanes
    )


class _Names:
    """The name under which a query of the new plan ran in its lane; None if it comes anew."""

    def __init__(self, moved: Mapping[str, str]) -> None:
        self._moved = moved
        self._movers = set(moved.values())

    def __call__(self, name: str) -> str | None:
        return None if name in self._movers else self._moved.get(name, name)


def _moved(
    running: StreamPlan, plan: Plan, moved: Mapping[str, str], starts: Mapping[str, int | None]
) -> tuple[dict[str, int], dict[str, Leaving]]:
    """Returns where the queries that have moved begin, and what they left behind."""
    names = {query.name for query in plan.queries}
    stays = names - set(starts)
    moved_at = {name: at for name, at in running.moved_at.items() if name in stays}
    leaving = {name: kept for name, kept in running.leaving.items() if name in names}
    for alias, name in moved.items():
        first, _ = running.limits(name)
        instants = [instant for instant in (first, starts[name]) if instant is not None]
        # Without an event so far, there is nothing that the old lane could give.
        moved_at[name] = max(instants, default=_NEVER)
        leaving[alias] = Leaving(name=name, first=first, until=moved_at[name])
    # A lane whose types have changed starts anew, and what was open in it is lost.
    lost = {
        alias: replace(leaving[alias], first=starts[alias]) for alias in leaving.keys() & starts
    }
    return moved_at, {**leaving, **lost}


def _homes(
    trees: Sequence[PeriodicTree],
    needs: Sequence[Needs],
    lanes: Sequence[RunningLane],
    goes_on: Callable[[str], str | None],
    others: Collection[str],
) -> list[RunningLane | None]:
    """Returns the lane that each tree continues: the one with most of its queries.

    A tree of new queries takes a lane whose own queries have all left, for its slices.
    """
    wanted = [
        (len({*map(goes_on, tree.queries)} & {*lane.tree.queries}), index, lane)
        for index, (tree, need) in enumerate(zip(trees, needs, strict=True))
        for lane in lanes
        if _fits(lane, tree, need, others)
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


def _fits(lane: RunningLane, tree: PeriodicTree, need: Needs, others: Collection[str] = ()) -> bool:
    """Whether a tree can continue a lane: the same grouping, and keys of the same types.

    Components whose arguments are among `others`, which have other types now, start anew there. An
    earlier muntin did not store types; then a lane fits if all is stored as before.
    """
    return (
        lane.tree.grouping == tree.grouping
        and not is_retyped(tree, others)
        and [kind_of(column) for column in lane.key_columns] == list(need.keys)
        and all(
            need.numbers.get(entry.component, entry.number) == entry.number
            for entry in lane.held
            if not entry.reads(others)
        )
    )


def _change_lane(
    old: RunningLane,
    tree: PeriodicTree,
    need: Needs,
    running: StreamPlan,
    given: int | None,
    unseen: int | None,
    others: Collection[str],
) -> RunningLane:
    """Returns a lane with its next tree: components that stay keep their columns, others start."""
    since = None if unseen is None else old.tree.slicing.edge_from(unseen)
    stays = [
        entry for entry in old.held if entry.component in need.numbers and not entry.reads(others)
    ]
    held = _held(stays, need, since, old.columns)
    kept_from, epochs = old.kept_from, list(old.epochs)
    if given is not None and since is not None:
        lane = old.at_run_time(ansi=running.ansi, retain=running.retain)
        reached = lane.levels[-1].kept_from(given)
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


def _new_lane(number: int, tree: PeriodicTree, need: Needs, unseen: int | None) -> RunningLane:
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
