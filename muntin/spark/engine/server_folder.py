"""A folder of texts on the machine of a server, which Spark's own readers and writers reach.

A client of Spark Connect has no file system. A text is written as a folder with one file in it,
and an empty one stands for a text that was deleted. Texts that others wrote are files.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from posixpath import normpath

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from muntin.errors import RunError

_MISSING = "PATH_NOT_FOUND"


class ServerFolder:
    """Texts by their path below one directory. Every call is a job of Spark's."""

    def __init__(self, session: SparkSession, directory: str) -> None:
        self._session = session
        self._directory = directory.rstrip("/") or "/"

    def has(self, name: str) -> bool:
        """Whether there is a text of a name."""
        return bool(self._files(self._at(name)))

    def names(self, name: str = "") -> list[str]:
        """Returns the names in a folder, in no order; none if there is no folder."""
        folder = f"{self._directory}/{name}".rstrip("/")
        return list({_below(folder, path)[0] for path in self._files(self._at(name))})

    def beginning(self, prefix: str) -> list[str]:
        """Returns the names in the directory that begin so, in no order."""
        paths = self._files(f"{self._at('')}/{_escaped(prefix)}*")
        return list({_below(self._directory, path)[0] for path in paths})

    def places(self, pattern: str) -> list[str]:
        """Returns the folders that a pattern stands for, if there are files in them; each part of
        the pattern is a name or has an asterisk."""
        depth = pattern.count("/") + 1
        paths = self._files(f"{self._at('')}/{pattern}")
        return list({"/".join(_below(self._directory, path)[:depth]) for path in paths})

    def read(self, name: str) -> str:
        """The text of a name; raises `ValueError` if there is none."""
        with self._said("read", name):
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
        with self._said("written", name):
            frame.write.mode("overwrite").text(f"{self._directory}/{name}")

    def delete(self, name: str) -> None:
        """Put nothing in the place of a text."""
        nothing = self._session.createDataFrame([], "value STRING")
        with self._said("written", name):
            nothing.write.mode("overwrite").text(f"{self._directory}/{name}")

    def _at(self, name: str) -> str:
        """Returns a place as Spark's readers take it: to them, some characters make a pattern."""
        return _escaped(f"{self._directory}/{name}".rstrip("/"))

    def _files(self, pattern: str) -> list[str]:
        """Returns the paths of all files below what a pattern stands for, but for hidden ones."""
        reader = self._session.read.format("binaryFile").option("recursiveFileLookup", "true")
        with self._said("read", ""):
            try:
                rows = reader.load(pattern).where("length > 0").select("path").collect()
            except AnalysisException as error:
                if error.getCondition() != _MISSING:
                    raise
                return []
        return [row.path for row in rows]

    @contextmanager
    def _said(self, what: str, name: str) -> Iterator[None]:
        """Turn an error of Spark's in the block into one that names the place."""
        try:
            yield
        except PySparkException as error:
            said = str(error).splitlines()[0]
            where = f"{self._directory}/{name}".rstrip("/")
            raise RunError(f"{where} cannot be {what}: {said}") from None


def _escaped(path: str) -> str:
    return re.sub(r"([*?\[\]{}\\])", r"\\\1", path)


def _below(folder: str, path: str) -> list[str]:
    """Returns the names behind a folder in the path of a file in it, which Spark says with its
    scheme and from the root on."""
    place = normpath(_without_scheme(folder))
    place = place if place.startswith("/") else f"/{place}"
    whole = _without_scheme(path)
    return whole[whole.rindex(f"{place}/") + len(place) + 1 :].split("/")


def _without_scheme(path: str) -> str:
    return re.sub(r"^[A-Za-z][A-Za-z0-9+.-]*:(//[^/]*)?", "", path)
