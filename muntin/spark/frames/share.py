"""`share`: DataFrames with a window aggregate in, the same answers from shared slices out."""

from collections.abc import Mapping

from pyspark.sql import DataFrame

from muntin.model.plan import Plan
from muntin.optimizer.strategies import DEFAULT
from muntin.spark.batch.results import Results
from muntin.spark.binding.planning import plan_for_batch
from muntin.spark.binding.relations import Relations
from muntin.spark.frames.read_frames import read_frames


def share(
    frames: Mapping[str, DataFrame],
    *,
    strategy: str = DEFAULT,
    technique: str | None = None,
    latency: bool = False,
    approximate: bool = False,
) -> Results:
    """Returns the same DataFrames by the same names, computed together.

    Each is a `groupBy` with a `window(...)` over any DataFrame, and may have `select`, `filter`,
    `withColumn`, `withColumnRenamed` and `drop` above it, and an `orderBy` with a `limit`. One that
    cannot share is passed on as it is; `results.plan.explain()` says why. `strategy`, `technique`,
    `latency` and `approximate` are as in `run`.
    """
    read = read_frames(frames)
    while True:
        relations = Relations(read.data, read.queries, for_later=True)
        plan = plan_for_batch(
            read.queries,
            relations,
            strategy,
            technique=technique,
            latency=latency,
            approximate=approximate,
        )
        confirmed = read.confirmed(_not_left_to_spark(plan))
        if confirmed.queries == read.queries:
            return Results(plan, relations)
        read = confirmed


def _not_left_to_spark(plan: Plan) -> set[str]:
    """Returns the names of the queries that are not answered by their own DataFrames."""
    return {
        part.asked.name
        for tree in plan
        if not tree.is_alone
        for part in plan.queries_of(tree).values()
    }
