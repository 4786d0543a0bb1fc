"""A folder on any file system that Spark's Hadoop client reaches."""

from typing import Protocol

from pyspark.sql import SparkSession

from muntin.errors import RunError
from muntin.spark.engine.file_system import FileSystem
from muntin.spark.engine.server_folder import ServerFolder
from muntin.spark.engine.session_kind import is_connect

# Hadoop's client for local files sets the permissions of each new file and of the file with its
# checksum, and starts a process for either: ten small files cost as much as a hundred thousand
# answers in them. With these options it writes neither checksums nor permissions.
RAW_FILES = {
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.impl.disable.cache": "true",
}
# Options of a write to a hidden folder, from which files are moved when all of them are there.
# Nobody reads the mark of success beside them.
STAGED = {
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "mapreduce.fileoutputcommitter.algorithm.version": "2",
    **RAW_FILES,
}


class Texts(Protocol):
    """Texts by their path below one directory, which any kind of session reaches."""

    def has(self, name: str) -> bool:
        """Whether there is a text of a name."""

    def names(self, name: str = "") -> list[str]:
        """Returns the names in a folder, in no order; none if there is no folder."""

    def beginning(self, prefix: str) -> list[str]:
        """Returns the names in the directory that begin so, in no order."""

    def read(self, name: str) -> str:
        """The text of a name."""

    def write(self, name: str, text: str) -> None:
        """Put a text in place of an older one."""

    def delete(self, name: str) -> None:
        """Delete a text."""


def texts_in(session: SparkSession, directory: str) -> Texts:
    """Returns the texts in a directory, as the session reaches them."""
    if is_connect(session):
        return ServerFolder(session, directory)
    return Folder(session, directory)


class Folder:
    """Files and folders by their path below one directory."""

    def __init__(self, session: SparkSession, directory: str) -> None:
        hadoop = FileSystem(session, directory)
        self._path, self._texts, self._files = hadoop.path, hadoop.texts, hadoop.files
        self._directory = directory
        self._configuration, self._system = hadoop.configuration, hadoop.system

    def has(self, name: str) -> bool:
        """Whether there is a file or folder of a name."""
        return bool(self._system.exists(self._at(name)))

    def names(self, name: str = "") -> list[str]:
        """Returns the names in a folder, in no order; none if there is no folder."""
        path = self._at(name) if name else self._path(self._directory)
        if not self._system.exists(path):
            return []
        return [status.getPath().getName() for status in self._system.listStatus(path)]

    def beginning(self, prefix: str) -> list[str]:
        """Returns the names in the directory that begin so, in no order."""
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
        """Put a file in place, whole or not at all; an older one is deleted first."""
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
