"""`start` and `stream`: a plan that runs on a stream, with a sink or as a streaming DataFrame."""

import logging
from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

from pyspark.sql import DataFrame

from muntin.errors import RunError
from muntin.model.plan import Plan
from muntin.model.windows import Duration
from muntin.model.workload import PlanOptions, workload
from muntin.optimizer.optimize import optimize
from muntin.optimizer.plan_for_stream import plan_for_stream
from muntin.optimizer.strategies import STEADY
from muntin.runtime.stream_plan.stream_plan import tree_definitions
from muntin.spark.checkpoint.checkpoint import Checkpoint
from muntin.spark.frames.stream_frames import stream_input
from muntin.spark.pipeline.launcher import Launcher
from muntin.spark.pipeline.outputs import open_outputs
from muntin.spark.pipeline.pipeline import Pipeline, engine_of
from muntin.spark.pipeline.resume import without_dropped
from muntin.spark.pipeline.runner import Runner
from muntin.spark.pipeline.stream_options import StreamOptions, trigger_of
from muntin.spark.pipeline.stream_planner import StreamPlanner
from muntin.spark.pipeline.supervisor import watch
from muntin.spark.sinks.late_rows import LateLike
from muntin.spark.sinks.open_sink import SinkLike
from muntin.spark.sinks.sink import SinkContext
from muntin.spark.stream.joined_source import source_of
from muntin.spark.stream.operator import shuffle_partitions
from muntin.spark.stream.source import PROVIDER, ROCKSDB, Queries

log = logging.getLogger("muntin")


def start(
    queries: Queries | Mapping[str, DataFrame],
    data: DataFrame | Mapping[str, DataFrame] | None = None,
    *,
    checkpoint: str | Path,
    sink: SinkLike = None,
    late: LateLike = None,
    watermark: Duration | None = None,
    trigger: str | None = None,
    options: StreamOptions | None = None,
) -> Pipeline:
    """Run a plan, or queries under a strategy, on a streaming DataFrame.

    `queries` may also be streaming DataFrames by name, each with a window aggregate, as in `share`;
    then there is no `data`. If queries join the stream with static tables, `data` has the stream
    and the tables by name. Rows may be late by `watermark`: 10 seconds, or as the DataFrames say.

    `sink` takes the answers: a folder, a sink of muntin's such as `mt.Files` for a folder with a
    format and other options, a function `f(name, frame, batch)`, an instance of your own subclass
    of `mt.Sink`, or none for memory.

    `late` takes the rows that came too late for every window of every query that would have taken
    them: a folder, `mt.Files`, or a function `f(frame, batch, watermark)`.

    `trigger` is the time between batches, such as "10 seconds", "available now" for what is there
    and then an end, or none for as fast as possible. `options` are the rest: see `StreamOptions`.

    On a checkpoint that exists it continues where it stopped; with other queries than before, as if
    they had been changed while it ran.
    """
    options = options or StreamOptions()
    asked = stream_input(queries, data, watermark)
    source = source_of(asked, late=late is not None)
    folder = Checkpoint(source.session, str(checkpoint))
    stored = folder.latest()
    if stored is not None and not stored.running.own_definitions:
        asked = stream_input(queries, data, watermark, own_definitions=False)
        source = source_of(asked, late=late is not None)
    plan = _plan(asked.queries, options.strategy, options.plan_options)
    plan = plan_for_stream(plan)
    if stored is not None and options.drops_queries:
        plan = without_dropped(plan, stored.running)
    bound = source.bind(plan)
    mark = uuid4().hex[:8] if stored is None else stored.mark
    context = SinkContext(session=source.session, mark=mark, checkpoint=folder.directory)
    outputs = open_outputs(sink, late, context, asked.data, bound)
    launcher = Launcher(
        engine_of(source.session),
        source=source,
        checkpoint=folder,
        outputs=outputs,
        mark=mark,
        trigger=trigger_of(trigger),
        options=options,
    )
    runner = Runner(launcher)
    if stored is None:
        runner.start_new(bound)
    else:
        runner.resume(plan, stored.running)
    planner = StreamPlanner(runner)
    watch(runner, planner)
    return Pipeline(runner, planner)


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
    then there is no `data`. If queries join the stream with static tables, `data` has the stream
    and the tables by name. Rows may be late by `watermark`: 10 seconds, or as the DataFrames say.
    The first column, `query`, has the query's name. Output mode is append, and an answer comes out
    when the watermark passes the end of its window. The session's state store provider must be
    RocksDB. `buckets` of keys are as many as the session has shuffle partitions if they are not
    given; give them where a checkpoint of yours may meet a session with others. On a checkpoint of
    yours it goes on with the same queries, in any order and under any names; others are refused in
    the first batch. `start` does more:
    a sink per query, restarts with other queries, figures. `technique`, `latency` and
    `approximate` are as in `plan`.
    """
    asked = stream_input(queries, data, watermark)
    source = source_of(asked)
    session = source.session
    if source.warning is not None:
        log.warning("%s", source.warning)
    if session.conf.get(PROVIDER, "") != ROCKSDB:
        raise RunError(
            f"a stream keeps its state in RocksDB; set {PROVIDER} to {ROCKSDB} in the session"
        )
    options = PlanOptions(technique=technique, latency=latency, approximate=approximate)
    plan = _plan(asked.queries, strategy, options)
    plan = plan_for_stream(plan)
    bound = source.bind(plan)
    # The caller starts the query, with the session's settings.
    partitions = shuffle_partitions(session)
    running = source.first_start(bound, buckets=buckets, partitions=partitions, retain=0)
    answers, projected = bound.run(running, definitions=tree_definitions(running))
    return projected.long_form(answers)


def _plan(queries: Queries, strategy: str, options: PlanOptions) -> Plan:
    """Returns a plan as it is, and optimizes queries."""
    if isinstance(queries, Plan):
        return queries
    return optimize(workload(queries, options=options), strategy)
