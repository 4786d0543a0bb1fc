"""The format and options of files of answers; structs become columns where a format has none."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql.functions import col
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StructType

from muntin.errors import RunError
from muntin.spark.files import check_format
from muntin.sql_text import quote_name

# Formats that have no place for structs, so that their files are always flat.
FLAT_FORMATS = frozenset(["csv"])
_NOT_IN_CSV = (ArrayType, BinaryType, MapType)


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """The format of files, and the options of Spark's writer for it.

    With `flatten`, the fields of structs are columns: `window_start` and `window_end` instead of
    `window`; csv files are always flat. Answers of `compact` batches are gathered into one file
    per query.
    """

    format: str = "parquet"
    flatten: bool = False
    options: Mapping[str, str] = field(default_factory=dict)
    compact: int = 1

    def check(self) -> None:
        """Refuse a format that streams do not write, and a wrong number of batches."""
        check_format(self.format)
        if not isinstance(self.compact, int) or self.compact < 1:
            raise RunError(f"compact is a number of batches, such as 10, not {self.compact!r}")

    @property
    def is_flat(self) -> bool:
        """Whether the fields of structs are columns of the files."""
        return self.flatten or self.format in FLAT_FORMATS

    def file_schemas(self, schemas: Mapping[str, StructType]) -> dict[str, StructType]:
        """Returns the columns of each query's files; refuses those that csv cannot hold."""
        if self.is_flat:
            schemas = {name: flat_schema(name, schema) for name, schema in schemas.items()}
        for name, schema in schemas.items() if self.format == "csv" else ():
            for column in schema.fields:
                if isinstance(column.dataType, _NOT_IN_CSV):
                    raise RunError(
                        f"query {name!r}: csv has no place for {column.name}, "
                        f"{column.dataType.simpleString()}; select something else, or write "
                        f"parquet or json"
                    )
        return dict(schemas)


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
    for column in schema.fields:
        path = [*above, quote_name(column.name)]
        if isinstance(column.dataType, StructType):
            yield from _fields(column.dataType, f"{prefix}{column.name}_", path)
        else:
            yield prefix + column.name, ".".join(path), column.dataType
