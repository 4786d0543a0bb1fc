"""The file systems that Spark's Hadoop client reaches."""

from posixpath import normpath
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

from muntin.spark.engine.connect_plans import paths_of_relation, relation_of
from muntin.spark.engine.session_kind import is_connect, may_use_internals, needs_jvm


class FileSystem:
    """The file system of a directory, and the classes of Hadoop to use it with."""

    def __init__(self, session: SparkSession, directory: str) -> None:
        needs_jvm(session, "what works with files by itself", "write with the DataFrame's writer")
        # By its whole name: for each part of a name the JVM would look for a class in all its jars.
        self.path = getattr(session._jvm, "org.apache.hadoop.fs.Path")
        self.texts = getattr(session._jvm, "org.apache.commons.io.IOUtils")
        self.files = getattr(session._jvm, "org.apache.hadoop.fs.FileUtil")
        self.configuration = session.sparkContext._jsc.hadoopConfiguration()
        self.system: Any = self.path(directory).getFileSystem(self.configuration)


def whole_path(session: SparkSession, path: str) -> str:
    """Returns a path with its scheme and from the root on; on a server, as far as it is known."""
    if is_connect(session):
        return normpath(path.removeprefix("file://").removeprefix("file:"))
    system = FileSystem(session, path)
    return str(system.system.makeQualified(system.path(path)).toString())


def paths_of_stream(data: DataFrame) -> list[str]:
    """Returns the folders, files and patterns that a stream reads, as far as they are known; none
    if it reads no files."""
    if is_connect(data.sparkSession):
        return paths_of_relation(relation_of(data))
    if not may_use_internals(data.sparkSession):
        return []
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
