"""Writes answers to folders: computes them once, writes them beside their place, moves them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from muntin.errors import RunError, nearest
from muntin.spark.engine.session_kind import is_connect
from muntin.spark.folder import Folder
from muntin.spark.output.flatten import FLAT_FORMATS, flatten
from muntin.spark.sinks.sink import INDEX, Stack

MODES = ("error", "overwrite", "append")
# Formats whose folders hold files and nothing else, so that parts of one folder can be moved.
_FILES = frozenset(["avro", "csv", "json", "orc", "parquet", "text", "xml"])
_SUCCESS = "_SUCCESS"


def write(
    session: SparkSession,
    stacks: Iterable[Stack],
    names: list[str],
    directory: str,
    *,
    format: str,
    mode: str,
    flat: bool,
    options: Mapping[str, str],
) -> None:
    """Write every answer to `directory/name`; none is in place before all are written."""
    if mode not in MODES:
        raise RunError(f"no write mode is called {mode!r}; {nearest(mode, list(MODES))}")
    if is_connect(session):
        _write_one_by_one(
            stacks,
            directory,
            format=format,
            mode=mode,
            flat=flat or format in FLAT_FORMATS,
            options=options,
        )
        return
    folder = Folder(session, directory)
    if mode == "error":
        for name in names:
            if folder.has(name):
                raise RunError(
                    f"query {name!r}: {directory}/{name} is there already; "
                    f"write elsewhere, or with mode='overwrite' or mode='append'"
                )
    staging = _Staging(
        folder=folder,
        directory=directory,
        name=f".muntin-{uuid4().hex}",
        format=format,
        is_flat=flat or format in FLAT_FORMATS,
        options=options,
    )
    staged: dict[str, str] = {}
    try:
        for number, stack in enumerate(stacks):
            staged |= staging.write(stack, str(number))
        for name in names:
            if mode == "append" and folder.has(name):
                folder.move_files(staged[name], name)
            else:
                folder.move(staged[name], name)
    finally:
        folder.delete(staging.name)


def _write_one_by_one(
    stacks: Iterable[Stack],
    directory: str,
    *,
    format: str,
    mode: str,
    flat: bool,
    options: Mapping[str, str],
) -> None:
    """Writes each answer to its place at once: Spark Connect cannot move files."""
    for stack in stacks:
        several = len(stack.names) > 1
        for index, name in stack.names.items():
            frame = flatten(name, stack.frame) if flat else stack.frame
            rows = frame.where(f"{INDEX} = {index}").drop(INDEX) if several else frame
            writer = rows.write.format(format).options(**options).mode(mode)
            writer.save(f"{directory}/{name}")


@dataclass(frozen=True, kw_only=True)
class _Staging:
    """A hidden folder that answers are written to."""

    folder: Folder
    directory: str
    name: str
    format: str
    is_flat: bool
    options: Mapping[str, str]

    def write(self, stack: Stack, place: str) -> dict[str, str]:
        """Write the answers of some queries; returns the folder of each."""
        first = next(iter(stack.names.values()))
        frame = flatten(first, stack.frame) if self.is_flat else stack.frame
        if len(stack.names) == 1:
            return {first: self._save(frame, place)}
        if self.format.lower() not in _FILES:
            return {
                name: self._save(frame.where(f"{INDEX} = {index}").drop(INDEX), f"{place}-{index}")
                for index, name in stack.names.items()
            }
        return self._write_in_one_job(stack.names, frame, place)

    def _write_in_one_job(
        self, names: Mapping[int, str], frame: DataFrame, place: str
    ) -> dict[str, str]:
        """Writes a folder for each query; one without rows gets what Spark writes for no rows."""
        # A file for each query, or several if it has many rows, instead of one for each partition.
        root = self._save(frame.hint("rebalance", col(INDEX)), place, INDEX)
        there = set(self.folder.names(root))
        staged = {name: f"{root}/{INDEX}={index}" for index, name in names.items()}
        missing = [name for index, name in names.items() if f"{INDEX}={index}" not in there]
        if _SUCCESS in there:
            for name in staged.keys() - missing:
                self.folder.put(f"{staged[name]}/{_SUCCESS}", "")
        if missing:
            nothing = self._save(frame.drop(INDEX).limit(0), f"{place}-empty")
            for name in missing:
                self.folder.copy(nothing, staged[name])
        return staged

    def _save(self, frame: DataFrame, place: str, *by: str) -> str:
        """Writes a frame, its rows in folders by the columns `by`; returns the folder."""
        path = f"{self.name}/{place}"
        writer = frame.write.format(self.format).options(**self.options)
        (writer.partitionBy(*by) if by else writer).save(f"{self.directory}/{path}")
        return path
