"""Encodes keys and instants for a stream's state: each type as one of four kinds of columns."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DayTimeIntervalType,
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
    YearMonthIntervalType,
)

from muntin.errors import RunError
from muntin.spark.binding.grouping_sql import (
    interval_to_micros,
    micros_to_interval,
    micros_to_time,
    time_to_micros,
)
from muntin.sql_text import literal, quote_name

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
    if isinstance(kind, ArrayType | StructType):
        nested = _nested(kind)
        return KeyCode(
            kind="text",
            encode=lambda sql: f"to_json({nested.encode(sql)}, map('ignoreNullFields', 'false'))",
            decode=lambda sql: nested.decode(f"from_json({sql}, '{nested.kind}')"),
        )
    if isinstance(kind, DoubleType | FloatType):
        # The runtime makes one key of zeros, and of all that is no number, as Spark does.
        return KeyCode(
            kind="double",
            encode=lambda sql: f"CAST({sql} AS DOUBLE)",
            decode=lambda sql: f"CAST({sql} AS {kind.simpleString()})",
        )
    if isinstance(kind, BinaryType):
        return KeyCode(kind="bytes", encode=str, decode=str)
    leaf = _leaf(kind)
    return replace(leaf, kind="text" if leaf.kind == "string" else "long")


def _nested(kind: DataType, depth: int = 0) -> KeyCode:
    """Returns the code for what is inside a key that travels as JSON.

    Its kind is the type that JSON is read as. Equal values have equal JSON, and it says all of
    them, whatever fields are called.
    """
    if isinstance(kind, ArrayType):
        element, each = _nested(kind.elementType, depth + 1), f"x{depth}"
        return KeyCode(
            kind=f"array<{element.kind}>",
            encode=lambda sql: f"transform({sql}, {each} -> {element.encode(each)})",
            decode=lambda sql: f"transform({sql}, {each} -> {element.decode(each)})",
        )
    if isinstance(kind, StructType):
        fields = [(field.name, _nested(field.dataType, depth)) for field in kind.fields]

        def encode(sql: str) -> str:
            parts = (
                f"'f{index}', {code.encode(f'({sql}).{quote_name(name)}')}"
                for index, (name, code) in enumerate(fields)
            )
            return f"IF({sql} IS NULL, NULL, named_struct({', '.join(parts)}))"

        def decode(sql: str) -> str:
            parts = (
                f"{literal(name)}, {code.decode(f'({sql}).f{index}')}"
                for index, (name, code) in enumerate(fields)
            )
            return f"IF({sql} IS NULL, NULL, named_struct({', '.join(parts)}))"

        inside = ",".join(f"f{index}:{code.kind}" for index, (_, code) in enumerate(fields))
        return KeyCode(kind=f"struct<{inside}>", encode=encode, decode=decode)
    if isinstance(kind, DoubleType | FloatType):
        return KeyCode(
            kind="string",
            # To Spark, -0.0 and 0.0 are one key.
            encode=lambda sql: f"CAST(IF({sql} = 0, abs({sql}), {sql}) AS STRING)",
            decode=lambda sql: f"CAST({sql} AS {kind.simpleString()})",
        )
    if isinstance(kind, BinaryType):
        return KeyCode(
            kind="string",
            encode=lambda sql: f"hex({sql})",
            decode=lambda sql: f"unhex({sql})",
        )
    return _leaf(kind)


def _leaf(kind: DataType) -> KeyCode:
    """Returns the code for a value as one integer or as text."""

    def cast(sql: str) -> str:
        return f"CAST({sql} AS {kind.simpleString()})"

    match kind:
        case LongType():
            return KeyCode(kind="bigint", encode=str, decode=str)
        case ByteType() | ShortType() | IntegerType() | BooleanType():
            return KeyCode(kind="bigint", encode=lambda sql: f"CAST({sql} AS BIGINT)", decode=cast)
        case DateType():
            return KeyCode(
                kind="bigint",
                encode=lambda sql: f"CAST(unix_date({sql}) AS BIGINT)",
                decode=lambda sql: f"date_from_unix_date(CAST({sql} AS INT))",
            )
        case TimestampType() | TimestampNTZType():
            return KeyCode(
                kind="bigint",
                encode=lambda sql: time_to_micros(sql, kind),
                decode=lambda sql: micros_to_time(sql, kind),
            )
        case DayTimeIntervalType():
            return KeyCode(
                kind="bigint",
                encode=interval_to_micros,
                decode=lambda sql: cast(micros_to_interval(sql)),
            )
        case YearMonthIntervalType():
            return KeyCode(
                kind="bigint",
                encode=lambda sql: (
                    f"CAST(12 * extract(YEAR FROM {_whole(sql)}) "
                    f"+ extract(MONTH FROM {_whole(sql)}) AS BIGINT)"
                ),
                decode=lambda sql: cast(f"make_ym_interval(0, CAST({sql} AS INT))"),
            )
        case DecimalType():
            return KeyCode(kind="string", encode=lambda sql: f"CAST({sql} AS STRING)", decode=cast)
        case StringType() if kind == StringType():
            return KeyCode(kind="string", encode=str, decode=str)
    raise RunError(
        f"a key of type {kind.simpleString()} cannot be streamed; keys are numbers, booleans, "
        f"strings without a collation, binary, dates, timestamps, intervals, and arrays and "
        f"structs of these"
    )


def _whole(sql: str) -> str:
    """Returns an interval of years, or of months, as one of both."""
    return f"CAST({sql} AS INTERVAL YEAR TO MONTH)"
