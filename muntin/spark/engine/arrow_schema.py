"""Arrow schemas of Spark's types, in every version of Spark."""

from inspect import signature
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

# Up to Spark 4.1 instants are in UTC unless one asks for something else.
_ARGUMENTS: dict[str, Any] = (
    {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
)


def arrow_schema(schema: StructType) -> pa.Schema:
    """Returns the columns as Arrow has them; instants are in UTC."""
    return to_arrow_schema(schema, **_ARGUMENTS)
