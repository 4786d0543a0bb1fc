"""`plan`, `run`, `share`, `compare`: queries or DataFrames to a plan and the answers of a batch."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from muntin.measure.compare import REPEATS, Comparison, compare_answers
from muntin.measure.processes import check_installed
from muntin.model.plan import Plan
from muntin.model.prices import SHIPPED, Prices, read_prices
from muntin.model.query import PlainQuery, Query
from muntin.model.workload import PlanOptions, Workload, workload
from muntin.optimizer.normalise import normalise
from muntin.optimizer.optimize import optimize
from muntin.optimizer.strategies import DEFAULT
from muntin.spark.batch.results import Results
from muntin.spark.binding.bind_batch import bind_batch
from muntin.spark.binding.estimate import estimate, with_facts
from muntin.spark.binding.leave_to_spark import leave_to_spark
from muntin.spark.binding.relations import Data, Relations
from muntin.spark.frames.read_frames import read_frames

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
    slicing: str | None = None,
    latency: bool = False,
    approximate: bool = False,
) -> Plan:
    """Returns the plan of these queries: what they share, and its cost next to the unshared plan.

    `queries` may also be DataFrames by name, as in `share`; they are their own sample.

    `rate` is events per second and `keys` how many keys are live; costs are computed for them.
    Without them, they are estimated from the first rows of `sample`, which is data as for `run`, or
    else are 1000 and 1. `prices` may be a file that `muntin calibrate` wrote, or the name of a
    paper's cost model: "factor_windows", "weave_share" or "triweave". `technique` is the technique
    of all periodic windows; with `latency`, techniques are chosen by the worst time of a single
    answer. `slicing` is where events are cut for periodic windows, "panes", "pairs" or "cutty";
    without it, the cheaper slices are chosen. With `approximate`, sketches are shared whose answers
    may differ from Spark's within their error bounds; without, Spark alone answers them.
    """
    misread: dict[str, str] = {}
    if isinstance(queries, Mapping):
        read = read_frames(queries)
        queries, misread = read.queries, read.misread_reasons()
        if sample is None and not any(frame.isStreaming for frame in read.frames.values()):
            sample = read.data
    options = PlanOptions(
        technique=technique, slicing=slicing, latency=latency, approximate=approximate
    )
    work = workload(queries, prices=read_prices(prices), options=options)
    work = normalise(work, strategy)
    if sample is not None and (rate is None or keys is None):
        work = with_facts(work, Relations(sample, work.queries))
    work = replace(
        work,
        rate=work.rate if rate is None else rate,
        keys=work.keys if keys is None else keys,
        rate_known=work.rate_known or rate is not None,
        keys_known=work.keys_known or keys is not None,
    )
    return leave_to_spark(optimize(work, strategy), misread)


def run(
    queries: Plan | Queries,
    data: Data = None,
    *,
    strategy: str = DEFAULT,
    technique: str | None = None,
    slicing: str | None = None,
    latency: bool = False,
    approximate: bool = False,
) -> Results:
    """Returns the answers of a plan, or of queries under a strategy; nothing runs until one is
    used.

    If the best plan depends on how dense the events are, it looks at their first rows.

    `data` is a DataFrame, a mapping from relation names to DataFrames, or nothing: then relations
    are looked up in the active session. `technique`, `slicing`, `latency` and
    `approximate` are as in `plan`.
    """
    if isinstance(queries, Plan):
        chosen = queries
        relations = Relations(data, chosen.queries, for_later=True)
    else:
        options = PlanOptions(
            technique=technique, slicing=slicing, latency=latency, approximate=approximate
        )
        work = workload(queries, options=options)
        work = normalise(work, strategy)
        relations = Relations(data, work.queries, for_later=True)
        work = estimate(work, relations, strategy, has_figures=isinstance(queries, Workload))
        chosen = optimize(work, strategy)
    bound = bind_batch(chosen, relations)
    return Results(bound, relations)


def share(
    frames: Mapping[str, DataFrame],
    *,
    strategy: str = DEFAULT,
    technique: str | None = None,
    slicing: str | None = None,
    latency: bool = False,
    approximate: bool = False,
) -> Results:
    """Returns the same DataFrames by the same names, computed together.

    Each is a `groupBy` with a `window(...)` over any DataFrame, and may have `select`, `filter`,
    `withColumn`, `withColumnRenamed` and `drop` above it, and an `orderBy` with a `limit`. One that
    cannot share is passed on as it is; `results.plan.explain()` says why. `strategy`, `technique`,
    `slicing`, `latency` and `approximate` are as in `run`.
    """
    read = read_frames(frames)
    options = PlanOptions(
        technique=technique, slicing=slicing, latency=latency, approximate=approximate
    )
    work = workload(read.queries, options=options)
    work = normalise(work, strategy)
    relations = Relations(read.data, work.queries, for_later=True)
    work = estimate(work, relations, strategy)
    chosen = optimize(work, strategy)
    chosen = leave_to_spark(chosen, read.misread_reasons(chosen.computed_by_muntin))
    bound = bind_batch(chosen, relations)
    return Results(bound, relations)


def compare(
    queries: Plan | Queries | Mapping[str, DataFrame],
    data: Data = None,
    *,
    repeats: int = REPEATS,
    folder: str | None = None,
    **planning: Any,
) -> Comparison:
    """Answers queries with plain Spark, one by one, and with muntin, together; returns the CPU and
    wall seconds of both, and whether all rows are equal.

    `queries` and `data` are as in `run`, or `queries` are DataFrames by name, as in `share`. Each
    side runs `repeats` times, in turns, and its cheapest run counts; a run of more than half a
    minute is not repeated. Both write their answers as Parquet files into `folder`, without it into
    a temporary one. Further arguments, such as `strategy`, are those of `run`.

    It measures processes of this machine, so the session has to be a local one.
    """
    check_installed()
    answer: Callable[[], Results]
    if isinstance(queries, Mapping):
        answer = partial(share, queries, **planning)
    else:
        if not isinstance(queries, Plan | Workload | Query | PlainQuery):
            # They are read more than once.
            queries = list(queries)
        answer = partial(run, queries, data, **planning)
    with answer() as results:
        plan = results.plan
    if isinstance(queries, Mapping):
        frames = dict(queries)
    else:
        relations = Relations(data, plan.queries)
        frames = {query.name: relations.check(query) for query in plan.queries}
    return compare_answers(plan, frames, answer, repeats=repeats, folder=folder)
