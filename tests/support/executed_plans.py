"""What Spark did for a frame: the file scans of the plan that it executed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from pyspark import StorageLevel
from pyspark.sql.classic.dataframe import DataFrame

from muntin.spark.engine.settings import temporary_settings

_FILE_SCANS = {"FileSourceScanExec", "BatchScanExec"}


def scans(frame: DataFrame) -> int:
    """Runs the frame and returns how often files were scanned for it.

    What is scanned for an exchange that is reused, or for a cached table, counts once.
    """
    return len(_file_scans(frame))


def columns_read(frame: DataFrame) -> set[str]:
    """Runs the frame and returns the columns that any scan took from its files."""
    return {name for scan in _file_scans(frame) for name in scan.schema().fieldNames()}


def _file_scans(frame: DataFrame) -> list[Any]:
    execution = frame._jdf.queryExecution()
    # An action on this execution: those of the frame itself may plan another.
    execution.toRdd().count()
    nodes = _nodes(execution.executedPlan())
    scans = {node.id(): node for node in nodes if _kind(node) in _FILE_SCANS}
    return list(scans.values())


def _nodes(plan: Any) -> Iterator[Any]:
    """Yields all nodes of a plan, those that Spark does not list as children too; some twice."""
    yield plan
    for child in (*_hidden(plan), *_listed(plan.children()), *_listed(plan.subqueries())):
        yield from _nodes(child)


def _hidden(plan: Any) -> list[Any]:
    """Returns what a leaf of the plan stands for."""
    kind = _kind(plan)
    if kind == "AdaptiveSparkPlanExec":
        return [plan.executedPlan()]
    if kind.endswith("QueryStageExec"):
        return [plan.plan()]
    if kind == "InMemoryTableScanExec":
        return [plan.relation().cachedPlan()]
    if kind in ("ReusedExchangeExec", "ReusedSubqueryExec"):
        return [plan.child()]
    return []


def _kind(plan: Any) -> str:
    return str(plan.getClass().getSimpleName())


def _listed(nodes: Any) -> list[Any]:
    """Returns the items of a Scala sequence."""
    return [nodes.apply(index) for index in range(nodes.length())]


@contextmanager
def stored_frames() -> Iterator[Callable[[], int]]:
    """Yields how many of the frames that the block has Spark store are stored."""
    persist = DataFrame.persist
    given: list[DataFrame] = []

    def noted(frame: DataFrame, *level: StorageLevel) -> DataFrame:
        given.append(frame)
        return persist(frame, *level)

    with patch.object(DataFrame, "persist", noted):
        yield lambda: sum(frame.storageLevel != StorageLevel.NONE for frame in given)


def counting_rows(frame: DataFrame):
    """The frame by a Python function, and a counter of the rows that it has ever seen."""
    seen = frame.sparkSession.sparkContext.accumulator(0)

    def look(batches):
        for batch in batches:
            seen.add(batch.num_rows)
            yield batch

    return frame.mapInArrow(look, frame.schema), seen


@contextmanager
def counted_jobs(spark) -> Iterator[list[int]]:
    """Gives a list that has the number of Spark jobs of the block after it.

    Adaptive, Spark would run a job more for each stage that it plans by itself.
    """
    context, jobs = spark.sparkContext, []
    context.setJobGroup("counted", "")
    tracker = context.statusTracker()
    before = len(tracker.getJobIdsForGroup("counted"))
    try:
        with temporary_settings(spark, {"spark.sql.adaptive.enabled": "false"}):
            yield jobs
        jobs.append(len(tracker.getJobIdsForGroup("counted")) - before)
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
