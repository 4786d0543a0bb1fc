"""A plan that runs on a stream: what is kept in which column, since when, and who may answer.

It is data: the checkpoint has it as JSON. A change of queries makes a new one from the old.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from muntin.errors import RunError
from muntin.model.aggregate import Component
from muntin.model.plan import Plan, Slicing, Tree
from muntin.model.plan_json import (
    plan_from_json,
    plan_to_json,
    query_to_json,
    slicing_from_json,
    slicing_to_json,
    tree_from_json,
    tree_to_json,
)
from muntin.model.query import Query
from muntin.model.time import format_duration
from muntin.runtime.bucket import Lane
from muntin.runtime.layout import Layout, kept
from muntin.runtime.room import Room, kind_of, room_for, value_kind

VERSION = 1
# The column with the start of a slice.
START = "start"


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What a tree must find room for: the kinds of its keys, and the number of each component."""

    keys: tuple[str, ...]
    numbers: Mapping[Component, str]

    @property
    def values(self) -> list[str]:
        """The kinds of the columns that its components take."""
        return [value_kind(component, number) for component, number in self.numbers.items()]


@dataclass(frozen=True, kw_only=True)
class Held:
    """A component in its column. Slices that start from `since` on hold all of it."""

    component: Component
    number: str
    slot: str
    since: int | None


@dataclass(frozen=True, kw_only=True)
class Epoch:
    """How a lane was cut before: slices that start before `until` may have these edges."""

    slicing: Slicing
    until: int


@dataclass(frozen=True, kw_only=True)
class RunningLane:
    """A tree of the running plan, with what is known of the slices that are retained for it."""

    number: int
    tree: Tree
    key_slots: tuple[str, ...]
    held: tuple[Held, ...]
    # Slices that start before this may have been dropped, or never cut.
    kept_from: int | None = None
    epochs: tuple[Epoch, ...] = ()

    def at_run_time(self, *, checked: bool, retain: int) -> Lane:
        """What the operator runs."""
        layout = Layout(
            key_columns=self.key_slots,
            start=START,
            kept=tuple(
                kept(one.component, number=one.number, name=one.slot, checked=checked)
                for one in self.held
            ),
        )
        return Lane(number=self.number, tree=self.tree, layout=layout, retain=retain)

    def complete_from(self, query: Query, watermark: int | None) -> int | None:
        """The begin of a new query's first window that is whole and not yet behind the watermark.

        None where no event was ever seen without it.
        """
        wanted = {part for one in query.aggregates.values() for part in one.components}
        limits = [self.kept_from, *(one.since for one in self.held if one.component in wanted)]
        limits += [one.until for one in self.epochs if not one.slicing.cuts(query.window)]
        if watermark is not None:
            # Windows that end up to the watermark are history.
            limits.append(watermark - query.window.size + 1)
        found = [limit for limit in limits if limit is not None]
        return query.window.first_after(max(found) - 1) if found else None


@dataclass(frozen=True, kw_only=True)
class Running:
    """All that a checkpoint knows of the plan that runs on it."""

    plan: Plan
    lanes: tuple[RunningLane, ...]
    room: Room
    buckets: int
    # The delay of the watermark, and how long slices are kept for queries to come; microseconds.
    delay: int
    retain: int
    # Whether integer sums notice overflow, as under ANSI.
    checked: bool
    complete_from: Mapping[str, int | None]
    next_lane: int
    # How often the queries have changed.
    generation: int = 0

    def to_json(self) -> dict[str, Any]:
        """The running plan as what `json.dumps` takes."""
        return {
            "version": VERSION,
            "generation": self.generation,
            "plan": plan_to_json(self.plan),
            "lanes": [
                {
                    "number": lane.number,
                    "tree": tree_to_json(lane.tree),
                    "key_slots": list(lane.key_slots),
                    "held": [asdict(one) for one in lane.held],
                    "kept_from": lane.kept_from,
                    "epochs": [
                        {"slicing": slicing_to_json(one.slicing), "until": one.until}
                        for one in lane.epochs
                    ],
                }
                for lane in self.lanes
            ],
            "room": {"keys": dict(self.room.keys), "values": dict(self.room.values)},
            "buckets": self.buckets,
            "delay": self.delay,
            "retain": self.retain,
            "checked": self.checked,
            "complete_from": dict(self.complete_from),
            "next_lane": self.next_lane,
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "Running":
        """The running plan that `to_json` wrote, or an error that names the version."""
        if data.get("version") != VERSION:
            raise RunError(
                f"the checkpoint was written in version {data.get('version')!r}, and this muntin "
                f"reads version {VERSION}; start with a new checkpoint, or with the muntin that "
                f"wrote it"
            )
        return Running(
            plan=plan_from_json(data["plan"]),
            lanes=tuple(_lane_from_json(one) for one in data["lanes"]),
            room=Room(**data["room"]),
            buckets=data["buckets"],
            delay=data["delay"],
            retain=data["retain"],
            checked=data["checked"],
            complete_from=data["complete_from"],
            next_lane=data["next_lane"],
            generation=data["generation"],
        )


def first_start(
    plan: Plan,
    needs: Sequence[Needs],
    *,
    buckets: int,
    delay: int,
    retain: int,
    checked: bool,
    spare: int,
) -> Running:
    """A plan on a new checkpoint, which decides how much room there is."""
    room = room_for([(one.keys, one.values) for one in needs], spare=spare)
    nothing = Running(
        plan=replace(plan, trees=(), queries=()),
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
    return changed(nothing, plan, needs, watermark=None)


def changed(
    running: Running, plan: Plan, needs: Sequence[Needs], *, watermark: int | None
) -> Running:
    """The plan that goes on where `running` stopped; `needs` are those of its trees, in order.

    `watermark` is what the next batch starts with, in microseconds; none where no batch was ever
    finished. Queries that stay keep answering from where they are. What a new query reads is
    complete from where slices hold all of it, and its first windows are those after that.
    """
    # Watermarks are in whole milliseconds, so an event up to a millisecond later may be in already.
    unseen = None if watermark is None else watermark + running.delay + 1000
    free = list(running.lanes)
    lanes: list[RunningLane] = []
    number = running.next_lane
    for tree, need in zip(plan.trees, needs, strict=True):
        old = _continued(tree, need, free)
        if old is not None:
            free.remove(old)
            lanes.append(_change_lane(old, tree, need, running, watermark, unseen))
        else:
            lanes.append(_new_lane(number, tree, need, running, unseen))
            number += 1
    before = {query.name: query_to_json(query) for query in running.plan.queries}
    complete: dict[str, int | None] = {}
    for lane in lanes:
        for node in lane.tree.nodes:
            for name in node.queries:
                query = plan.query(name)
                assert isinstance(query, Query)
                if before.get(name) == query_to_json(query):
                    complete[name] = running.complete_from[name]
                else:
                    complete[name] = lane.complete_from(query, watermark)
    return replace(
        running,
        plan=plan,
        lanes=tuple(lanes),
        complete_from=complete,
        next_lane=number,
        generation=running.generation + 1,
    )


def _continued(tree: Tree, need: Needs, free: list[RunningLane]) -> RunningLane | None:
    """The lane that a tree goes on in: of the same family, with most of its queries."""
    names = {name for node in tree.nodes for name in node.queries}

    def common(lane: RunningLane) -> int:
        return len(names & {name for node in lane.tree.nodes for name in node.queries})

    alike = [
        lane
        for lane in free
        if lane.tree.family == tree.family
        # The same expression may have another type than before.
        and [kind_of(slot) for slot in lane.key_slots] == list(need.keys)
        and all(need.numbers.get(one.component, one.number) == one.number for one in lane.held)
    ]
    return max(alike, key=common, default=None)


def _change_lane(
    old: RunningLane,
    tree: Tree,
    need: Needs,
    running: Running,
    watermark: int | None,
    unseen: int | None,
) -> RunningLane:
    """A lane that goes on: what stays keeps its column, the rest starts after all old slices."""
    since = None if unseen is None else _edge_from(old.tree.slicing, unseen)
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
            raise _no_room(tree, f"{need.keys.count(kind)} keys of the kind {kind}")
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
            raise _no_room(tree, f"{need.values.count(kind)} columns of the kind {kind}")
        found[component] = Held(component=component, number=number, slot=slot, since=since)
    return tuple(found.values())


def _no_room(tree: Tree, what: str) -> RunError:
    names = ", ".join(repr(name) for node in tree.nodes for name in node.queries)
    return RunError(
        f"the queries {names} need {what}, and the checkpoint was started with room for fewer; "
        f"start them on a new checkpoint, with spare= for the queries that may come later"
    )


def _edge_from(slicing: Slicing, instant: int) -> int:
    """The first instant from `instant` on that all slices before it end at: the next edge."""
    return min(instant + (one.phase - instant) % one.period for one in slicing.edges)


def _lane_from_json(data: Mapping[str, Any]) -> RunningLane:
    return RunningLane(
        number=data["number"],
        tree=tree_from_json(data["tree"]),
        key_slots=tuple(data["key_slots"]),
        held=tuple(
            Held(**{**one, "component": Component(**one["component"])}) for one in data["held"]
        ),
        kept_from=data["kept_from"],
        epochs=tuple(
            Epoch(slicing=slicing_from_json(one["slicing"]), until=one["until"])
            for one in data["epochs"]
        ),
    )


def check_same(running: Running, *, delay: int, checked: bool, buckets: int | None) -> None:
    """Refuse to go on with what a checkpoint cannot change."""
    if delay != running.delay:
        raise RunError(
            f"the checkpoint was started with a watermark of {format_duration(running.delay)}, not "
            f"{format_duration(delay)}; start with that one, or with a new checkpoint"
        )
    if checked != running.checked:
        raise RunError(
            f"the checkpoint was started with spark.sql.ansi.enabled = "
            f"{str(running.checked).lower()}; set it so, or start with a new checkpoint"
        )
    if buckets is not None and buckets != running.buckets:
        raise RunError(
            f"the checkpoint was started with {running.buckets} buckets, not {buckets}; "
            f"leave buckets out, or start with a new checkpoint"
        )
