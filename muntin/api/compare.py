"""`compare`: a user's own queries, answered by plain Spark and by muntin."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pyspark.sql import DataFrame

from muntin.api.batch import Queries, run, share
from muntin.measure.compare import REPEATS, Comparison, compare_answers
from muntin.measure.processes import check_installed
from muntin.model.plan import Plan
from muntin.model.query import PlainQuery, Query
from muntin.model.workload import Workload
from muntin.spark.batch.results import Results
from muntin.spark.binding.relations import Data, Relations


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
