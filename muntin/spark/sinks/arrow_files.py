"""Writes the Parquet files of many queries in one Spark job, whatever their columns.

A job of Spark's writes files with one set of columns, and to plan and start a job costs as much as
tens of thousands of answers. So here tasks make the bytes of whole files with Arrow, and Spark's
writer of text puts them in place: on every file system that it reaches, and committed as its own
files are. That writer ends each row with a separator, which can be any text but not empty. Every
Parquet file ends with the letters `PAR1`, so the `1` is the separator.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from muntin.spark.engine.schemas import arrow_schema
from muntin.spark.engine.worker import Task
from muntin.spark.output.stacking import INDEX, CombinedAnswers, Part
from muntin.spark.sinks.file_options import FileOptions

# The end of every file, which Spark's writer puts there.
_END = b"1"
_DATA = "data"
_FILES = f"{_DATA} STRING, {INDEX} STRING"
# Metadata that Spark reads: the version, so that it takes times as Gregorian, and the columns.
_VERSION, _COLUMNS = "org.apache.spark.version", "org.apache.spark.sql.parquet.row.metadata"
# Settings of Spark's that say how files are compressed, by Arrow's and by what they are called.
_CODEC = "spark.sql.parquet.compression.codec"
_CODECS = {
    "snappy": ("snappy", ".snappy"),
    "zstd": ("zstd", ".zstd"),
    "gzip": ("gzip", ".gz"),
    "none": ("none", ""),
    "uncompressed": ("none", ""),
}
# The setting that says how instants are written. Arrow takes one way for all times of a file.
_INSTANTS = "spark.sql.parquet.outputTimestampType"
_INT96, _MICROS = "INT96", "TIMESTAMP_MICROS"
_PLAIN = (BinaryType, BooleanType, DateType, DecimalType, NumericType)
# Rows are compressed when a query has so many bytes of them, and a file is closed when it has.
_GROUP, _FILE = 1 << 25, 1 << 26


def can_write_in_one_job(whole: CombinedAnswers, files: FileOptions) -> bool:
    """Whether queries have different columns, and Arrow makes their files as Spark would."""
    is_several = len(whole.parts) > 1 and not files.is_flat
    return is_several and can_arrow_write(whole.frame.sparkSession, whole.parts, files)


def can_arrow_write(session: SparkSession, parts: Sequence[Part], files: FileOptions) -> bool:
    """Whether Arrow makes the files of queries as Spark would."""
    return files.format.lower() == "parquet" and not files.options and _are_plain(session, parts)


def _are_plain(session: SparkSession, parts: Sequence[Part]) -> bool:
    """Whether Spark and Arrow agree about all columns."""
    codec, instants = session.conf.get(_CODEC), session.conf.get(_INSTANTS)
    times: tuple[type[DataType], ...] = (TimestampType, TimestampNTZType)
    if codec not in _CODECS or instants not in (_INT96, _MICROS):
        return False
    return all(
        _is_plain(part.schema, (*_PLAIN, *times))
        and (instants == _MICROS or any(_is_plain(part.schema, (*_PLAIN, time)) for time in times))
        for part in parts
    )


def file_extension(session: SparkSession) -> str:
    """Returns the extension of the files, with that of their compression."""
    return f"{_codec(session)[1]}.parquet"


def write_in_one_job(whole: CombinedAnswers, place: str, options: Mapping[str, str]) -> None:
    """Write all answers to files `place/INDEX=query-number/`, with the options of the writer."""
    session = whole.frame.sparkSession
    formats: dict[int, _FileFormat] = {}
    for part in whole.parts:
        formats |= dict.fromkeys(part.names, _file_format(session, part))
    files: DataFrame = whole.frame.mapInArrow(Task(_files, formats=formats), _FILES)
    writer = files.write.options(**options).option("lineSep", _END.decode())
    writer.option("compression", "none").partitionBy(INDEX).mode("overwrite").text(place)


def file_without_rows(session: SparkSession, part: Part) -> bytes:
    """Returns a whole file with the columns of a query and no rows."""
    file = _File(_file_format(session, part))
    schema = arrow_schema(part.schema)
    file.add(pa.RecordBatch.from_pylist([], schema))
    return file.end() + _END


def query_of(folder: str) -> int | None:
    """Returns the number of the query that a folder of files is of."""
    name, _, value = folder.partition("=")
    return int(value.partition("-")[0]) if name == INDEX else None


def _file_format(session: SparkSession, part: Part) -> "_FileFormat":
    has_instants = not _is_plain(part.schema, (*_PLAIN, TimestampNTZType))
    return _FileFormat(
        struct=part.struct,
        metadata={_VERSION: session.version, _COLUMNS: part.schema.json()},
        codec=_codec(session)[0],
        uses_int96=session.conf.get(_INSTANTS) == _INT96 and has_instants,
    )


def _codec(session: SparkSession) -> tuple[str, str]:
    """Returns the compression of files: Arrow's name of it, and its file extension."""
    return _CODECS[session.conf.get(_CODEC) or ""]


def _is_plain(kind: DataType, plain: tuple[type[DataType], ...]) -> bool:
    """Whether Parquet has the type, and Spark and Arrow agree how."""
    if isinstance(kind, StructType):
        # Spark refuses a file with two columns of a name.
        is_named = len({name.lower() for name in kind.names}) == len(kind.fields) > 0
        return is_named and all(_is_plain(field.dataType, plain) for field in kind.fields)
    return isinstance(kind, plain) or kind == StringType()


@dataclass(frozen=True, kw_only=True)
class _FileFormat:
    """The compression, metadata and form of timestamps of a query's files."""

    # The column with the query's columns.
    struct: str | None
    metadata: Mapping[str, str]
    codec: str
    # Whether timestamps are written as INT96, as Spark does by default.
    uses_int96: bool

    def rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Returns the columns of the query's rows."""
        if self.struct is None:
            return batch.drop_columns([INDEX])
        return pa.RecordBatch.from_struct_array(batch.column(self.struct))


class _File:
    """The bytes of a Parquet file that is being written."""

    def __init__(self, file_format: _FileFormat) -> None:
        self._format = file_format
        self._rows: list[pa.RecordBatch] = []
        self._bytes = 0
        self._sink = pa.BufferOutputStream()
        self._writer: Any = None

    def add(self, rows: pa.RecordBatch) -> bool:
        """Add rows; returns whether the file is full."""
        self._rows.append(rows)
        self._bytes += rows.nbytes
        if self._bytes >= _GROUP:
            self._write()
        return bool(self._sink.tell() >= _FILE)

    def end(self) -> bytes:
        """Returns the whole file, without its last byte."""
        if self._rows:
            self._write()
        self._writer.close()
        data: bytes = self._sink.getvalue().to_pybytes()
        assert data.endswith(_END)
        return data[: -len(_END)]

    def _write(self) -> None:
        table = pa.Table.from_batches(self._rows).replace_schema_metadata(self._format.metadata)
        self._rows, self._bytes = [], 0
        if self._writer is None:
            self._writer = pq.ParquetWriter(
                self._sink,
                table.schema,
                compression=self._format.codec,
                use_deprecated_int96_timestamps=self._format.uses_int96,
            )
        self._writer.write_table(table)


def _files(
    batches: Iterable[pa.RecordBatch], *, formats: Mapping[int, _FileFormat]
) -> Iterator[pa.RecordBatch]:
    """Yields a row for each file: its bytes, and the query and the number of the file."""
    files: dict[int, _File] = {}
    done: Counter[int] = Counter()

    def close_file(number: int) -> pa.RecordBatch:
        done[number] += 1
        data = pa.array([files.pop(number).end()], pa.binary())
        # Spark's writer takes any bytes as a string, so they are not checked here, either.
        columns = [data.view(pa.string()), pa.array([f"{number}-{done[number]}"])]
        return pa.RecordBatch.from_arrays(columns, [_DATA, INDEX])

    for batch in batches:
        numbers = batch.column(INDEX)
        for number in numbers.unique().to_pylist():
            file = files.setdefault(number, _File(formats[number]))
            if file.add(formats[number].rows(batch.filter(pc.equal(numbers, number)))):
                yield close_file(number)
    for number in list(files):
        yield close_file(number)
