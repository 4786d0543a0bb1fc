"""Lets only one checkpoint write to a query's folder, in one format and with fixed column types.

output/query/_muntin.json    the mark of the checkpoint, the format and the columns

If two checkpoints wrote into one folder, it would have every answer twice. Readers skip files whose
names begin with an underscore.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql.types import StructType

from muntin.errors import RunError
from muntin.spark.engine.folder import Folder, Texts
from muntin.spark.error_text import FILE_ERRORS, job_error_text
from muntin.spark.files import FORMATS
from muntin.spark.sinks.sink import SinkContext

OWNER = "_muntin.json"
ELSEWHERE = "give another sink, or move that folder away"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """The checkpoint that owns a folder, and the format and columns of its files."""

    mark: str
    checkpoint: str
    format: str
    # The types of columns by name; in a folder of several queries, for each query.
    columns: Mapping[str, Any]

    @staticmethod
    def read(folder: Texts, file: str, shown: str) -> "Claim | None":
        """Returns the claim in a file; None if there is no file. Errors call the file `shown`."""
        if not folder.has(file):
            return None
        try:
            return Claim(**json.loads(folder.read(file)))
        except FILE_ERRORS as error:
            raise RunError(
                f"{shown} cannot be read ({job_error_text(error)}); {ELSEWHERE}"
            ) from None

    def check_checkpoint(self, mark: str, shown: str) -> None:
        """Refuse a folder of another checkpoint; errors call the folder `shown`."""
        if self.mark != mark:
            raise RunError(f"{shown} belongs to the checkpoint {self.checkpoint}; {ELSEWHERE}")

    def check_format(self, format: str, shown: str) -> None:
        """Refuse a folder that has files of another format."""
        if self.format != format:
            raise RunError(
                f"{shown} has files of the format {self.format}, not {format}; {ELSEWHERE}"
            )


class OutputOwner:
    """The folders of a pipeline's queries in one directory."""

    def __init__(
        self,
        context: SinkContext,
        directory: str,
        *,
        format: str,
        buffered_queries: Callable[[], Collection[str]],
    ) -> None:
        """`buffered_queries` returns the queries with answers that are not in place yet."""
        self._session = context.session
        self._folder = Folder(context.session, directory)
        self._directory = directory
        self._mark = context.mark
        self._checkpoint = context.checkpoint
        self._format = format
        self._buffered_queries = buffered_queries

    def check(self, schemas: Mapping[str, StructType]) -> None:
        """Raise `RunError` for folders of other checkpoints, columns or formats."""
        for name, schema in schemas.items():
            claim = self._read_claim(name)
            if claim is None:
                claim = self._claim_of_files(name)
            if claim is not None:
                self._check_claim(name, claim, columns_of(schema))

    def claim(self, schemas: Mapping[str, StructType]) -> list[str]:
        """Write the owner's file into each query's folder, before anything else.

        Returns the queries whose file is new or has changed, and that have no answers yet.
        """
        new = []
        for name, schema in schemas.items():
            before = self._read_claim(name)
            known = {} if before is None else before.columns
            claim = Claim(
                mark=self._mark,
                checkpoint=self._checkpoint,
                format=self._format,
                columns={**known, **columns_of(schema)},
            )
            if claim != before:
                self._folder.make(name)
                self._folder.write(f"{name}/{OWNER}", json.dumps(asdict(claim)))
                if not self._has_answers(name):
                    new.append(name)
        return new

    def missing(self, names: Sequence[str]) -> list[str]:
        """The queries among these whose folders are not claimed, by this checkpoint or another."""
        return [name for name in names if not self._folder.has(f"{name}/{OWNER}")]

    def _read_claim(self, name: str) -> Claim | None:
        shown = f"query {name!r}: {self._directory}/{name}/{OWNER}"
        return Claim.read(self._folder, f"{name}/{OWNER}", shown)

    def _claim_of_files(self, name: str) -> Claim | None:
        """Derives a claim from the files of a folder that was written before claims were."""
        files = self._files(name)
        if not files:
            return None
        foreign = [file for file in files if not file.startswith(f"part-{self._mark}-")]
        if foreign:
            raise RunError(
                f"query {name!r}: {self._directory}/{name} has files that this checkpoint did not "
                f"write, {sorted(foreign)[0]!r} among them; {ELSEWHERE}"
            )
        formats = [format for format in FORMATS if f".{format}" in files[0]]
        columns: Mapping[str, str] = {}
        if formats == ["parquet"]:
            try:
                columns = columns_of(self._session.read.parquet(f"{self._directory}/{name}").schema)
            except PySparkException as error:
                raise RunError(
                    f"query {name!r}: {self._directory}/{name} cannot be read ({error}); "
                    f"{ELSEWHERE}"
                ) from None
        return Claim(
            mark=self._mark,
            checkpoint=self._checkpoint,
            format=formats[0] if formats else self._format,
            columns=columns,
        )

    def _check_claim(self, name: str, claim: Claim, columns: Mapping[str, str]) -> None:
        where = f"{self._directory}/{name}"
        claim.check_checkpoint(self._mark, f"query {name!r}: {where}")
        if claim.format != self._format and self._has_answers(name):
            claim.check_format(self._format, f"query {name!r}: {where}")
        problem = why_other_columns(name, where, claim.columns, columns, self._format)
        if problem is not None and self._has_answers(name):
            raise RunError(problem)

    def _has_answers(self, name: str) -> bool:
        return bool(self._files(name)) or name in self._buffered_queries()

    def _files(self, name: str) -> list[str]:
        """Returns the files with answers."""
        others = (".", "_", columns_prefix(self._mark))
        return [file for file in self._folder.names(name) if not file.startswith(others)]


def columns_prefix(mark: str) -> str:
    """Returns the prefix of the file that has a query's columns and no answers.

    Readers take the columns of the first file, and this one sorts behind those with answers.
    """
    return f"part-{mark}-columns"


def columns_of(schema: StructType) -> dict[str, str]:
    """Returns the types of columns by name; in files every column may be null."""
    return {field.name: field.dataType.simpleString() for field in schema.fields}


def why_other_columns(
    query: str, where: str, known: Mapping[str, str], columns: Mapping[str, str], format: str
) -> str | None:
    """Returns why files with the columns `known` cannot have more answers of a query, or None."""
    for name, kind in columns.items():
        if known.get(name, kind) != kind:
            return (
                f"query {query!r}: in {where} the column {name} is {known[name]}, and the query "
                f"has {kind}; {ELSEWHERE}, or name the query otherwise"
            )
    # Lines of csv do not say which columns they have.
    if format == "csv" and known and list(known) != list(columns):
        return (
            f"query {query!r}: the csv files in {where} have the columns {', '.join(known)}, and "
            f"the query has {', '.join(columns)}; {ELSEWHERE}, or name the query otherwise"
        )
    return None
