"""What `muntin stream` was asked for, and what of it can be refused without Spark."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muntin.cli.given import Inputs, Planning
from muntin.cli.paths import check_folder, is_remote
from muntin.cli.sql_file import STDIN, SqlFile
from muntin.errors import RunError
from muntin.model.time import parse_duration
from muntin.spark.binding.planning import plan
from muntin.spark.files import check_format
from muntin.spark.pipeline.stream_options import STOP, StreamOptions
from muntin.spark.session import SparkOptions

# What the input's files hold, in the checkpoint: a name that Spark's readers pass over.
INPUT = "_input.json"


@dataclass(frozen=True, kw_only=True)
class Job:
    """What was asked for on the command line."""

    file: Path
    # One relation: a folder of files, or a table of the catalog.
    inputs: Inputs
    output: str
    checkpoint: str
    watch: bool
    watermark: str | None
    trigger: str
    # The format of the answers.
    format: str
    planning: Planning
    retain: str
    files: int | None
    flatten: bool
    compact: int
    spark: SparkOptions
    # The name of Spark's query; None: that of the checkpoint's folder.
    name: str | None = None
    late: str | None = None
    on_error: str = STOP

    @property
    def options(self) -> StreamOptions:
        """The options of the stream."""
        return StreamOptions(
            **self.planning, name=self.name, retain=self.retain, on_error=self.on_error
        )

    @property
    def file_options(self) -> dict[str, Any]:
        """How the files of answers and of late rows are written."""
        options = {"header": "true"} if self.format == "csv" else {}
        return {"format": self.format, "flatten": self.flatten, "options": options}

    @property
    def source(self) -> str:
        """The folder or the table that the events come from."""
        return next(iter((*self.inputs.paths.values(), *self.inputs.tables.values())))

    @property
    def is_table(self) -> bool:
        """Whether the events come from a table."""
        return bool(self.inputs.tables)

    def check(self) -> SqlFile:
        """Refuse what can be refused without Spark, before it takes its seconds to start."""
        check_format(self.format)
        self.options.check()
        if self.watch and str(self.file) == STDIN:
            raise RunError("--watch needs a file of queries, and `-` is the standard input")
        if len(self.inputs.paths) + len(self.inputs.tables) > 1:
            raise RunError("a stream has one --input, or one --table")
        for duration in (self.watermark, self.retain):
            if duration is not None:
                parse_duration(duration)
        sql_file = SqlFile.read(self.file)
        self.inputs.check(sql_file.queries, has_formats=not self._is_stored)
        if self.spark.remote is None:
            self._check_paths()
        else:
            self._check_remote()
        plan(sql_file.queries, **self.planning)
        return sql_file

    def _check_remote(self) -> None:
        """Refuse what needs the process that starts batches, or files that can be moved."""
        given = {"--late": self.late is not None, "--compact": self.compact > 1}
        for option in (option for option, is_given in given.items() if is_given):
            raise RunError(
                f"{option} does not go with --remote: a client of Spark Connect reaches neither "
                f"the batches of a stream nor its files"
            )

    def _check_paths(self) -> None:
        """Refuse what this machine's files tell."""
        check_folder(self.output, "--output")
        check_folder(self.checkpoint, "--checkpoint")
        if self.late is not None:
            check_folder(self.late, "--late")

    @property
    def _is_stored(self) -> bool:
        """Whether the checkpoint says what the files of the input hold."""
        return not is_remote(self.checkpoint) and Path(self.checkpoint, INPUT).exists()
