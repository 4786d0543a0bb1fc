"""Changes a running plan: which tree each one continues, from when new answers are complete."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import count

from muntin.model.plan import Plan
from muntin.model.plan_json import definition
from muntin.model.trees import DataTree, PeriodicTree, Tree
from muntin.runtime.stream_plan.stored_data_tree import StoredDataTree
from muntin.runtime.stream_plan.stored_periodic_tree import StoredPeriodicTree
from muntin.runtime.stream_plan.stored_tree import Change, Needs, StoredTree
from muntin.runtime.stream_plan.stream_plan import LeavingQuery, StreamPlan
from muntin.runtime.stream_plan.value_types import ValueTypes, retyped, unchanged_queries

_STORED: dict[type[Tree], type[StoredTree]] = {
    PeriodicTree: StoredPeriodicTree,
    DataTree: StoredDataTree,
}
# Microseconds long before the first year that a timestamp can be in.
_NEVER = -(1 << 62)


def first_start(
    plan: Plan,
    needs: Sequence[Needs],
    *,
    buckets: tuple[int, ...],
    delay: int,
    retain: int,
    ansi: bool,
    types: ValueTypes | None = None,
    followed_relations: tuple[str, ...] = (),
) -> StreamPlan:
    """Returns the running plan of a new checkpoint."""
    nothing = StreamPlan(
        plan=plan,
        trees=(),
        buckets=buckets,
        delay=delay,
        retain=retain,
        ansi=ansi,
        complete_from={},
        next_number=0,
        generation=-1,
        followed_relations=followed_relations,
    )
    return change_plan(nothing, plan, needs, watermark=None, given=None, types=types)


def resume_plan(running: StreamPlan, plan: Plan) -> StreamPlan:
    """Returns a checkpoint's plan with the techniques, classes and functions of an equal plan."""
    trees = zip(running.trees, plan.trees, strict=True)
    return replace(
        running, plan=plan, trees=tuple(replace(stored, tree=tree) for stored, tree in trees)
    )


def change_plan(
    running: StreamPlan,
    plan: Plan,
    needs: Sequence[Needs],
    *,
    watermark: int | None,
    given: int | None,
    moved: Mapping[str, str] | None = None,
    types: ValueTypes | None = None,
) -> StreamPlan:
    """Returns the plan that continues where `running` stopped; `needs` are those of its trees, in
    order.

    `watermark` is that of the next batch, and `given` that of the last one, up to which answers
    were given; in microseconds, None if no batch was ever finished. A query that stays in its tree
    continues from where it is. Any other starts with the first windows for which the tree has all
    that they read. `moved` has the queries that run already and move to other trees, by the names
    under which the plan has them in their old trees, too. `types` are those of what the queries
    read: a query that reads something of another type than before starts anew.
    """
    moved, types = moved or {}, types or {}
    others = retyped(running.types, types)
    before = {q.name: definition(q) for q in unchanged_queries(running.plan, others)}
    change = Change(
        given=given,
        # Watermarks are in whole milliseconds, so an event up to a millisecond later may be in.
        unseen=None if watermark is None else watermark + running.delay + 1000,
        same={q.name for q in plan.queries if before.get(q.name) == definition(q)},
        retyped=others,
        generation=running.generation + 1,
        retain=running.retain,
    )
    run_as = _RunningNames(moved)
    homes = _homes(plan.trees, needs, running.trees, run_as, change)
    numbers = count(running.next_number)
    trees = [
        home.continue_with(tree, need, change)
        if home is not None
        else _STORED[type(tree)].start(next(numbers), tree, need, change.unseen)
        for tree, need, home in zip(plan.trees, needs, homes, strict=True)
    ]
    starts: dict[str, int | None] = {}
    for stored, home in zip(trees, homes, strict=True):
        there = () if home is None else home.tree.queries
        for name, part in plan.queries_of(stored.tree).items():
            is_same = name in moved or part.whole_query.name in change.same
            if not (run_as(name) in there and is_same):
                starts[name] = stored.complete_from(part, given)
    moved_at, leaving = _move_queries(running, plan, moved, starts)
    return replace(
        running,
        plan=plan,
        trees=tuple(trees),
        complete_from=_complete_from(
            running, plan, {n: at for n, at in starts.items() if n not in moved_at}, leaving
        ),
        moved_at=moved_at,
        leaving=leaving,
        next_number=next(numbers),
        generation=change.generation,
        types=types,
        dropped={
            name: dropped
            for name, dropped in running.dropped.items()
            if name not in {query.name for query in plan.queries}
        },
    )


def _complete_from(
    running: StreamPlan, plan: Plan, starts: Mapping[str, int | None], leaving: Collection[str]
) -> dict[str, int | None]:
    """Returns from when each query is complete; `starts` has the parts of queries that are new."""
    complete: dict[str, int | None] = {}
    for tree in plan.trees:
        for name, part in plan.queries_of(tree).items():
            query = part.whole_query.name
            if query not in leaving:
                first = starts[name] if name in starts else running.complete_from[query]
                # A query is complete from where all its grouping sets are.
                known = [each for each in (complete.get(query), first) if each is not None]
                complete[query] = max(known, default=None)
    return complete


def stores_alike(running: StreamPlan, needs: Sequence[Needs]) -> bool:
    """Whether the state of a running plan has all that its trees need as they need it."""
    trees = zip(running.trees, needs, strict=True)
    return all(stored.fits(stored.tree, need) for stored, need in trees)


class _RunningNames:
    """The name under which a query of the new plan runs in its tree; None if it comes anew."""

    def __init__(self, moved: Mapping[str, str]) -> None:
        self._moved = moved
        self._movers = set(moved.values())

    def __call__(self, name: str) -> str | None:
        return None if name in self._movers else self._moved.get(name, name)


def _move_queries(
    running: StreamPlan, plan: Plan, moved: Mapping[str, str], starts: Mapping[str, int | None]
) -> tuple[dict[str, int], dict[str, LeavingQuery]]:
    """Returns where the queries that have moved begin, and what they left behind."""
    names = {query.name for query in plan.queries}
    stays = names - set(starts)
    moved_at = {name: at for name, at in running.moved_at.items() if name in stays}
    leaving = {name: known for name, known in running.leaving.items() if name in names}
    for alias, name in moved.items():
        first, _ = running.limits(name)
        instants = [instant for instant in (first, starts[name]) if instant is not None]
        # Without an event so far, there is nothing that the old tree could give.
        moved_at[name] = max(instants, default=_NEVER)
        leaving[alias] = LeavingQuery(name=name, first=first, until=moved_at[name])
    # A tree whose types have changed starts anew, and what was open in it is lost.
    lost = {
        alias: replace(leaving[alias], first=starts[alias]) for alias in leaving.keys() & starts
    }
    return moved_at, {**leaving, **lost}


def _homes(
    trees: Sequence[Tree],
    needs: Sequence[Needs],
    running: Sequence[StoredTree],
    run_as: Callable[[str], str | None],
    change: Change,
) -> list[StoredTree | None]:
    """Returns the running tree that each tree continues: the one with most of its queries.

    A tree of new queries takes over one whose own queries have all left, for its slices.
    """
    candidates = [
        (-common, index, stored.number, stored)
        for index, (tree, need) in enumerate(zip(trees, needs, strict=True))
        for stored in running
        if stored.fits(tree, need, change.retyped)
        and (common := stored.common_queries(tree, run_as, change.same)) is not None
    ]
    homes: list[StoredTree | None] = [None] * len(trees)
    taken: set[int] = set()
    for _, index, number, stored in sorted(candidates, key=lambda candidate: candidate[:3]):
        if homes[index] is None and number not in taken:
            homes[index] = stored
            taken.add(number)
    return homes
