"""Finds the queries that a batch fails for, and continues without them.

The batch is computed for some of the queries, and its answers are dropped.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from muntin.errors import RunError
from muntin.optimizer.transitions import without
from muntin.runtime.stream_plan.stream_plan import DroppedQuery
from muntin.spark.pipeline.launcher import Launcher
from muntin.spark.pipeline.outputs import Outputs
from muntin.spark.pipeline.resume import cause_of, next_plan, validate_change
from muntin.spark.pipeline.transient_errors import is_transient, was_stopped
from muntin.spark.sinks.sink import Answers, Sink

log = logging.getLogger("muntin")

# What a batch fails with when it was computed. A server hands on only the text of an error.
_COMPUTED = "the batch was computed, and not written"


def drop_failing(launcher: Launcher, failure: BaseException) -> bool:
    """Continue without the queries that fail, if the user wants that; returns whether it did."""
    running = launcher.run.running
    names = [query.name for query in running.user_queries]
    if not launcher.options.drops_queries or was_stopped(failure):
        return False
    launcher.owner.check()
    failing = find_failing(names, lambda some: _try_queries(launcher, some))
    # Where none of them fails, the sink did; where all do, nothing would be left.
    if len(failing) in (0, len(names)):
        return False
    dropped = {
        name: DroppedQuery(query=running.plan.query(name), error=cause_of(error))
        for name, error in failing.items()
    }
    plan = without(running.plan, {*running.leaving, *failing})
    bound, following = next_plan(
        plan, launcher.source, launcher.checkpoint, retain=running.retain, finish=None
    )
    # A plan that counts is never written anew, even if it has the same queries.
    generation = max(following.generation, launcher.checkpoint.effective().running.generation + 1)
    following = replace(following, dropped={**following.dropped, **dropped}, generation=generation)
    launcher.launch(bound, following)
    for name, why in dropped.items():
        log.error("query %r is dropped, and the others continue: %s", name, why.error)
    return True


def find_failing(
    names: Sequence[str], try_queries: Callable[[Sequence[str]], BaseException | None]
) -> dict[str, BaseException]:
    """Returns the queries that fail alone, with their errors; `try_queries` returns why some
    queries fail together. One of n queries takes about 2 log n tries.

    >>> tried = lambda names: ValueError() if {"c", "d"} & set(names) else None
    >>> list(find_failing("abcdefgh", tried))
    ['c', 'd']
    """
    failure = try_queries(names)
    if failure is None:
        return {}
    if len(names) == 1:
        return {names[0]: failure}
    half = len(names) // 2
    return find_failing(names[:half], try_queries) | find_failing(names[half:], try_queries)


def _try_queries(launcher: Launcher, names: Sequence[str]) -> BaseException | None:
    """Returns why the batch that was cut off fails for some of the queries that run; None if it
    does not. Nothing is written, and no state changes."""
    running = launcher.run.running
    others = {query.name for query in running.user_queries if query.name not in names}
    plan = without(running.plan, {*running.leaving, *others})
    some = validate_change(plan, launcher.source, launcher.checkpoint.effective().running)
    failure = launcher.run_one_batch(launcher.new_run(*some, Outputs(sink=_ComputeOnlySink())))
    if failure is None or (isinstance(failure, RunError) and str(failure) == _COMPUTED):
        return None
    if is_transient(failure) or was_stopped(failure):
        raise failure
    return failure


class _ComputeOnlySink(Sink):
    """Computes a batch, then fails, so that Spark does not finish it and its state stays."""

    is_stacked = True

    def write(self, batch: int, answers: Answers) -> None:
        """Compute the answers of all queries."""
        answers.whole().frame.write.format("noop").mode("overwrite").save()
        raise RunError(_COMPUTED)
