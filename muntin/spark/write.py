"""Answers to folders: computed once, written beside their place, then moved there."""

from collections.abc import Iterable, Mapping
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from muntin.errors import RunError, nearest

MODES = ("error", "overwrite", "append")


def write(
    session: SparkSession,
    answers: Iterable[tuple[str, DataFrame]],
    names: list[str],
    directory: str,
    *,
    format: str,
    mode: str,
    options: Mapping[str, str],
) -> None:
    """Write every answer to `directory/name`; none is in place before all are written."""
    if mode not in MODES:
        raise RunError(f"no write mode is called {mode!r}; {nearest(mode, list(MODES))}")
    folder = _Folder(session, directory)
    if mode == "error":
        for name in names:
            if folder.has(name):
                raise RunError(
                    f"query {name!r}: {directory}/{name} is there already; "
                    f"write elsewhere, or with mode='overwrite' or mode='append'"
                )
    staging = f".muntin-{uuid4().hex}"
    try:
        for name, frame in answers:
            frame.write.format(format).options(**options).save(f"{directory}/{staging}/{name}")
        for name in names:
            if mode == "append" and folder.has(name):
                folder.move_files(f"{staging}/{name}", name)
            else:
                folder.move(f"{staging}/{name}", name)
    finally:
        folder.delete(staging)


class _Folder:
    """A folder on any file system that Spark's Hadoop client reaches."""

    def __init__(self, session: SparkSession, directory: str) -> None:
        assert session._jvm is not None
        self._path = session._jvm.org.apache.hadoop.fs.Path
        self._directory = directory
        configuration = session.sparkContext._jsc.hadoopConfiguration()
        self._system = self._path(directory).getFileSystem(configuration)

    def has(self, name: str) -> bool:
        return bool(self._system.exists(self._at(name)))

    def move(self, source: str, target: str) -> None:
        self.delete(target)
        self._rename(source, target)

    def move_files(self, source: str, target: str) -> None:
        for status in self._system.listStatus(self._at(source)):
            name = status.getPath().getName()
            # Spark's file names are unique; only its marker of success repeats.
            if not name.startswith("_"):
                self._rename(f"{source}/{name}", f"{target}/{name}")

    def delete(self, name: str) -> None:
        self._system.delete(self._at(name), True)

    def _rename(self, source: str, target: str) -> None:
        if not self._system.rename(self._at(source), self._at(target)):
            raise RunError(f"{self._directory}/{source} could not be moved to {target}")

    def _at(self, name: str) -> object:
        return self._path(f"{self._directory}/{name}")
