"""Controls what Spark computes once: frames that it stores, and plans that look alike.

Spark reads from storage for any plan that looks like a stored one, and computes plans of one job
that look alike once. Its `sameResult` compares the folders that are read, but not the files that
were listed in them when the DataFrame was made. Tables of other catalogs say themselves when they
are equal, and many compare their names alone.
"""

import logging
import re
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import uuid4

from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JError
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from muntin.spark.engine.catalyst import Plan, analyzed_plan, frame_of, rewrite, to_list
from muntin.spark.engine.session_kind import is_connect, may_use_internals
from muntin.spark.engine.settings import PRUNING, temporary_settings
from muntin.spark.error_text import JOB_ERRORS, job_error_text

log = logging.getLogger("muntin")

# Without it, Spark stores a frame with all of its shuffle partitions, however little is in them,
# and every reader starts as many Python tasks.
_ADAPTIVE = "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning"
_SQL = "org.apache.spark.sql.execution.datasources"
# An index of files that were listed when it was made.
_FILE_INDEX = "PartitioningAwareFileIndex"
# What of a listing decides which rows are read, and what `_metadata` says of them.
_FILE = re.compile(r"path=(.*?); isDirectory=.*?; length=(\d+);.*?; modification_time=(\d+);")


def store(frame: DataFrame) -> DataFrame:
    """Have Spark store a frame when it is first computed; returns the frame."""
    frame.sparkSession.conf.set(PRUNING, "false")
    with temporary_settings(frame.sparkSession, {_ADAPTIVE: "true"}):
        return frame.persist(StorageLevel.MEMORY_AND_DISK)


def try_compute(frame: DataFrame) -> bool:
    """Compute a stored frame now; returns whether that succeeded, else frees the frame."""
    try:
        frame.count()
    except JOB_ERRORS as error:
        log.warning(
            "queries are answered one by one, since one of them fails: %s", job_error_text(error)
        )
        frame.unpersist()
        return False
    return True


def same_rows(one: Plan, other: Plan, session: SparkSession) -> bool:
    """Whether two plans give the same rows, of the same files."""
    if _is_same_object(one, other, session):
        return True
    if not one.sameResult(other):
        return False
    sources, others = _sources(one, session), _sources(other, session)
    return len(sources) == len(others) and all(
        _is_same_source(mine, theirs, session) for mine, theirs in zip(sources, others, strict=True)
    )


def distinct_reads(frames: Mapping[str, DataFrame], session: SparkSession) -> dict[str, DataFrame]:
    """Returns the same rows, as frames whose reads of files Spark does not confuse in one job.

    A leaf that looks like one of an earlier frame and reads other files becomes a sample of all its
    rows: Spark compares samples by seed. Where plans may not be read, a frame is sampled as a whole
    if it reads other files of the same folder than an earlier one.
    """
    if len(frames) < 2 or is_connect(session):
        return dict(frames)
    if not may_use_internals(session):
        return _sample_alike_frames(frames)
    # The leaves of the frames so far, by their identity.
    leaves: dict[int, Plan] = {}
    distinct = {}
    for name, frame in frames.items():
        plan = analyzed_plan(frame)
        distinct[name] = _sample_mistaken_leaves(frame, plan, leaves, session)
        for leaf in to_list(plan.collectLeaves()):
            leaves.setdefault(_object_id(leaf, session), leaf)
    return distinct


def _sample_alike_frames(frames: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
    earlier: list[frozenset[str]] = []
    distinct = {}
    for name, frame in frames.items():
        files = frozenset(frame.inputFiles())
        is_alike = any(files != other and _folders(files) & _folders(other) for other in earlier)
        distinct[name] = frame.sample(fraction=1.0, seed=len(earlier)) if is_alike else frame
        earlier.append(files)
    return distinct


def _sample_mistaken_leaves(
    frame: DataFrame, plan: Plan, earlier: Mapping[int, Plan], session: SparkSession
) -> DataFrame:
    """Returns a frame of this plan with samples of the leaves that Spark takes for earlier ones."""

    def sample_if_mistaken(part: Plan) -> Plan | None:
        if not part.children().isEmpty():
            return None
        if not _is_mistaken(part, earlier, session):
            return part
        sample = frame_of(part, session).sample(fraction=1.0, seed=len(earlier))
        return analyzed_plan(sample)

    if any(_is_mistaken(leaf, earlier, session) for leaf in to_list(plan.collectLeaves())):
        return frame_of(rewrite(plan, sample_if_mistaken, session), session)
    return frame


def _is_mistaken(leaf: Plan, earlier: Mapping[int, Plan], session: SparkSession) -> bool:
    """Whether Spark takes a leaf for an earlier one that lists other files."""
    if _object_id(leaf, session) in earlier:
        return False
    if not any(_is_instance(source, _FILE_INDEX, session) for source in _sources(leaf, session)):
        return False
    return any(
        leaf.sameResult(other) and not same_rows(leaf, other, session) for other in earlier.values()
    )


def with_unique_plan(frame: DataFrame) -> DataFrame:
    """Returns the same rows, as a plan that equals no other.

    It has a condition that always holds, which Spark's optimizer removes.
    """
    return frame.where(f"'{uuid4().hex}' IS NOT NULL")


def _folders(files: Iterable[str]) -> set[str]:
    """Returns the folders of files, without those that are named after values of a column."""
    return {re.sub(r"(/[^/=]+=[^/]*)*/[^/]*$", "", file) for file in files}


def _sources(plan: Plan, session: SparkSession) -> list[Any]:
    """Returns what the leaves of a plan, and of its subqueries, read: indexes of files, and tables
    of other catalogs."""
    leaves = [
        leaf
        for each in [plan, *to_list(plan.subqueriesAll())]
        for leaf in to_list(each.collectLeaves())
    ]
    sources = []
    for leaf in leaves:
        if _is_instance(leaf, "LogicalRelation", session) and _is_instance(
            leaf.relation(), "HadoopFsRelation", session
        ):
            sources.append(leaf.relation().location())
        elif _is_instance(leaf, "v2.DataSourceV2Relation", session):
            table = leaf.table()
            sources.append(
                table.fileIndex() if _is_instance(table, "v2.FileTable", session) else table
            )
    return sources


def _is_same_source(one: Any, other: Any, session: SparkSession) -> bool:
    """Whether two sources are one object, list the same files, or are of one version."""
    if _is_same_object(one, other, session):
        return True
    if all(_is_instance(each, _FILE_INDEX, session) for each in (one, other)):
        return _listed_files(one) == _listed_files(other)
    if all(_is_instance(each, "FileIndex", session) for each in (one, other)):
        # They list files when a query runs.
        return True
    version = _version(one)
    return version is not None and version == _version(other)


def _is_same_object(one: Any, other: Any, session: SparkSession) -> bool:
    return _object_id(one, session) == _object_id(other, session)


def _object_id(value: Any, session: SparkSession) -> int:
    """Returns the number that the JVM gives an object, whatever it is equal to."""
    # By its whole name, since each part of a path is looked up by a call.
    return int(getattr(session._jvm, "java.lang.System").identityHashCode(value))


def _version(table: Any) -> str | None:
    """Returns the version of a table's rows; None if its catalog, or this Spark, has none."""
    try:
        version: str | None = table.version()
    except Py4JError:
        return None
    return version


def _listed_files(index: Any) -> list[tuple[str, ...]]:
    """Returns path, length and time of all files, in order: one call of the JVM, however many."""
    return sorted(_FILE.findall(index.allFiles().toString()))


def _is_instance(value: Any, name: str, session: SparkSession) -> bool:
    gateway = session.sparkContext._gateway
    return bool(is_instance_of(gateway, value, f"{_SQL}.{name}"))
