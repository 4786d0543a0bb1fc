"""What `muntin stream` was asked for, and what of it can be refused without Spark."""

from dataclasses import dataclass
from pathlib import Path

from muntin.errors import RunError
from muntin.model.time import parse_duration
from muntin.spark.binding.planning import plan
from muntin.spark.files import check_format, format_of
from muntin.terminal.given import Planning, check_relations
from muntin.terminal.paths import check_folder, check_input, is_remote
from muntin.terminal.sql_file import SqlFile

# What the input's files hold, in the checkpoint: a name that Spark's readers pass over.
INPUT = "_input.json"


@dataclass(frozen=True, kw_only=True)
class Job:
    """What was asked for on the command line."""

    file: Path
    input: str
    output: str
    checkpoint: str
    watch: bool
    watermark: str | None
    trigger: str
    format: str | None
    planning: Planning
    retain: str
    files: int | None
    flatten: bool
    compact: int
    late: str | None = None
    # The address of a server of Spark Connect, on whose machine the files are; None: here.
    remote: str | None = None

    def check(self) -> SqlFile:
        """Refuse what can be refused without Spark, before it takes its seconds to start."""
        if self.format is not None:
            check_format(self.format)
        for duration in (self.watermark, self.retain):
            if duration is not None:
                parse_duration(duration)
        sql_file = SqlFile.read(self.file)
        check_relations(sql_file.queries, {"": self.input})
        if self.remote is None:
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
        check_input(self.input)
        check_folder(self.output, "--output")
        check_folder(self.checkpoint, "--checkpoint")
        if self.late is not None:
            check_folder(self.late, "--late")
        if not is_remote(self.checkpoint) and not Path(self.checkpoint, INPUT).exists():
            format_of(self.input, self.format)
