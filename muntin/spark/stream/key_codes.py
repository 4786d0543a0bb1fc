"""Encodes keys and instants for a stream's state: each type as one of four kinds of columns."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from muntin.errors import RunError
from muntin.spark.binding.instants import instant, micros

_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)

# The Spark type of each kind of key column.
KEY_TYPES: dict[str, DataType] = {
    "long": LongType(),
    "double": DoubleType(),
    "text": StringType(),
    "bytes": BinaryType(),
}


@dataclass(frozen=True, kw_only=True)
class KeyCode:
    """A key type as a kind of column: SQL to encode a value, and SQL to decode the very same."""

    kind: str
    encode: Callable[[str], str]
    decode: Callable[[str], str]


def key_code(kind: DataType) -> KeyCode:
    """Returns the code for keys of a Spark type, or an error that says which types have one."""

    def cast(sql: str) -> str:
        return f"CAST({sql} AS {kind.simpleString()})"

    match kind:
        case LongType():
            return KeyCode(kind="long", encode=str, decode=str)
        case ByteType() | ShortType() | IntegerType() | BooleanType():
            return KeyCode(kind="long", encode=lambda sql: f"CAST({sql} AS BIGINT)", decode=cast)
        case DateType():
            return KeyCode(
                kind="long",
                encode=lambda sql: f"CAST(unix_date({sql}) AS BIGINT)",
                decode=lambda sql: f"date_from_unix_date(CAST({sql} AS INT))",
            )
        case TimestampType() | TimestampNTZType():
            return KeyCode(
                kind="long",
                encode=lambda sql: micros(sql, kind),
                decode=lambda sql: instant(sql, kind),
            )
        case DoubleType():
            return KeyCode(kind="double", encode=str, decode=str)
        case FloatType():
            return KeyCode(kind="double", encode=lambda sql: f"CAST({sql} AS DOUBLE)", decode=cast)
        case DecimalType():
            return KeyCode(kind="text", encode=lambda sql: f"CAST({sql} AS STRING)", decode=cast)
        case StringType() if kind == StringType():
            return KeyCode(kind="text", encode=str, decode=str)
        case BinaryType():
            return KeyCode(kind="bytes", encode=str, decode=str)
        case ArrayType() | StructType() if _is_told_by_json(kind):
            return KeyCode(
                kind="text",
                encode=lambda sql: f"to_json({sql}, map('ignoreNullFields', 'false'))",
                decode=lambda sql: f"from_json({sql}, '{kind.simpleString()}')",
            )
    raise RunError(
        f"a key of type {kind.simpleString()} cannot be streamed; keys are numbers, booleans, "
        f"strings without a collation, binary, dates, timestamps, and arrays and structs of "
        f"integers, booleans, strings and decimals"
    )


def _is_told_by_json(kind: DataType) -> bool:
    """Whether values are equal exactly when their JSON is: not so for 0.0 and -0.0."""
    if isinstance(kind, ArrayType):
        return _is_told_by_json(kind.elementType)
    if isinstance(kind, StructType):
        return all(
            _PLAIN_NAME.fullmatch(field.name) is not None and _is_told_by_json(field.dataType)
            for field in kind.fields
        )
    whole = ByteType | ShortType | IntegerType | LongType | BooleanType | DecimalType
    return isinstance(kind, whole) or kind == StringType()


def is_instant(kind: DataType) -> bool:
    """Whether values are points in time: their extremes are kept as integers."""
    return isinstance(kind, DateType | TimestampType | TimestampNTZType)
