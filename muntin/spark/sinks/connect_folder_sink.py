"""Puts a pipeline's answers into files on a server, a folder for each query and batch.

output/query=hot/batch=7    the answers of batch 7
output/_muntin.json         the mark of the checkpoint that fills it, the format and the columns

A client cannot move files, so files are not put in place one by one: Spark's writer replaces all
that is in the folder of a query and a batch. Spark's own file sink would leave out a batch whose
answers it has, and with it the state that this batch leaves behind, so a stream would not continue
after a cut.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any
from urllib.parse import unquote

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr, lit
from pyspark.sql.types import StringType, StructField, StructType

from muntin.errors import RunError
from muntin.spark.engine.folder import ServerFolder, Texts, texts_in
from muntin.spark.engine.session_kind import cores_of
from muntin.spark.output.stacking import INDEX, Stack
from muntin.spark.sinks.file_options import FileOptions, flatten
from muntin.spark.sinks.output_owner import OWNER, Claim, columns_of, why_other_columns
from muntin.spark.sinks.sink import Answers, Sink, SinkContext, name_batch_in_errors
from muntin.sql_text import literal

# The columns that folders are named after.
QUERY, BATCH = "query", "batch"
# The folder of a checkpoint in which answers are kept.
_ANSWERS = "answers"


class ConnectFolderSink(Sink):
    """Files in `directory/query=name/batch=number`: writing a batch again replaces its files.

    It is pickled for the server, where it writes. The rest is done by the client.
    """

    is_stacked = True

    def __init__(self, context: SinkContext, directory: str, files: FileOptions) -> None:
        files.check()
        self.output = directory
        self._directory = directory.rstrip("/")
        self._texts: Texts = texts_in(context.session, directory)
        self._mark, self._checkpoint = context.mark, context.checkpoint
        self._files = files
        # Whether this process has written a batch.
        self._has_written = False

    def __getstate__(self) -> dict[str, Any]:
        """Returns what the server needs, which does not have this session."""
        return {name: value for name, value in self.__dict__.items() if name != "_texts"}

    def check(self, schemas: Mapping[str, StructType]) -> None:
        """Refuse columns that have no place in the files, and folders that hold other answers."""
        schemas = self._files.file_schemas(schemas)
        for query, schema in schemas.items():
            for name in (field.name for field in schema.fields):
                if name.lower() in (QUERY, BATCH):
                    raise RunError(
                        f"query {query!r} has a column called {name!r}, which files on a server "
                        f"have for the {name.lower()} that they are of; name it otherwise"
                    )
        claim = self._read_claim()
        if claim is not None:
            self._check_claim(claim, {name: columns_of(schema) for name, schema in schemas.items()})

    def claim(self, schemas: Mapping[str, StructType]) -> None:
        """Write the owner's file into the folder, before anything else."""
        before = self._read_claim()
        columns = {
            name: columns_of(schema) for name, schema in self._files.file_schemas(schemas).items()
        }
        claim = Claim(
            mark=self._mark,
            checkpoint=self._checkpoint,
            format=self._files.format,
            columns={**({} if before is None else before.columns), **columns},
        )
        if claim != before:
            self._texts.write(OWNER, json.dumps(asdict(claim)))

    def missing(self, names: Sequence[str]) -> list[str]:
        """The queries among these that the folder does not know."""
        claim = self._read_claim()
        return [name for name in names if claim is None or name not in claim.columns]

    def write(self, batch: int, answers: Answers) -> None:
        """Write the batch in place of an earlier try of it; called on the server."""
        with answers.stacks() as stacks:
            if not self._has_written:
                self._clear(stacks, batch)
            for stack in stacks:
                self._write(stack, batch)
        self._has_written = True

    def _write(self, stack: Stack, batch: int) -> None:
        """Write a stack in one job."""
        names = " ".join(f"WHEN {number} THEN {literal(of)}" for number, of in stack.names.items())
        # A file for each query, however many partitions the state has.
        parallel = min(len(stack.names), cores_of(stack.frame.sparkSession))
        rows = stack.frame.repartition(parallel, INDEX)
        rows = rows.withColumn(INDEX, expr(f"CASE {INDEX} {names} END"))
        rows = self._flatten(rows).withColumnRenamed(INDEX, QUERY).withColumn(BATCH, lit(batch))
        with name_batch_in_errors(batch, *stack.names.values()):
            writer = rows.write.format(self._files.format).options(**self._files.options)
            writer = writer.partitionBy(QUERY, BATCH).mode("overwrite")
            writer.option("partitionOverwriteMode", "dynamic").save(self._directory)

    def _clear(self, stacks: Sequence[Stack], batch: int) -> None:
        """Empty the folders of a batch that another plan may have begun.

        A query that had rows in it may have none now.
        """
        session = stacks[0].frame.sparkSession
        places = ServerFolder(session, self._directory).matching_folders(
            f"{QUERY}=*/{BATCH}={batch}"
        )
        # Spark escapes some characters of names.
        there = {unquote(place): place for place in places}
        for stack in stacks:
            nothing = self._flatten(stack.frame.drop(INDEX)).schema
            for name in stack.names.values():
                if (place := there.get(f"{QUERY}={name}/{BATCH}={batch}")) is not None:
                    with name_batch_in_errors(batch, name):
                        empty = session.createDataFrame([], nothing).write.format(
                            self._files.format
                        )
                        empty = empty.options(**self._files.options).mode("overwrite")
                        empty.save(f"{self._directory}/{place}")

    def _flatten(self, rows: DataFrame) -> DataFrame:
        return flatten("all", rows) if self._files.is_flat else rows

    def _read_claim(self) -> Claim | None:
        return Claim.read(self._texts, OWNER, f"{self.output}/{OWNER}")

    def _check_claim(self, claim: Claim, queries: Mapping[str, Mapping[str, str]]) -> None:
        claim.check_checkpoint(self._mark, str(self.output))
        claim.check_format(self._files.format, str(self.output))
        for query, columns in queries.items():
            known = claim.columns.get(query, columns)
            problem = why_other_columns(query, str(self.output), known, columns, self._files.format)
            if problem is not None:
                raise RunError(problem)


class CheckpointSink(ConnectFolderSink):
    """Keeps answers in the checkpoint's folder: for tests and notebooks, where no sink is given."""

    def __init__(self, context: SinkContext) -> None:
        super().__init__(context, f"{context.checkpoint}/{_ANSWERS}", FileOptions())
        self._session = context.session
        self._schemas: Mapping[str, StructType] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Returns what the server needs."""
        return {name: of for name, of in super().__getstate__().items() if name != "_session"}

    def claim(self, schemas: Mapping[str, StructType]) -> None:
        """Write the owner's file into the folder."""
        super().claim(schemas)
        self._schemas = schemas

    def answers(self, name: str) -> DataFrame | None:
        """Returns all answers of a query so far, including those of earlier runs."""
        # Without a schema, Spark would take a query that is called 1 for a number.
        of_files = StructType([*self._schemas[name].fields, StructField(QUERY, StringType())])
        try:
            rows = self._session.read.schema(of_files).parquet(self._directory)
            return rows.where(f"{QUERY} = {literal(name)}").drop(QUERY, BATCH)
        except AnalysisException as error:
            if error.getCondition() != "PATH_NOT_FOUND":
                raise
            return None
