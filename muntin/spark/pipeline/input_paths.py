"""Finds where a streaming DataFrame reads files from, and refuses to write there."""

import re
from collections.abc import Mapping

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

from muntin.errors import RunError


def input_paths(data: DataFrame) -> list[str]:
    """Returns the folders, files and patterns that a stream reads; none if it reads no files."""
    try:
        leaves = data._jdf.queryExecution().analyzed().collectLeaves()
        sources = [leaves.apply(index) for index in range(leaves.size())]
        paths = []
        for leaf in sources:
            if leaf.getClass().getSimpleName() == "StreamingRelation":
                path = leaf.dataSource().options().get("path")
                paths += [str(path.get())] if path.isDefined() else []
        return paths
    except Py4JError:
        # These are internal classes of Spark, which may differ in another version.
        return []


def check_apart(session: SparkSession, inputs: list[str], written: Mapping[str, str]) -> None:
    """Refuse to write into what is read, or to read what is written; `written` are the folders
    by what they are called."""
    for read in inputs:
        # For a pattern, take the folder above it.
        source = _whole(session, re.split(r"/[^/]*[*?\[{]", read)[0])
        for what, directory in written.items():
            target = _whole(session, directory)
            if _is_in(target, source) or _is_in(source, target):
                where = "inside" if _is_in(target, source) else "around"
                raise RunError(
                    f"the {what} {directory} is {where} the input {read}, and the stream would "
                    f"read what it writes; give another folder"
                )


def check_late_folder(session: SparkSession, late: str, written: Mapping[str, str]) -> None:
    """Refuse a folder for late rows that is the checkpoint, or that of all answers."""
    for what, directory in written.items():
        if _whole(session, late) == _whole(session, directory):
            raise RunError(f"late rows need a folder of their own, and {late} is the {what}")


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _whole(session: SparkSession, path: str) -> str:
    assert session._jvm is not None
    hadoop_path = session._jvm.org.apache.hadoop.fs.Path(path)
    configuration = session.sparkContext._jsc.hadoopConfiguration()
    return str(hadoop_path.getFileSystem(configuration).makeQualified(hadoop_path).toString())
