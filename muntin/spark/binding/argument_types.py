"""Which arguments an aggregate takes, where the type of its answer does not tell."""

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DayTimeIntervalType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from muntin.model.aggregates.aggregate import Aggregate
from muntin.model.aggregates.table import TEXT
from muntin.model.sql_text import SqlText
from muntin.spark.binding.relations import Relations

_HASHED_ALIKE = (
    BinaryType,
    BooleanType,
    DateType,
    DayTimeIntervalType,
    NumericType,
    TimestampNTZType,
    TimestampType,
)


def reason_of_arguments(aggregate: Aggregate, source: SqlText, relations: Relations) -> str | None:
    """Returns why an aggregate of its arguments' types is left to Spark; None if it is not."""
    if "registers" in aggregate.definition.parts:
        argument = relations.type_of(source, aggregate.argument)
        if not is_hashed_alike(argument):
            kind = argument.simpleString()
            return f"{aggregate} is of {kind}, which xxhash64 may hash otherwise than it does"
    if aggregate.definition.result == TEXT:
        argument = relations.type_of(source, aggregate.argument)
        if not isinstance(argument, BinaryType) and argument != StringType():
            kind = argument.simpleString()
            return (
                f"{aggregate} is of {kind}, which is ordered otherwise than text without collation"
            )
    return None


def is_hashed_alike(kind: DataType) -> bool:
    """Whether `xxhash64` of a value is the hash that `approx_count_distinct` takes of it.

    The latter heeds collations. Of nested values it takes what `xxhash64` may refuse.
    """
    if isinstance(kind, StringType):
        return kind == StringType()
    return isinstance(kind, _HASHED_ALIKE)
