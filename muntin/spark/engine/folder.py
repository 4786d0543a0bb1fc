"""Folders on the file systems that a session reaches: by Hadoop's client, or as Spark jobs."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from posixpath import normpath
from typing import Any, Protocol

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from muntin.errors import RunError
from muntin.spark.engine.session_kind import is_connect, require_jvm

# Hadoop's client for local files sets the permissions of each new file and of the file with its
# checksum, and starts a process for either: ten small files cost as much as a hundred thousand
# answers in them. With these options it writes neither checksums nor permissions.
RAW_FILE_OPTIONS = {
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.impl.disable.cache": "true",
}
# Options of a write to a hidden folder, from which files are moved when all of them are there.
# Nobody reads the marker of success.
STAGING_OPTIONS = {
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "mapreduce.fileoutputcommitter.algorithm.version": "2",
    **RAW_FILE_OPTIONS,
}
_MISSING = "PATH_NOT_FOUND"


class Texts(Protocol):
    """Texts by their path below one directory, in any kind of session."""

    def has(self, name: str) -> bool:
        """Whether there is a text of a name."""

    def names(self, name: str = "") -> list[str]:
        """Returns the names in a folder, in no order; none if there is no folder."""

    def names_with_prefix(self, prefix: str) -> list[str]:
        """Returns the names in the directory that begin with a prefix, in no order."""

    def read(self, name: str) -> str:
        """The text of a name."""

    def write(self, name: str, text: str) -> None:
        """Put a text in place of an older one."""

    def delete(self, name: str) -> None:
        """Delete a text."""


def texts_in(session: SparkSession, directory: str) -> Texts:
    """Returns the texts in a directory; on Spark Connect, that of the server."""
    if is_connect(session):
        return ServerFolder(session, directory)
    return Folder(session, directory)


class Folder:
    """Files and folders by their path below one directory."""

    def __init__(self, session: SparkSession, directory: str) -> None:
        require_jvm(session, "what works with files by itself", "write with the DataFrame's writer")
        self._directory = directory
        # By their whole names: the JVM would look for a class in all its jars for each part of one.
        self._path = getattr(session._jvm, "org.apache.hadoop.fs.Path")
        self._texts = getattr(session._jvm, "org.apache.commons.io.IOUtils")
        self._files = getattr(session._jvm, "org.apache.hadoop.fs.FileUtil")
        self._configuration = session.sparkContext._jsc.hadoopConfiguration()
        self._system: Any = self._path(directory).getFileSystem(self._configuration)

    @property
    def path(self) -> str:
        """The absolute path of the directory, with its scheme."""
        return str(self._system.makeQualified(self._path(self._directory)).toString())

    def has(self, name: str) -> bool:
        """Whether there is a file or folder of a name."""
        return bool(self._system.exists(self._at(name)))

    def names(self, name: str = "") -> list[str]:
        """Returns the names in a folder, in no order; none if there is no folder."""
        path = self._at(name) if name else self._path(self._directory)
        if not self._system.exists(path):
            return []
        return [status.getPath().getName() for status in self._system.listStatus(path)]

    def names_with_prefix(self, prefix: str) -> list[str]:
        """Returns the names in the directory that begin with a prefix, in no order."""
        return [name for name in self.names() if name.startswith(prefix)]

    def sizes(self, name: str) -> dict[str, int]:
        """Returns the size of each file in a folder, in bytes."""
        statuses = self._system.listStatus(self._at(name))
        return {status.getPath().getName(): int(status.getLen()) for status in statuses}

    def read(self, name: str) -> str:
        """The text of a file."""
        stream = self._system.open(self._at(name))
        try:
            return str(self._texts.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write(self, name: str, text: str) -> None:
        """Write a whole file, then move it in place of an older one, which is deleted first."""
        parent, _, last = name.rpartition("/")
        hidden = f"{parent}/.{last}.new" if parent else f".{last}.new"
        self.put(hidden, text.encode())
        self.move(hidden, name)

    def put(self, name: str, data: bytes) -> None:
        """Write a file in place of an older one; a reader may meanwhile see a part of it."""
        stream = self._system.create(self._at(name), True)
        try:
            stream.write(bytearray(data))
        finally:
            stream.close()

    def make(self, name: str) -> None:
        """Make a folder, if there is none."""
        self._system.mkdirs(self._at(name))

    def copy(self, source: str, target: str) -> None:
        """Copy a file, or a folder with all that is in it, to a place that is free."""
        places = self._system, self._at(source), self._system, self._at(target)
        if not self._files.copy(*places, False, self._configuration):
            raise RunError(f"{self._directory}/{source} could not be copied to {target}")

    def move(self, source: str, target: str) -> None:
        """Move a file or folder to the place of another, which is deleted."""
        self.delete(target)
        self.rename(source, target)

    def move_files(self, source: str, target: str) -> None:
        """Move the data files of a folder into another."""
        for name in self.names(source):
            # Spark's file names are unique; only its marker of success repeats.
            if not name.startswith("_"):
                self.rename(f"{source}/{name}", f"{target}/{name}")

    def delete(self, name: str) -> None:
        """Delete a file or a folder with all that is in it."""
        self._system.delete(self._at(name), True)

    def rename(self, source: str, target: str) -> None:
        """Move a file or folder to a place that is free."""
        if not self._system.rename(self._at(source), self._at(target)):
            raise RunError(f"{self._directory}/{source} could not be moved to {target}")

    def _at(self, name: str) -> object:
        return self._path(f"{self._directory}/{name}")


def absolute_path(session: SparkSession, path: str) -> str:
    """Returns the absolute path with its scheme; with Spark Connect, the path as it was written."""
    if is_connect(session):
        return normpath(path.removeprefix("file://").removeprefix("file:"))
    return Folder(session, path).path


class ServerFolder:
    """Texts by their path below a directory of a Spark Connect server; every call is a Spark job.

    A client has no file system, but Spark's readers and writers reach the server's. A text is
    written as a folder with one file in it; an empty folder stands for a deleted text. Texts that
    others wrote are files.
    """

    def __init__(self, session: SparkSession, directory: str) -> None:
        self._session = session
        self._directory = directory.rstrip("/") or "/"

    def has(self, name: str) -> bool:
        """Whether there is a text of a name."""
        return bool(self._files(self._at(name)))

    def names(self, name: str = "") -> list[str]:
        """Returns the names in a folder, in no order; none if there is no folder."""
        folder = f"{self._directory}/{name}".rstrip("/")
        return list({_names_below(folder, path)[0] for path in self._files(self._at(name))})

    def names_with_prefix(self, prefix: str) -> list[str]:
        """Returns the names in the directory that begin with a prefix, in no order."""
        paths = self._files(f"{self._at('')}/{_escape_pattern(prefix)}*")
        return list({_names_below(self._directory, path)[0] for path in paths})

    def matching_folders(self, pattern: str) -> list[str]:
        """Returns the folders that match a pattern and have files in them.

        Each part of the pattern is a name or has an asterisk.
        """
        depth = pattern.count("/") + 1
        paths = self._files(f"{self._at('')}/{pattern}")
        return list({"/".join(_names_below(self._directory, path)[:depth]) for path in paths})

    def read(self, name: str) -> str:
        """The text of a name; raises `ValueError` if there is none."""
        with self._naming_place("read", name):
            try:
                rows = self._session.read.text(self._at(name), wholetext=True).collect()
            except AnalysisException as error:
                if error.getCondition() != _MISSING:
                    raise
                rows = []
        if not rows:
            raise ValueError("it is gone")
        return str(rows[0].value).rstrip("\n")

    def write(self, name: str, text: str) -> None:
        """Put a text in place of an older one, which is deleted first."""
        frame = self._session.createDataFrame([(text,)], "value STRING").coalesce(1)
        with self._naming_place("written", name):
            frame.write.mode("overwrite").text(f"{self._directory}/{name}")

    def delete(self, name: str) -> None:
        """Put an empty folder in the place of a text; see the class."""
        nothing = self._session.createDataFrame([], "value STRING")
        with self._naming_place("written", name):
            nothing.write.mode("overwrite").text(f"{self._directory}/{name}")

    def _at(self, name: str) -> str:
        """Returns a path for Spark's readers, which take some characters for a pattern."""
        return _escape_pattern(f"{self._directory}/{name}".rstrip("/"))

    def _files(self, pattern: str) -> list[str]:
        """Returns the paths of all files, except hidden ones, below the folders of a pattern."""
        reader = self._session.read.format("binaryFile").option("recursiveFileLookup", "true")
        with self._naming_place("read", ""):
            try:
                rows = reader.load(pattern).where("length > 0").select("path").collect()
            except AnalysisException as error:
                if error.getCondition() != _MISSING:
                    raise
                return []
        return [row.path for row in rows]

    @contextmanager
    def _naming_place(self, what: str, name: str) -> Iterator[None]:
        """Turn an error of Spark's in the block into one that names the place."""
        try:
            yield
        except PySparkException as error:
            said = str(error).splitlines()[0]
            where = f"{self._directory}/{name}".rstrip("/")
            raise RunError(f"{where} cannot be {what}: {said}") from None


def _escape_pattern(path: str) -> str:
    return re.sub(r"([*?\[\]{}\\])", r"\\\1", path)


def _names_below(folder: str, path: str) -> list[str]:
    """Returns the parts of a file's path below a folder; `path` is absolute, with its scheme."""
    place = normpath(_without_scheme(folder))
    place = place if place.startswith("/") else f"/{place}"
    whole = _without_scheme(path)
    return whole[whole.rindex(f"{place}/") + len(place) + 1 :].split("/")


def _without_scheme(path: str) -> str:
    return re.sub(r"^[A-Za-z][A-Za-z0-9+.-]*:(//[^/]*)?", "", path)
