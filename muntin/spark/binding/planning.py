"""Makes plans for data: rate and live keys are given, or read off the data if they matter."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from muntin.model.options import NO_OPTIONS, PlanOptions
from muntin.model.plan import Plan
from muntin.model.prices import SHIPPED, Prices
from muntin.model.query import PlainQuery, Query
from muntin.model.sql_text import SqlText
from muntin.model.workload import Workload, workload
from muntin.optimizer import plan_for_stream as stream_plans
from muntin.optimizer.costs.lower_bounds import depends_on_data
from muntin.optimizer.strategies import DEFAULT, STEADY, may_share, optimize
from muntin.spark.binding.relations import Data, Relations
from muntin.spark.binding.sample import MANY_ROWS, with_facts, with_reading
from muntin.spark.frames.read_frames import read_frames
from muntin.sql.filters import unify_filters

Queries = Workload | Query | PlainQuery | Iterable[Query | PlainQuery]


def plan(
    queries: Queries | Mapping[str, DataFrame],
    *,
    strategy: str = DEFAULT,
    rate: float | None = None,
    keys: float | None = None,
    prices: Prices | str | Path = SHIPPED,
    sample: Data = None,
    technique: str | None = None,
    latency: bool = False,
    approximate: bool = False,
) -> Plan:
    """Returns what these queries share, and what it costs beside the unshared plan.

    `queries` may also be DataFrames by name, as in `share`; they are their own sample.

    `rate` is events per second and `keys` how many keys are live; costs are computed for them.
    Where they are not given, they are read off the first rows of `sample`, which is data as
    `run` takes it, or else taken to be 1000 and 1. `prices` may be a file that `muntin calibrate`
    wrote. `technique` forces one for all periodic windows; with `latency` those are chosen that
    never take long for a single answer. With `approximate`, sketches are shared whose answers may
    differ from Spark's within their error bounds; without, Spark alone answers them.
    """
    if not isinstance(prices, Prices):
        prices = Prices.from_json(Path(prices).read_text())
    if isinstance(queries, Mapping):
        read = read_frames(queries)
        queries = read.queries
        if sample is None and not any(frame.isStreaming for frame in read.frames.values()):
            sample = read.data
    work = _rewritten(workload(queries, prices=prices), strategy)
    if sample is not None and (rate is None or keys is None):
        work = with_facts(work, Relations(sample, work.queries))
    work = replace(
        work,
        rate=work.rate if rate is None else rate,
        keys=work.keys if keys is None else keys,
        rate_known=work.rate_known or rate is not None,
        keys_known=work.keys_known or keys is not None,
    )
    options = PlanOptions(technique=technique, latency=latency, approximate=approximate)
    return optimize(_with_options(work, options), strategy)


def plan_for_batch(
    queries: Plan | Queries,
    data: Data,
    strategy: str,
    options: PlanOptions = NO_OPTIONS,
) -> Plan:
    """Returns the plan that was given, or one for queries that are about to run on a batch.

    It looks at the data if the choice depends on it. A workload has its facts already, and
    strategies other than `auto` need none.
    """
    if isinstance(queries, Plan):
        return queries
    work = _with_options(_rewritten(workload(queries), strategy), options)
    relations = Relations(data, work.queries)
    if strategy != "unshared" and len(work.groupings) > 1:
        work = replace(work, computed=_computed(work, relations))
    several = max(len(work.shared), len(work.data_windows)) > 1
    if strategy == "auto" and not isinstance(queries, Workload) and several:
        work = with_reading(work, relations)
        if may_share(work):
            # Who makes the slices depends on the data, too, but matters only where there is much.
            least = 0 if depends_on_data(work) else MANY_ROWS
            work = with_facts(work, relations, least_rows=least)
    return optimize(work, strategy)


def _computed(work: Workload, relations: Relations) -> frozenset[SqlText]:
    """Returns the relations of several groupings that cost more than reading."""
    groupings = Counter(grouping.relation for grouping in work.groupings)
    several = [relation for relation, times in groupings.items() if times > 1]
    try:
        return frozenset(relation for relation in several if relations.is_computed(relation))
    except PySparkException:
        # What is wrong with a query is said when it is bound to its data.
        return frozenset()


def plan_for_stream(
    queries: Plan | Queries,
    strategy: str = STEADY,
    options: PlanOptions = NO_OPTIONS,
) -> Plan:
    """Returns the plan that was given, or that of a strategy, as a stream runs it."""
    if isinstance(queries, Plan):
        return stream_plans.plan_for_stream(queries)
    work = _with_options(workload(queries), options)
    return stream_plans.plan_for_stream(optimize(work, strategy))


def _with_options(work: Workload, options: PlanOptions) -> Workload:
    return replace(work, options=options.or_else(work.options))


def _rewritten(work: Workload, strategy: str) -> Workload:
    """Returns the workload, with filters of one meaning spelled alike, and joins that differ only
    in their time bounds made one relation.

    A query that shares nothing is better off as it is.
    """
    if strategy == "unshared" or len(work.shared) < 2:
        return work
    queries = unify_filters(work.queries)
    texts = [query.source.fill().lower() for query in work.shared]
    if sum("join" in text or "," in text for text in texts) > 1:
        # Fetched here, since few workloads need it.
        from muntin.sql.joins import widen_joins

        queries = tuple(widen_joins(queries))
    return replace(work, queries=queries)
