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
_OF_OLD, _MICROS = "INT96", "TIMESTAMP_MICROS"
_PLAIN = (BinaryType, BooleanType, DateType, DecimalType, NumericType)
# Rows are compressed when a query has so many bytes of them, and a file is closed when it has.
_GROUP, _FILE = 1 << 25, 1 << 26


def can_be_at_once(whole: CombinedAnswers, files: FileOptions) -> bool:
    """Whether queries have different columns, and Arrow makes their files as Spark would."""
    is_several = len(whole.parts) > 1 and not files.is_flat
    return is_several and is_made_by_arrow(whole.frame.sparkSession, whole.parts, files)


def is_made_by_arrow(session: SparkSession, parts: Sequence[Part], files: FileOptions) -> bool:
    """Whether Arrow makes the files of queries as Spark would."""
    return files.format.lower() == "parquet" and not files.options and _are_plain(session, parts)


def _are_plain(session: SparkSession, parts: Sequence[Part]) -> bool:
    """Whether Spark and Arrow agree about all columns."""
    codec, instants = session.conf.get(_CODEC), session.conf.get(_INSTANTS)
    times: tuple[type[DataType], ...] = (TimestampType, TimestampNTZType)
    if codec not in _CODECS or instants not in (_OF_OLD, _MICROS):
        return False
    return all(
        _is_plain(part.schema, (*_PLAIN, *times))
        and (instants == _MICROS or any(_is_plain(part.schema, (*_PLAIN, time)) for time in times))
        for part in parts
    )


def kind_of_files(session: SparkSession) -> str:
    """Returns how the names of the files end."""
    return f"{_codec(session)[1]}.parquet"


def write_at_once(whole: CombinedAnswers, place: str, options: Mapping[str, str]) -> None:
    """Write all answers to files `place/INDEX=query-number/`, with the options of the writer."""
    session = whole.frame.sparkSession
    makers: dict[int, _Maker] = {}
    for part in whole.parts:
        makers |= dict.fromkeys(part.names, _maker(session, part))
    files: DataFrame = whole.frame.mapInArrow(Task(_files, makers=makers), _FILES)
    writer = files.write.options(**options).option("lineSep", _END.decode())
    writer.option("compression", "none").partitionBy(INDEX).mode("overwrite").text(place)


def file_without_rows(session: SparkSession, part: Part) -> bytes:
    """Returns the file of a query that has no answers: its columns."""
    file = _File(_maker(session, part))
    schema = arrow_schema(part.schema)
    file.add(pa.RecordBatch.from_pylist([], schema))
    return file.end() + _END


def query_of(folder: str) -> int | None:
    """Returns the number of the query that a folder of files is of."""
    name, _, value = folder.partition("=")
    return int(value.partition("-")[0]) if name == INDEX else None


def _maker(session: SparkSession, part: Part) -> "_Maker":
    has_instants = not _is_plain(part.schema, (*_PLAIN, TimestampNTZType))
    return _Maker(
        struct=part.struct,
        metadata={_VERSION: session.version, _COLUMNS: part.schema.json()},
        codec=_codec(session)[0],
        is_of_old=session.conf.get(_INSTANTS) == _OF_OLD and has_instants,
    )


def _codec(session: SparkSession) -> tuple[str, str]:
    """Returns how files are compressed: Arrow's name for it, and how their names say it."""
    return _CODECS[session.conf.get(_CODEC) or ""]


def _is_plain(kind: DataType, plain: tuple[type[DataType], ...]) -> bool:
    """Whether Parquet has the type, and Spark and Arrow agree how."""
    if isinstance(kind, StructType):
        # Spark refuses a file with two columns of a name.
        is_named = len({name.lower() for name in kind.names}) == len(kind.fields) > 0
        return is_named and all(_is_plain(field.dataType, plain) for field in kind.fields)
    return isinstance(kind, plain) or kind == StringType()


@dataclass(frozen=True, kw_only=True)
class _Maker:
    """How the files of a query are made."""

    # The column with the query's columns.
    struct: str | None
    metadata: Mapping[str, str]
    codec: str
    # Whether instants are in the form in which Spark has always written them.
    is_of_old: bool

    def rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Returns the columns of the query's rows."""
        if self.struct is None:
            return batch.drop_columns([INDEX])
        return pa.RecordBatch.from_struct_array(batch.column(self.struct))


class _File:
    """A file of a query while it is made."""

    def __init__(self, maker: _Maker) -> None:
        self._maker = maker
        self._rows: list[pa.RecordBatch] = []
        self._bytes = 0
        self._sink = pa.BufferOutputStream()
        self._writer: Any = None

    def add(self, rows: pa.RecordBatch) -> bool:
        """Take in rows; returns whether the file is full."""
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
        table = pa.Table.from_batches(self._rows).replace_schema_metadata(self._maker.metadata)
        self._rows, self._bytes = [], 0
        if self._writer is None:
            self._writer = pq.ParquetWriter(
                self._sink,
                table.schema,
                compression=self._maker.codec,
                use_deprecated_int96_timestamps=self._maker.is_of_old,
            )
        self._writer.write_table(table)


def _files(
    batches: Iterable[pa.RecordBatch], *, makers: Mapping[int, _Maker]
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
            file = files.setdefault(number, _File(makers[number]))
            if file.add(makers[number].rows(batch.filter(pc.equal(numbers, number)))):
                yield close_file(number)
    for number in list(files):
        yield close_file(number)
