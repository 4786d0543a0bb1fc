"""Reads files as DataFrames, tells their format by their names, and counts the rows in them."""

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from glob import glob
from pathlib import Path

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from muntin.errors import RunError, nearest
from muntin.spark.engine.folder import Folder

FORMATS = ("parquet", "csv", "json")
# Formats of inputs that only --input-format names; some need a package.
INPUT_FORMATS = (*FORMATS, "orc", "avro", "delta", "iceberg", "hudi")
_EXTENSIONS = {
    "parquet": "parquet",
    "csv": "csv",
    "json": "json",
    "jsonl": "json",
    "ndjson": "json",
}
# A csv file's first line has its names; Spark infers types and times rather than leave text.
_READING = {
    "csv": {"header": "true", "inferSchema": "true"},
    "json": {"inferTimestamp": "true"},
}
# Formats of tables, which have a schema of their own.
_WITH_SCHEMA = {"delta", "iceberg", "hudi"}


# The packages with which Spark reads tables, by their format.
_TABLE_PACKAGES = {
    "Delta": "io.delta:delta-spark_2.13",
    "Iceberg": "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13",
    "Hudi": "org.apache.hudi:hudi-spark4.0-bundle_2.13",
}


@dataclass(frozen=True, kw_only=True)
class InputFormat:
    """The format of a user's inputs, given or found out."""

    # The format of all inputs.
    format: str | None = None
    # The format of inputs whose names show none.
    fallback: str | None = None
    # Whether the files are on this machine; otherwise the format is that of the path's extension.
    is_here: bool = True

    def check(self) -> None:
        """Refuse a format that is not read."""
        if self.format is not None:
            _check_among(self.format, INPUT_FORMATS)

    def of(self, path: str) -> str:
        """Returns the format of an input; raises `RunError` if it cannot be found out."""
        if self.format is not None:
            return self.format
        if self.is_here:
            for top in glob(path):
                _refuse_table(top, partial(_names_in, top))
        name = _format_by_name(path) if self.is_here else _extension(Path(path))
        kind = name or self.fallback
        if kind is None:
            raise RunError(
                f"the name of {path} does not tell its format; add --input-format with one of: "
                f"{', '.join(INPUT_FORMATS)}"
            )
        return kind

    def read(self, session: SparkSession, path: str) -> DataFrame:
        """Reads a file, a folder or a pattern."""
        kind = self.of(path)
        if self.format is None and self.is_here and "://" in path:
            _refuse_table(path, Folder(session, path).names)
        return session.read.options(**_READING.get(kind, {})).format(kind).load(path)


def read_files(session: SparkSession, path: str) -> DataFrame:
    """Reads a file, a folder or a pattern; the extension is the format."""
    return InputFormat().read(session, path)


def _refuse_table(path: str, names: Callable[[str], Collection[str]]) -> None:
    """Refuse the folder of a table, not all of whose files are rows. `names` lists a folder."""
    top = names("")
    found = {
        "Delta": "_delta_log" in top,
        "Iceberg": "metadata" in top
        and any(name.endswith(".metadata.json") for name in names("metadata")),
        "Hudi": ".hoodie" in top,
    }
    for kind in (kind for kind, is_there in found.items() if is_there):
        raise RunError(
            f"{path} is a table of {kind}, and its files are not its rows; add --input-format "
            f"{kind.lower()} and --packages {_TABLE_PACKAGES[kind]}:VERSION, or read it from a "
            f"catalog with --table"
        )


def _names_in(top: str, name: str) -> list[str]:
    folder = Path(top, name)
    return [path.name for path in folder.iterdir()] if folder.is_dir() else []


def stream_files(
    session: SparkSession, path: str, known: "FileKind", *, per_batch: int | None = None
) -> DataFrame:
    """Reads files as they come into a folder, as a stream; at most `per_batch` in a batch."""
    reader = session.readStream.options(**_READING.get(known.format, {}))
    if known.format not in _WITH_SCHEMA:
        reader = reader.schema(known.columns)
    if per_batch is not None:
        reader = reader.option("maxFilesPerTrigger", per_batch)
    return reader.format(known.format).load(path)


@dataclass(frozen=True, kw_only=True)
class FileKind:
    """The format and columns of files; a stream must know them before it reads."""

    format: str
    columns: StructType

    @staticmethod
    def detect(session: SparkSession, path: str, given: InputFormat) -> "FileKind":
        """Returns the kind of the files that are there now."""
        kind = given.of(path)
        try:
            columns = given.read(session, path).schema
        except AnalysisException as error:
            if error.getCondition() != "UNABLE_TO_INFER_SCHEMA":
                raise
            columns = StructType()
        if not columns.fields:
            raise RunError(
                f"there is no {kind} file in {path} to find the columns in; put one there first"
            )
        return FileKind(format=kind, columns=columns)

    def to_json(self) -> str:
        """Returns the kind as text."""
        return json.dumps({"format": self.format, "columns": self.columns.jsonValue()})

    @staticmethod
    def from_json(text: str) -> "FileKind":
        """Returns the kind that `to_json` wrote."""
        data = json.loads(text)
        return FileKind(format=data["format"], columns=StructType.fromJson(data["columns"]))


def check_format(format: str) -> None:
    """Refuse a format that is not written."""
    _check_among(format, FORMATS)


def _check_among(format: str, allowed: Sequence[str]) -> None:
    if format not in allowed:
        raise RunError(f"no format is called {format!r}; {nearest(format, list(allowed))}")


def rows_in(session: SparkSession, folder: str, format: str) -> int:
    """Returns how many rows Spark wrote to a folder; 0 if there is no folder."""
    reader = session.read
    try:
        match format:
            case "csv":
                # Any schema will do to count, and without one an empty folder is refused.
                reader = reader.schema("first STRING").options(header="true", multiLine="true")
                return reader.csv(folder).count()
            case "json":
                return reader.text(folder).count()
            case _:
                return reader.format(format).load(folder).count()
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return 0
        raise


def _format_by_name(path: str) -> str | None:
    """Returns the format of a path's extension; in a folder, of the first file that has one."""
    if "://" in path:
        return _extension(Path(path))
    paths = [Path(name) for name in sorted(glob(path))]
    if not paths:
        raise RunError(f"there is no {path}")
    inside = (
        sorted(file for file in top.rglob("*") if file.is_file()) if top.is_dir() else [top]
        for top in paths
    )
    kinds = (_extension(file) for files in inside for file in files)
    return next((kind for kind in kinds if kind), None) or _extension(paths[0])


def _extension(path: Path) -> str | None:
    """The format of `x.csv`, and of `x.csv.gz`."""
    suffixes = [suffix[1:].lower() for suffix in path.suffixes[-2:]]
    return next(
        (_EXTENSIONS[suffix] for suffix in reversed(suffixes) if suffix in _EXTENSIONS), None
    )
