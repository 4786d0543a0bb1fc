"""Reads files as DataFrames, tells their format by their names, and counts the rows in them."""

import json
from dataclasses import dataclass
from glob import glob
from pathlib import Path

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from muntin.errors import RunError, nearest

FORMATS = ("parquet", "csv", "json")
_EXTENSIONS = {
    "parquet": "parquet",
    "csv": "csv",
    "json": "json",
    "jsonl": "json",
    "ndjson": "json",
}
# A csv file's first line has its names; Spark infers types and times rather than leave text.
_READING = {
    "parquet": {},
    "csv": {"header": "true", "inferSchema": "true"},
    "json": {"inferTimestamp": "true"},
}


def read_files(
    session: SparkSession, path: str, format: str | None = None, *, is_here: bool = True
) -> DataFrame:
    """Reads a file, a folder or a pattern; names tell the format, or else `format` does.

    Of files that are not on this machine only the path's own name is known.
    """
    kind = format_of(path, format, is_here=is_here)
    return session.read.options(**_READING[kind]).format(kind).load(path)


def stream_files(
    session: SparkSession, path: str, known: "FileKind", *, per_batch: int | None = None
) -> DataFrame:
    """Reads files as they come into a folder, as a stream; at most `per_batch` in a batch."""
    reader = session.readStream.schema(known.columns).options(**_READING[known.format])
    if per_batch is not None:
        reader = reader.option("maxFilesPerTrigger", per_batch)
    return reader.format(known.format).load(path)


@dataclass(frozen=True, kw_only=True)
class FileKind:
    """The format and columns of files; a stream must know them before it reads."""

    format: str
    columns: StructType

    @staticmethod
    def found(
        session: SparkSession, path: str, format: str | None = None, *, is_here: bool = True
    ) -> "FileKind":
        """Returns the kind of the files that are there now."""
        kind = format_of(path, format, is_here=is_here)
        try:
            columns = read_files(session, path, kind, is_here=is_here).schema
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
    """Refuse a format that is neither read nor written."""
    if format not in FORMATS:
        raise RunError(f"no format is called {format!r}; {nearest(format, list(FORMATS))}")


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


def format_of(path: str, format: str | None, *, is_here: bool = True) -> str:
    """Returns the format of an input: what its names say, or else `format`."""
    kind = (_format_by_name(path) if is_here else _extension(Path(path))) or format
    if kind is None:
        raise RunError(
            f"the name of {path} does not tell its format; add --format with one of: "
            f"{', '.join(FORMATS)}"
        )
    return kind


def _format_by_name(path: str) -> str | None:
    """Returns the format of the extension; for a folder, that of the first file which has one."""
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
