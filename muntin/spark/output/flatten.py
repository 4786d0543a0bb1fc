"""Flattens structs into columns: `window` becomes `window_start` and `window_end`."""

from collections.abc import Iterator

from pyspark.sql import DataFrame
from pyspark.sql.functions import col
from pyspark.sql.types import DataType, StructType

from muntin.errors import RunError
from muntin.sql_text import quoted

# Formats that have no place for structs, so that their files are always flat.
FLAT_FORMATS = frozenset(["csv"])


def flatten(query: str, frame: DataFrame) -> DataFrame:
    """Returns the frame with each struct, at any depth, as its fields, named `column_field`."""
    if not any(isinstance(field.dataType, StructType) for field in frame.schema.fields):
        return frame
    fields = _flat_fields(query, frame.schema)
    return frame.select(*(col(path).alias(name) for name, path, _ in fields))


def flat_schema(query: str, schema: StructType) -> StructType:
    """The columns of a flattened frame."""
    flat = StructType()
    for name, _, kind in _flat_fields(query, schema):
        flat.add(name, kind)
    return flat


def _flat_fields(query: str, schema: StructType) -> list[tuple[str, str, DataType]]:
    """Returns the name, the path and the type of every field that is no struct."""
    fields = list(_fields(schema, "", []))
    seen: dict[str, str] = {}
    for name, path, _ in fields:
        other = seen.setdefault(name.lower(), path)
        if other != path:
            raise RunError(
                f"query {query!r}: flattened, {other} and {path} would both be called {name}; "
                f"rename one of them with AS"
            )
    return fields


def _fields(
    schema: StructType, prefix: str, above: list[str]
) -> Iterator[tuple[str, str, DataType]]:
    for field in schema.fields:
        path = [*above, quoted(field.name)]
        if isinstance(field.dataType, StructType):
            yield from _fields(field.dataType, f"{prefix}{field.name}_", path)
        else:
            yield prefix + field.name, ".".join(path), field.dataType
