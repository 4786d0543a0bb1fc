"""`muntin run`: queries over files, answered in one pass into a folder for each."""

import os
from dataclasses import dataclass

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from muntin.console.progress import Steps
from muntin.errors import RunError, nearest
from muntin.spark.batch.results import run
from muntin.spark.batch.write import MODES
from muntin.spark.binding.planning import plan
from muntin.spark.files import check_format, rows_in
from muntin.spark.folder import Folder
from muntin.spark.session import SparkOptions, session_at
from muntin.terminal.given import Inputs, Planning
from muntin.terminal.paths import check_absent, check_folder, check_outside, is_remote
from muntin.terminal.sql_file import SqlFile


@dataclass(frozen=True, kw_only=True)
class Job:
    """What was asked for on the command line."""

    file: SqlFile
    inputs: Inputs
    output: str
    # The format of the answers.
    format: str
    flatten: bool
    planning: Planning
    mode: str
    spark: SparkOptions

    @property
    def names(self) -> list[str]:
        """The queries, which are also the folders of the output."""
        return [query.name for query in self.file.queries]

    def check(self) -> None:
        """Refuse what can be refused without Spark, before it takes its seconds to start."""
        check_format(self.format)
        if self.mode not in MODES:
            raise RunError(f"no mode is called {self.mode!r}; {nearest(self.mode, list(MODES))}")
        self.inputs.check(self.file.queries)
        if self.spark.remote is None:
            self._check_output()
        plan(self.file.queries, **self.planning)

    def _check_output(self) -> None:
        """Refuse what this machine's files tell."""
        check_folder(self.output, "--output")
        check_outside(self.output, self.inputs.paths.values())
        if self.mode == "error" and not is_remote(self.output):
            check_absent(
                self.output, self.names, lambda name: os.path.exists(f"{self.output}/{name}")
            )


def answer(job: Job) -> None:
    """Answer queries over files into folders, and tell what is where."""
    job.check()
    kind = job.format
    folders = {name: f"{job.output.rstrip('/')}/{name}" for name in job.names}
    with Steps(4) as bar:
        with bar.step("starting Spark"):
            session = session_at(job.spark)
        job.file.check_syntax(session)
        if job.mode == "error" and is_remote(job.output) and job.spark.remote is None:
            check_absent(job.output, job.names, Folder(session, job.output).has)
        with bar.step("reading inputs"):
            data = job.inputs.read(session)
        with bar.step(f"answering {len(folders)} queries"), job.file.blamed():
            before = {
                name: rows_in(session, folder, kind) if job.mode == "append" else 0
                for name, folder in folders.items()
            }
            options = {"header": "true"} if kind == "csv" else {}
            with run(job.file.queries, data, **job.planning) as results:
                results.write(
                    job.output, format=kind, mode=job.mode, flatten=job.flatten, **options
                )
        with bar.step("counting rows"):
            rows = {
                name: rows_in(session, folder, kind) - before[name]
                for name, folder in folders.items()
            }
    table = Table(box=SIMPLE)
    for column in ("query", "rows", "folder"):
        table.add_column(column, justify="right" if column == "rows" else "left")
    for name, folder in folders.items():
        table.add_row(name, f"{rows[name]:,}", folder)
    Console().print(table)
