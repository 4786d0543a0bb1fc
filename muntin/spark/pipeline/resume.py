"""Finds the plan with which a pipeline continues on an existing checkpoint."""

import logging
import re
from collections.abc import Callable
from dataclasses import replace

from muntin.errors import RunError
from muntin.model.plan import Plan
from muntin.model.plan_json import definition
from muntin.model.query import PlainQuery, Query
from muntin.optimizer.transitions import Transition, move_queries, pin_queries, with_code, without
from muntin.runtime.stream_plan.change_plan import change_plan, resume_plan
from muntin.runtime.stream_plan.stream_plan import StreamPlan
from muntin.runtime.stream_plan.stream_plan_json import state_of_plan
from muntin.runtime.stream_plan.value_types import retyped, unchanged_queries
from muntin.spark.checkpoint.checkpoint import Checkpoint, StoredPlan
from muntin.spark.pipeline.stream_options import STOP
from muntin.spark.pipeline.transient_errors import is_transient
from muntin.spark.stream.source import BoundStream, Source

log = logging.getLogger("muntin")

# Runs the batch that was cut off under the plan that it belongs to; raises if that fails.
Finish = Callable[[BoundStream, StreamPlan], None]


def validate_change(
    plan: Plan, source: Source, running: StreamPlan, *, moves: bool = False
) -> tuple[BoundStream, StreamPlan]:
    """Returns the plan as it would run after a change; raises an error if it is refused.

    Nothing is changed.
    """
    found, bound = _transition(plan, running, source, emitted=None, moves=moves)
    return bound, _change(running, bound, found, watermark=None, emitted=None)


def next_plan(
    plan: Plan,
    source: Source,
    checkpoint: Checkpoint,
    *,
    retain: int,
    finish: Finish | None,
    moves: bool = False,
) -> tuple[BoundStream, StreamPlan]:
    """Returns the plan to continue with: the stored one if nothing has changed.

    A change takes effect between two batches. A batch that was cut off belongs to the plan that was
    tried last. If that plan has a query which the new one lacks, some of the query's answers may
    have been written, so `finish` first runs the batch under that plan. `finish` is None if nothing
    of the batch was written. If the plan `moves`, queries go to the trees in which it has them;
    otherwise they stay in their trees.
    """
    latest, effective = _latest(checkpoint), checkpoint.effective()
    logs = checkpoint.logs
    found, bound = _transition(
        plan, latest.running, source, emitted=logs.emitted_watermark(), moves=moves
    )
    if _is_unchanged(bound, latest, retain):
        return bound, resume_plan(latest.running, bound.plan)
    validate_change(plan, source, effective.running, moves=moves)
    if (
        finish is not None
        and logs.has_unfinished_batch()
        and _loses_query(latest.running.plan, found.plan)
    ):
        try:
            before = source.bind(with_code(latest.running.plan, plan))
            if not before.has_types_of(latest.running):
                raise RunError("the types of the data have changed since it was started")
            finish(before, resume_plan(latest.running, before.plan))
            effective = checkpoint.effective()
        except Exception as error:
            if is_transient(error):
                raise RunError(
                    f"the batch that was cut off could not be finished yet: {error}; nothing is "
                    f"lost, start again"
                ) from error
            # A batch that cannot be finished must not block the new queries.
            log.warning("the batch that was cut off is answered by the new queries: %s", error)
    found, bound = _transition(
        plan, effective.running, source, emitted=logs.emitted_watermark(), moves=moves
    )
    if _is_unchanged(bound, effective, retain):
        return bound, resume_plan(effective.running, bound.plan)
    running = _change(
        effective.running,
        bound,
        found,
        watermark=logs.watermark(),
        emitted=logs.emitted_watermark(),
    )
    return bound, replace(running, retain=retain)


def same_queries_as_stored(
    plan: Plan, source: Source, checkpoint: Checkpoint, *, retain: int
) -> tuple[BoundStream, StreamPlan] | None:
    """Returns the stored plan if it has the same queries as a plan, maybe with other trees; else
    None."""
    running = _latest(checkpoint).running
    asked = {query.name: definition(query) for query in plan.queries}
    if retain != running.retain or asked != {q.name: definition(q) for q in running.user_queries}:
        return None
    bound = source.bind(with_code(running.plan, plan))
    return (bound, resume_plan(running, bound.plan)) if bound.has_types_of(running) else None


def _transition(
    plan: Plan, running: StreamPlan, source: Source, *, emitted: int | None, moves: bool
) -> tuple[Transition, BoundStream]:
    """Returns the plan as it can continue a running one.

    The windows that end by the watermark `emitted` have been answered; None if that is not known.
    """
    known = {query.name: definition(query) for query in plan.queries}
    others: set[str] = set()
    while True:
        stays = unchanged_queries(running.plan, others)
        there = {query.name: definition(query) for query in stays}
        leaving = {
            alias
            for alias in running.not_done(emitted) & there.keys()
            if known.get(name := running.user_name(alias)) == there.get(name)
        }
        before = without(running.plan, {q.name for q in running.plan.queries} - there.keys())
        if moves:
            found = move_queries(plan, before, leaving, mark=f"leaving {running.generation + 1}")
        else:
            found = pin_queries(plan, before, leaving)
        bound = source.bind(found.plan)
        more = retyped(running.types, bound.types) - others
        if not more:
            return found, bound
        # A query that reads values of another type than before is another query.
        others |= more


def _change(
    running: StreamPlan,
    bound: BoundStream,
    found: Transition,
    *,
    watermark: int | None,
    emitted: int | None,
) -> StreamPlan:
    before = {query.name: definition(query) for query in running.user_queries}
    for query in bound.plan.queries:
        if before.get(query.name) != definition(query):
            _check_addition(query, running, bound)
    following = change_plan(
        running,
        bound.plan,
        bound.needs,
        watermark=watermark,
        given=emitted,
        moved=found.moved,
        types=bound.types,
    )
    return replace(
        following, followed_relations=bound.followed_relations(running.followed_relations)
    )


def _check_addition(query: Query | PlainQuery, running: StreamPlan, bound: BoundStream) -> None:
    """Refuse a new query if the watermark does not tell from when it would be complete."""
    if not bound.is_one_stream:
        raise RunError(
            f"query {query.name!r} cannot be added to a stream that is, or may be, a union of "
            f"several with a watermark each: it is unknown from when the query would be complete; "
            f"start it with a checkpoint of its own"
        )
    assert isinstance(query, Query)
    for relation in running.followed_relations:
        if relation != bound.followed and query.source.tables != (relation,):
            raise RunError(
                f"query {query.name!r} cannot be added: the watermark of this checkpoint has "
                f"followed only the rows of {relation!r}, so it is unknown from when the query "
                f"would be complete; start it with a checkpoint of its own"
            )


def _latest(checkpoint: Checkpoint) -> StoredPlan:
    stored = checkpoint.latest()
    assert stored is not None
    return stored


def _is_unchanged(bound: BoundStream, stored: StoredPlan, retain: int) -> bool:
    """Whether the stored state is unchanged; techniques may have changed."""
    return (
        retain == stored.running.retain
        and state_of_plan(bound.plan) == state_of_plan(stored.running.plan)
        and bound.has_types_of(stored.running)
        and bound.followed_relations(stored.running.followed_relations)
        == stored.running.followed_relations
    )


def _loses_query(old: Plan, new: Plan) -> bool:
    """Whether a query of the old plan is missing or different in the new one."""
    definitions = {query.name: definition(query) for query in new.queries}
    return any(definitions.get(query.name) != definition(query) for query in old.queries)


def refused_change(error: BaseException) -> RunError:
    """Returns the error of a change that Spark refused."""
    return RunError(
        f"the queries were not changed, and the earlier ones continue: the first batch with the "
        f"new ones failed: {cause_of(error)}"
    )


def cause_of(error: BaseException) -> str:
    """Returns the cause of an error of Spark's in one line, without plans and stack traces."""
    # The condition of the cause, in brackets, comes after those of the scheduler and the proxy.
    conditions = re.findall(r"\[[A-Z][A-Z_0-9.]+\][^\n]*", str(error))
    causes = [condition for condition in conditions if not condition.startswith("[STREAM_FAILED]")]
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (causes or lines or [type(error).__name__])[0][:500]


def without_dropped(plan: Plan, running: StreamPlan) -> Plan:
    """Returns a plan without the queries that were dropped and have not been edited since."""
    names = running.dropped_among(plan.queries)
    for name in names:
        log.warning("query %r was dropped: %s", name, running.dropped[name].error)
    if len(names) == len(plan.queries):
        raise RunError(
            f"all these queries were dropped because they failed: {', '.join(map(repr, names))}; "
            f'edit them, or start with StreamOptions(on_error="{STOP}")'
        )
    return without(plan, names)
