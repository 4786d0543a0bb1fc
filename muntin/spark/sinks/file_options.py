"""How files of answers are written."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql.types import ArrayType, BinaryType, MapType, StructType

from muntin.errors import RunError
from muntin.spark.files import check_format
from muntin.spark.output.flatten import FLAT_FORMATS, flat_schema

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
