"""A table per query, over the files that a folder sink puts in place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql.types import StructType

from muntin.errors import RunError
from muntin.spark.engine.session_kind import is_connect
from muntin.spark.sinks.file_options import FileOptions
from muntin.spark.sinks.folder_sink import FolderSink
from muntin.spark.sinks.sink import Answers, Sink, SinkContext, SinkDefinition, name_batch_in_errors
from muntin.sql_text import quote_name


@dataclass(frozen=True, kw_only=True)
class Tables(SinkDefinition):
    """A sink: a table for each query, under its name, in a database of Spark's catalog.

    The database is the current one unless it is given; the rest is as in `Files`.
    """

    database: str | None = None
    format: str = "parquet"
    options: Mapping[str, str] = field(default_factory=dict)
    compact: int = 1

    def open(self, context: SinkContext) -> Sink:
        """Returns the sink that fills the tables; refuses a database that does not exist."""
        if is_connect(context.session):
            raise RunError(
                "mt.Tables does not work on Spark Connect: a client cannot move files into the "
                "place of tables; give a folder, or a function that writes each answer to a table"
            )
        files = FileOptions(format=self.format, options=self.options, compact=self.compact)
        return TableSink(context, self.database, files)


class TableSink(Sink):
    """Tables over `location of the database/query`, filled as folders are: exactly once.

    `saveAsTable` in append mode would add a batch that was cut off twice. Tables in a catalog in
    memory end with the session, and are made again over their files.
    """

    is_stacked = True

    def __init__(self, context: SinkContext, database: str | None, files: FileOptions) -> None:
        catalog = context.session.catalog
        self._database = database or catalog.currentDatabase()
        if not catalog.databaseExists(self._database):
            raise RunError(
                f"there is no database {self._database!r}; make it with CREATE DATABASE, or leave "
                f"it out for the current one"
            )
        self._directory = catalog.getDatabase(self._database).locationUri.rstrip("/")
        self.output = self._directory
        self._session, self._options = context.session, files
        self._files = FolderSink(context, self._directory, files)

    def check(self, schemas: Mapping[str, StructType]) -> None:
        """Refuse tables that are there with other columns, or not over our files."""
        for name, schema in self._options.file_schemas(schemas).items():
            if self._session.catalog.tableExists(self._table(name)):
                self._check_table(name, schema)
        self._files.check(schemas)

    def claim(self, schemas: Mapping[str, StructType]) -> None:
        """Write the owner into each query's folder, and make the tables that are missing."""
        self._files.claim(schemas)
        for name, schema in self._options.file_schemas(schemas).items():
            self._create_table(name, schema)

    def missing(self, names: Sequence[str]) -> list[str]:
        """Returns the queries whose folders are missing, or not claimed."""
        return self._files.missing(names)

    def write(self, batch: int, answers: Answers) -> None:
        """Put the batch's files in place, and make the tables over them that are missing."""
        self._files.write(batch, answers)
        self._refresh_tables(batch)

    def close(self, batch: int) -> None:
        """Publish the buffered batches that were finished."""
        self._files.close(batch)
        self._refresh_tables(batch)

    def _refresh_tables(self, batch: int) -> None:
        for name, schema in self._options.file_schemas(self._files.written_schemas).items():
            with name_batch_in_errors(batch, name):
                self._create_table(name, schema)
            self._session.catalog.refreshTable(self._table(name))

    def _create_table(self, name: str, schema: StructType) -> None:
        table = self._table(name)
        if not self._session.catalog.tableExists(table):
            self._session.catalog.createTable(
                table,
                path=f"{self._directory}/{name}",
                source=self._options.format,
                schema=schema,
                **self._options.options,
            )

    def _table(self, name: str) -> str:
        return f"{quote_name(self._database)}.{quote_name(name)}"

    def _check_table(self, name: str, schema: StructType) -> None:
        table = self._table(name)
        type_name = self._session.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()
        place = next((row["data_type"] for row in type_name if row["col_name"] == "Location"), "")
        if _local_path(place) != _local_path(f"{self._directory}/{name}"):
            raise RunError(
                f"query {name!r}: there is a table {table} already, and it is not over "
                f"{self._directory}/{name}; drop it, or name the query otherwise"
            )
        have, want = (
            {field.name: field.dataType.simpleString() for field in columns.fields}
            for columns in (self._session.table(table).schema, schema)
        )
        if have != want:
            raise RunError(
                f"query {name!r}: the table {table} has the columns {_column_list(have)}, and the "
                f"query has {_column_list(want)}; drop the table, or name the query otherwise"
            )


def _local_path(location: str) -> str:
    """Returns a location without the prefixes of local paths."""
    return location.removeprefix("file:").rstrip("/").replace("//", "/")


def _column_list(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in columns.items())
