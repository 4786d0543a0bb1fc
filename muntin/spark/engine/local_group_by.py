"""A GROUP BY that stays inside the partitions of its input: no exchange, a row per group in each.

Spark aggregates twice, before and after the exchange that brings the rows of a group together. If
the caller combines rows of one group anyway, the first step is enough, but Spark SQL cannot express
that. So the physical plan is changed: Spark merges its two steps into one, as it does when no
exchange is needed, and the step requires no distribution of its input.
"""

from typing import Any

from py4j.java_gateway import JavaClass
from pyspark.sql import DataFrame

from muntin.spark.engine.catalyst import Plan, children, frame_of, rewrite, to_list
from muntin.spark.engine.session_kind import cores_of, may_use_internals

_EXECUTION = "org.apache.spark.sql.execution"
# Spark's rule that merges two steps, from 4.3 on; without it the frame is left as it is.
_MERGING = "CombineAdjacentAggregation$"
_AGGREGATES = ("HashAggregateExec", "ObjectHashAggregateExec", "SortAggregateExec")
# Operators that read partition by partition. Above any other, Spark may have to move rows.
_PROJECT = "ProjectExec"
_IN_PLACE = (_PROJECT, "FilterExec")
_SCANS = ("FileSourceScanExec", "BatchScanExec", "LocalTableScanExec", "RangeExec", "RDDScanExec")
# Each partition may have rows of every group. Up to so many bytes of input for each core, what is
# left to combine fits in memory even if no two rows of a partition are of one group.
_MOST_BYTES = 1 << 29


def group_within_partitions(frame: DataFrame) -> DataFrame:
    """Returns the rows of a GROUP BY of each partition: a group may have a row in several.

    It works for an aggregation of one modest scan, projected or not. Any other frame is returned as
    it is, and so are all before Spark 4.3 and where plans may not be read.
    """
    session = frame.sparkSession
    if not may_use_internals(session):
        return frame
    execution = frame._jdf.queryExecution()
    whole = execution.optimizedPlan()
    sizes = [float(str(leaf.stats().sizeInBytes())) for leaf in to_list(whole.collectLeaves())]
    if sum(sizes) > _MOST_BYTES * cores_of(session):
        return frame
    jvm: Any = session._jvm
    merging = getattr(jvm, f"{_EXECUTION}.{_MERGING}")
    if not isinstance(merging, JavaClass):
        return frame
    merged = getattr(merging, "MODULE$").apply(execution.sparkPlan())
    step = merged
    while _class_name(step) == _PROJECT:
        (step,) = children(step)
    if _class_name(step) not in _AGGREGATES or not _is_in_place(*children(step)):
        return frame
    anywhere = step.copy(
        jvm.scala.Option.empty(),
        step.isStreaming(),
        step.numShufflePartitions(),
        step.groupingExpressions(),
        step.aggregateExpressions(),
        step.aggregateAttributes(),
        step.initialInputBufferOffset(),
        step.resultExpressions(),
        step.child(),
    )
    physical = rewrite(
        merged, lambda each: anywhere if _class_name(each) in _AGGREGATES else None, session
    )
    stages = getattr(jvm, f"{_EXECUTION}.adaptive.LogicalQueryStage")
    return frame_of(stages(whole, physical), session)


def _is_in_place(plan: Plan) -> bool:
    """Whether a plan is one scan, projected and filtered."""
    while _class_name(plan) in _IN_PLACE:
        (plan,) = children(plan)
    return _class_name(plan) in _SCANS


def _class_name(plan: Plan) -> str:
    """Returns the class of a physical operator."""
    return str(plan.getClass().getSimpleName())
