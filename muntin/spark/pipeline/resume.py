"""Finds the plan with which a pipeline continues on a checkpoint that exists."""

import logging
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from muntin.errors import RunError
from muntin.model.plan import Plan
from muntin.model.plan_json import definition, plan_to_json
from muntin.runtime.stream_plan.change_plan import changed
from muntin.runtime.stream_plan.change_records import resumed
from muntin.runtime.stream_plan.stream_plan import StreamPlan
from muntin.share.evolve.pin_data_windows import with_code
from muntin.share.evolve.pin_running_queries import pinned
from muntin.spark.pipeline.checkpoint import Checkpoint, Stored
from muntin.spark.pipeline.passing_failures import is_passing
from muntin.spark.stream.source import BoundStream, Source

log = logging.getLogger("muntin")

# Runs the batch that was cut off under the plan that it belongs to; raises if that fails.
Finish = Callable[[BoundStream, StreamPlan], None]


def would_go_on(plan: Plan, source: Source, running: StreamPlan) -> tuple[BoundStream, StreamPlan]:
    """Returns what a plan would run as, or raises why it would be refused; changes nothing."""
    bound = source.bind(pinned(plan, running.plan))
    next_running = changed(
        running, bound.plan, bound.needs, bound.record_needs, watermark=None, given=None
    )
    return bound, next_running


def next_plan(
    plan: Plan, source: Source, checkpoint: Checkpoint, *, retain: int, finish: Finish
) -> tuple[BoundStream, StreamPlan]:
    """Returns the plan to continue with: the stored one if nothing has changed.

    A change takes effect between two batches. A batch that was cut off belongs to the plan that was
    tried last. It is finished under that plan first, if that plan has a query which the new one has
    not, as that query's answers of the batch may be written in part.
    """
    tried, counting = _stored(checkpoint.tried()), _stored(checkpoint.counting())
    bound = source.bind(pinned(plan, tried.running.plan))
    if _same(bound, tried, retain):
        return bound, resumed(tried.running, bound.plan)
    would_go_on(plan, source, counting.running)
    if checkpoint.logs.is_cut() and _leaves(tried.running.plan, plan):
        try:
            before = source.bind(with_code(tried.running.plan, plan))
            finish(before, resumed(tried.running, before.plan))
            counting = _stored(checkpoint.counting())
        except Exception as error:
            if is_passing(error):
                raise RunError(
                    f"the batch that was cut off could not be finished yet: {error}; nothing is "
                    f"lost, start again"
                ) from error
            # A batch that cannot be finished must not keep its user from going on without it.
            log.warning("the batch that was cut off is answered by the new queries: %s", error)
    bound = source.bind(pinned(plan, counting.running.plan))
    if _same(bound, counting, retain):
        return bound, resumed(counting.running, bound.plan)
    running = changed(
        counting.running,
        bound.plan,
        bound.needs,
        bound.record_needs,
        watermark=checkpoint.logs.watermark(),
        given=checkpoint.logs.given(),
    )
    return bound, replace(running, retain=retain)


def _stored(stored: Stored | None) -> Stored:
    assert stored is not None
    return stored


def _same(bound: BoundStream, stored: Stored, retain: int) -> bool:
    """Whether the stored state is unchanged; techniques may have changed."""
    return retain == stored.running.retain and (
        _what_is_kept(bound.plan) == _what_is_kept(stored.running.plan)
    )


def _what_is_kept(plan: Plan) -> dict[str, Any]:
    trees = tuple(
        replace(
            tree,
            nodes=tuple(replace(node, techniques=()) for node in tree.nodes),
            made_in=None,
            cut_cost=0.0,
        )
        for tree in plan.trees
    )
    return plan_to_json(replace(plan, trees=trees, technique=None, latency=False))


def _leaves(old: Plan, new: Plan) -> bool:
    """Whether a query of the old plan is missing or different in the new one."""
    definitions = {query.name: definition(query) for query in new.queries}
    return any(definitions.get(query.name) != definition(query) for query in old.queries)


def refused_change(error: BaseException) -> RunError:
    """Returns the error of a change that Spark refused, without plan dumps and stack traces."""
    # Spark's errors have a condition in brackets somewhere under those of its scheduler and proxy.
    conditions = re.findall(r"\[[A-Z][A-Z_0-9.]+\][^\n]*", str(error))
    causes = [condition for condition in conditions if not condition.startswith("[STREAM_FAILED]")]
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = (causes or lines or [type(error).__name__])[0]
    return RunError(
        f"the queries were not changed, and the ones before go on: the first batch with the new "
        f"ones failed: {said[:500]}"
    )
