"""Plans for data: rate and live keys are given, or found out from the data where that matters."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from muntin.model.plan import Plan
from muntin.model.prices import SHIPPED, Prices
from muntin.model.query import PlainQuery, Query, Workload, workload
from muntin.share.costs.lower_bounds import depends_on_data
from muntin.share.on_slices import on_slices
from muntin.share.optimizer import DEFAULT, STEADY, optimize
from muntin.spark.binding.relations import Data, Relations
from muntin.spark.binding.sample import with_facts

Queries = Workload | Query | PlainQuery | Iterable[Query | PlainQuery]


def plan(
    queries: Queries,
    *,
    strategy: str = DEFAULT,
    rate: float | None = None,
    keys: float | None = None,
    prices: Prices | str | Path = SHIPPED,
    sample: Data = None,
    technique: str | None = None,
    latency: bool = False,
) -> Plan:
    """What is shared by these queries, and what it costs beside the unshared plan.

    `rate` is events per second and `keys` how many keys are live; costs are computed for them.
    Where they are not given, they are read off the first rows of `sample`, which is data as
    `run` takes it, or else taken to be 1000 and 1. `prices` may be a file that `muntin calibrate`
    wrote. `technique` forces one for all periodic windows; with `latency` those are chosen that
    never take long for a single answer.
    """
    if not isinstance(prices, Prices):
        prices = Prices.from_json(Path(prices).read_text())
    found = workload(queries, prices=prices)
    if sample is not None and (rate is None or keys is None):
        found = with_facts(found, Relations(sample, found.queries))
    found = replace(
        found,
        rate=found.rate if rate is None else rate,
        keys=found.keys if keys is None else keys,
        keys_known=found.keys_known or keys is not None,
    )
    return optimize(_computed_by(found, technique, latency), strategy)


def plan_for_batch(
    queries: Plan | Queries,
    data: Data,
    strategy: str,
    *,
    technique: str | None = None,
    latency: bool = False,
) -> Plan:
    """The plan that was given, or one for queries that are about to run on a batch.

    The data is looked at if the choice needs it: a workload has its facts already, and other
    strategies than `auto` choose without.
    """
    if isinstance(queries, Plan):
        return queries
    found = workload(queries)
    if strategy == "auto" and not isinstance(queries, Workload) and depends_on_data(found):
        found = with_facts(found, Relations(data, found.queries))
    return optimize(_computed_by(found, technique, latency), strategy)


def plan_for_stream(
    queries: Plan | Queries,
    strategy: str = STEADY,
    *,
    technique: str | None = None,
    latency: bool = False,
) -> Plan:
    """The plan that was given, or that of a strategy, as a stream runs it."""
    if isinstance(queries, Plan):
        return on_slices(queries)
    return on_slices(optimize(_computed_by(workload(queries), technique, latency), strategy))


def _computed_by(found: Workload, technique: str | None, latency: bool) -> Workload:
    """The workload with how its answers are to be computed, where that is said."""
    return replace(found, technique=technique or found.technique, latency=latency or found.latency)
