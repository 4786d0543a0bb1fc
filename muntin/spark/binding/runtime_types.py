"""Types of Spark that the compiled runtime takes: as keys, as values, and in sets of values."""

from collections.abc import Callable

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
    IntegralType,
    LongType,
    NumericType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from muntin.aggregates.aggregate import Aggregate
from muntin.aggregates.parts import PARTS, TYPED
from muntin.aggregates.representations import ArgExtremes, DecimalSums, Representation
from muntin.aggregates.table import TEXT
from muntin.spark.binding.bound_tree import Types
from muntin.spark.binding.relations import Relations
from muntin.sql_text import SqlText

# Types of answers that the compiled runtime takes.
NUMERIC = (ByteType, ShortType, IntegerType, LongType, FloatType, DoubleType, BooleanType)
# Key types that go to Python and back unchanged, and can be sorted.
_CARRIED = (
    *NUMERIC,
    BinaryType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    TimestampType,
    TimestampNTZType,
)
# The most digits of a decimal.
_MOST_DIGITS = 38
# Types other than numbers and strings whose extremes the compiled runtime finds.
_ORDERED = (
    BinaryType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    TimestampNTZType,
    TimestampType,
)
# The most digits of a decimal that a double represents.
_DIGITS_OF_A_DOUBLE = 15
# The most digits of a decimal that always fit 64 bits.
_DIGITS_OF_A_WORD = 18
# Types whose `xxhash64` is the hash that `approx_count_distinct` takes.
_HASHED_ALIKE = (
    BinaryType,
    BooleanType,
    DateType,
    DayTimeIntervalType,
    NumericType,
    TimestampNTZType,
    TimestampType,
)


def has_known_order(kind: DataType) -> bool:
    """Whether the runtime sorts values of this type as Spark does; not for plain numbers."""
    if isinstance(kind, StringType):
        # Other collations have orders of their own.
        return kind == StringType()
    return isinstance(kind, _ORDERED)


def can_be_key(kind: DataType) -> bool:
    """Whether keys of this type can be sorted, sent to Python and compared there by value."""
    if isinstance(kind, ArrayType):
        return can_be_key(kind.elementType)
    if isinstance(kind, StructType):
        return all(can_be_key(field.dataType) for field in kind.fields)
    if isinstance(kind, StringType):
        # Under other collations different bytes may be equal, and only Spark knows which.
        return kind == StringType()
    return isinstance(kind, _CARRIED)


def can_represent(representation: Representation, kind: DataType) -> bool:
    """Whether a representation can store partials of values of a type that is no number."""
    match representation:
        case DecimalSums():
            # A sum of 38 digits may have overflowed.
            return isinstance(kind, DecimalType) and kind.precision < _MOST_DIGITS
        case ArgExtremes():
            return can_be_key(kind)
        case _:
            return has_known_order(kind)


def can_be_sketched(kind: DataType) -> bool:
    """Whether the runtime writes sketches of the most frequent values of a type."""
    if isinstance(kind, DecimalType):
        return kind.precision <= _DIGITS_OF_A_WORD
    if isinstance(kind, BooleanType | BinaryType | DayTimeIntervalType):
        return False
    return isinstance(kind, NUMERIC) or has_known_order(kind)


def can_summarize(aggregate: Aggregate, kind: DataType) -> bool:
    """Whether the runtime keeps sets of values of a type, and summarizes them as an aggregate."""
    summary = aggregate.definition.summary or ""
    if summary == "ordered" and aggregate.definition.result == TEXT:
        # Spark casts other values to text, and then knows another order than that of the text.
        return isinstance(kind, BinaryType) or kind == StringType()
    if summary in ("percentile", "discrete") and isinstance(kind, DecimalType):
        return kind.precision <= _DIGITS_OF_A_DOUBLE
    if summary.startswith(("united_", "common_")):
        return isinstance(kind, BinaryType)
    return _SUMMARIZED.get(summary, _is_summed)(kind)


def _is_summed(kind: DataType) -> bool:
    return isinstance(kind, NUMERIC) and not isinstance(kind, BooleanType)


def _is_sorted(kind: DataType) -> bool:
    return isinstance(kind, NUMERIC) or has_known_order(kind)


def _is_hashed(kind: DataType) -> bool:
    """Whether sketches hash the bytes of values, which Spark does not do of collated strings."""
    return isinstance(kind, (*NUMERIC, BinaryType)) or kind == StringType()


# The types of values that each summary takes, if it is not of all numbers.
_SUMMARIZED: dict[str, Callable[[DataType], bool]] = {
    **dict.fromkeys(("count", "values"), can_be_key),
    **dict.fromkeys(("mode", "ordered", "top"), _is_sorted),
    **dict.fromkeys(("theta", "hll"), _is_hashed),
    **dict.fromkeys(("bits_of_some", "bits_of_all"), lambda kind: isinstance(kind, BinaryType)),
    "bitmap": lambda kind: isinstance(kind, IntegralType),
    "count_min": lambda kind: isinstance(kind, IntegralType | BinaryType) or kind == StringType(),
    "items": can_be_sketched,
}


def is_compiled(aggregate: Aggregate, types: Types) -> bool:
    """Whether the compiled runtime takes an aggregate of these types."""
    sets = aggregate.sets_of_values
    if sets:
        return all(can_summarize(aggregate, types[component]) for component in sets)
    kind = types[aggregate]
    if isinstance(kind, NUMERIC):
        return True
    typed = [PARTS[part].representations.get(TYPED) for part in aggregate.definition.parts]
    return all(each is not None and can_represent(each, kind) for each in typed)


def is_order_known(aggregate: Aggregate, relation: SqlText, relations: Relations) -> bool:
    """Whether the runtime sorts the values that an aggregate such as `max_by` chooses by.

    True for aggregates that choose no value.
    """
    if not aggregate.definition.is_arg_extreme:
        return True
    kind = relations.type_of(relation, aggregate.others[0])
    return isinstance(kind, NUMERIC) or has_known_order(kind)


def is_hashed_alike(kind: DataType) -> bool:
    """Whether `approx_count_distinct` hashes values of this type as `xxhash64` does.

    `approx_count_distinct` hashes collated text by its collation, and also hashes nested values
    that `xxhash64` may refuse.
    """
    if isinstance(kind, StringType):
        return kind == StringType()
    return isinstance(kind, _HASHED_ALIKE)
