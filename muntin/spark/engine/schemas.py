"""Schemas of the rows that Spark and muntin's Python workers exchange."""

from collections.abc import Iterable
from inspect import signature
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DataType, DoubleType, LongType, StructField, StructType

from muntin.aggregates.representations import FLOAT, INTEGER
from muntin.runtime.slicer.packing import BUCKET, ROWS, TREE
from muntin.runtime.storage.layout import slot_type

# The columns that the slicer writes.
PACKED = f"{BUCKET} INT, {TREE} INT, {ROWS} BINARY"
_NUMBERS: dict[str, DataType] = {INTEGER: LongType(), FLOAT: DoubleType()}
# Up to Spark 4.1, timestamps are in UTC only if a time zone is passed.
_UTC: dict[str, Any] = (
    {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
)


def arrow_schema(schema: StructType) -> pa.Schema:
    """Returns the Arrow schema of Spark's columns; timestamps are in UTC."""
    return to_arrow_schema(schema, **_UTC)


def slot_fields(slots: Iterable[str]) -> list[StructField]:
    """Returns Spark's columns for the slots of answers."""
    types = {slot: slot_type(slot) for slot in slots}
    return [
        StructField(slot, _NUMBERS.get(kind) or DataType.fromDDL(kind))
        for slot, kind in types.items()
    ]
