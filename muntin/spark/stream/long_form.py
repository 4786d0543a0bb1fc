"""A plan's answers as a streaming DataFrame, for a writer of the user's own."""

import logging
from collections.abc import Mapping

from pyspark.sql import DataFrame

from muntin.errors import RunError
from muntin.model.windows.window import Duration
from muntin.optimizer.on_slices import plan_for_stream
from muntin.optimizer.strategies import STEADY
from muntin.runtime.stream_plan.lane_definitions import lane_definitions
from muntin.spark.frames.stream_frames import stream_input
from muntin.spark.stream.joined_source import source_of
from muntin.spark.stream.source import PROVIDER, ROCKSDB, Queries

log = logging.getLogger("muntin")


def stream(
    queries: Queries | Mapping[str, DataFrame],
    data: DataFrame | Mapping[str, DataFrame] | None = None,
    *,
    watermark: Duration | None = None,
    strategy: str = STEADY,
    technique: str | None = None,
    latency: bool = False,
    approximate: bool = False,
    buckets: int | None = None,
) -> DataFrame:
    """Returns a plan's answers as a streaming DataFrame in the long form, for your own
    `writeStream`.

    `queries` may also be streaming DataFrames by name, each with a window aggregate, as in `share`;
    then there is no `data`. Rows may be late by `watermark`: 10 seconds, or as the DataFrames say.
    The first column, `query`, has the query's name. Output mode is append, and an answer comes out
    when the watermark passes the end of its window. The session's state store provider must be
    RocksDB. `buckets` of keys are as many as the session has shuffle partitions if they are not
    given; give them where a checkpoint of yours may meet a session with others. On a checkpoint of
    yours it goes on with the same queries, in any order and under any names; others are refused in
    the first batch. `start` does more:
    a sink per query, restarts with other queries, figures. `technique`, `latency` and
    `approximate` are as in `plan`.
    """
    given = stream_input(queries, data, watermark)
    source = source_of(given)
    session = source.session
    if source.warning is not None:
        log.warning("%s", source.warning)
    if session.conf.get(PROVIDER, "") != ROCKSDB:
        raise RunError(
            f"a stream keeps its state in RocksDB; set {PROVIDER} to {ROCKSDB} in the session"
        )
    plan = plan_for_stream(
        given.queries,
        strategy,
        technique=technique,
        latency=latency,
        approximate=approximate,
    )
    bound = source.bind(plan)
    running = source.first_start(bound, buckets=buckets, retain=0)
    answers, projected = bound.run(running, definitions=lane_definitions(running))
    return projected.together(answers)
