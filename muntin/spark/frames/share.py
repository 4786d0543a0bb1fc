"""`share`: DataFrames with a window aggregate in, the same answers from shared slices out."""

from collections.abc import Mapping

from pyspark.sql import DataFrame

from muntin.model.options import PlanOptions
from muntin.optimizer.strategies import DEFAULT
from muntin.spark.batch.results import Results
from muntin.spark.binding.planning import plan_for_batch
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
    plan = plan_for_batch(
        read.queries,
        read.data,
        strategy,
        PlanOptions(technique=technique, latency=latency, approximate=approximate),
    )
    return Results(plan, read.data)
