"""Keys on their way through a stream's state: every type as one of four kinds, and back."""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql.types import (
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
    TimestampNTZType,
    TimestampType,
)

from muntin.errors import RunError
from muntin.spark.instants import instant, micros

# The Spark type of each kind of key column.
KEY_TYPES: dict[str, DataType] = {
    "long": LongType(),
    "double": DoubleType(),
    "text": StringType(),
    "bytes": BinaryType(),
}


@dataclass(frozen=True, kw_only=True)
class KeyCode:
    """A key type as a kind of column: SQL there, and SQL back to the very same value."""

    kind: str
    encode: Callable[[str], str]
    decode: Callable[[str], str]


def key_code(kind: DataType) -> KeyCode:
    """How keys of a Spark type travel, or an error that says which types do."""

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
    raise RunError(
        f"a key of type {kind.simpleString()} cannot be streamed; keys are numbers, booleans, "
        f"strings without a collation, binary, dates and timestamps"
    )
