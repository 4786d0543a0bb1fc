"""How the answers that sum up sets of values are stored."""

from muntin.model.aggregates.aggregate import Aggregate
from muntin.model.aggregates.parts import FLOAT, INTEGER
from muntin.model.aggregates.table import (
    BYTES,
    COUNT,
    ITEMS,
    PERCENTILES,
    STATE,
    TEXT,
    VALUE,
    VALUES,
)

# Elements of lists have Spark's own types.
_ELEMENTS = {INTEGER: "bigint", FLOAT: "double"}


def answer_storage(aggregate: Aggregate, number: str) -> str:
    """Returns the storage of an aggregate's answers, if its values are stored as `number`."""
    match aggregate.definition.result:
        case result if result in (VALUES, TEXT):
            return f"array<{_ELEMENTS.get(number, number)}>"
        case result if result == PERCENTILES and isinstance(aggregate.percentages, tuple):
            return "array<double>"
        case result if result == ITEMS:
            return f"array<struct<item:{_ELEMENTS.get(number, number)},count:bigint>>"
        case result if result in (BYTES, STATE):
            return "binary"
        case result if result == VALUE:
            return number
        case result:
            return INTEGER if result == COUNT else FLOAT
