"""Compares two resolved plans: do they read the same rows?

Spark's `sameResult` compares the folders that are read, and not the files that Spark listed in them
when the DataFrame was made. Tables of other catalogs say themselves when they are equal, and many
compare their names alone.
"""

import re
from typing import Any

from py4j.java_gateway import is_instance_of
from pyspark.sql import SparkSession

from muntin.spark.engine.catalyst import Plan, items

_SQL = "org.apache.spark.sql.execution.datasources"
# What of a listing decides which rows are read, and what `_metadata` says of them.
_FILE = re.compile(r"path=(.*?); isDirectory=.*?; length=(\d+);.*?; modification_time=(\d+);")


def same_rows(one: Plan, other: Plan, session: SparkSession) -> bool:
    """Whether two plans give the same rows, of the same files."""
    if _is_one(one, other, session):
        return True
    if not one.sameResult(other):
        return False
    sources, others = _sources(one, session), _sources(other, session)
    return len(sources) == len(others) and all(
        _is_same(mine, theirs, session) for mine, theirs in zip(sources, others, strict=True)
    )


def _sources(plan: Plan, session: SparkSession) -> list[Any]:
    """Returns what the leaves of a plan, and of its subqueries, read: indexes of files, and tables
    of other catalogs."""
    leaves = [
        leaf
        for each in [plan, *items(plan.subqueriesAll())]
        for leaf in items(each.collectLeaves())
    ]
    sources = []
    for leaf in leaves:
        if _is(leaf, "LogicalRelation", session) and _is(
            leaf.relation(), "HadoopFsRelation", session
        ):
            sources.append(leaf.relation().location())
        elif _is(leaf, "v2.DataSourceV2Relation", session):
            table = leaf.table()
            sources.append(table.fileIndex() if _is(table, "v2.FileTable", session) else table)
    return sources


def _is_same(one: Any, other: Any, session: SparkSession) -> bool:
    """Whether two sources are one object, or list the same files."""
    if _is_one(one, other, session):
        return True
    if not all(_is(each, "PartitioningAwareFileIndex", session) for each in (one, other)):
        # An index that lists files when the query runs has no listing to compare.
        return all(_is(each, "FileIndex", session) for each in (one, other))
    return _listing(one) == _listing(other)


def _is_one(one: Any, other: Any, session: SparkSession) -> bool:
    identity = session._jvm.java.lang.System.identityHashCode  # type: ignore[union-attr]
    return bool(identity(one) == identity(other))


def _listing(index: Any) -> list[tuple[str, ...]]:
    """Returns path, length and time of all files, in order: one call of the JVM, however many."""
    return sorted(_FILE.findall(index.allFiles().toString()))


def _is(value: Any, name: str, session: SparkSession) -> bool:
    gateway = session.sparkContext._gateway
    return bool(is_instance_of(gateway, value, f"{_SQL}.{name}"))
