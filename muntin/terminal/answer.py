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
from muntin.spark.files import check_format, format_of, read_files, rows_in
from muntin.spark.folder import Folder
from muntin.spark.session import session_at
from muntin.terminal.given import Planning, check_relations
from muntin.terminal.paths import (
    check_absent,
    check_folder,
    check_input,
    check_outside,
    is_remote,
)
from muntin.terminal.sql_file import SqlFile


@dataclass(frozen=True, kw_only=True)
class Job:
    """What was asked for on the command line."""

    file: SqlFile
    # Paths by the names of relations; one path alone stands under the empty name.
    inputs: dict[str, str]
    output: str
    format: str | None
    flatten: bool
    planning: Planning
    mode: str
    # The address of a server of Spark Connect, on whose machine the files are; None: here.
    remote: str | None = None

    @property
    def names(self) -> list[str]:
        """The queries, which are also the folders of the output."""
        return [query.name for query in self.file.queries]

    def check(self) -> None:
        """Refuse what can be refused without Spark, before it takes its seconds to start."""
        if self.format is not None:
            check_format(self.format)
        if self.mode not in MODES:
            raise RunError(f"no mode is called {self.mode!r}; {nearest(self.mode, list(MODES))}")
        check_relations(self.file.queries, self.inputs)
        if self.remote is None:
            self._check_paths()
        plan(self.file.queries, **self.planning)

    def _check_paths(self) -> None:
        """Refuse what this machine's files tell."""
        for path in self.inputs.values():
            check_input(path)
            format_of(path, self.format)
        check_folder(self.output, "--output")
        check_outside(self.output, self.inputs.values())
        if self.mode == "error" and not is_remote(self.output):
            check_absent(
                self.output, self.names, lambda name: os.path.exists(f"{self.output}/{name}")
            )


def answer(job: Job) -> None:
    """Answer queries over files into folders, and tell what is where."""
    job.check()
    kind = job.format or "parquet"
    folders = {name: f"{job.output.rstrip('/')}/{name}" for name in job.names}
    with Steps(4) as bar:
        with bar.step("starting Spark"):
            session = session_at(job.remote)
        job.file.check_syntax(session)
        if job.mode == "error" and is_remote(job.output) and job.remote is None:
            check_absent(job.output, job.names, Folder(session, job.output).has)
        with bar.step("reading inputs"):
            frames = {
                name: read_files(session, path, job.format, is_here=job.remote is None)
                for name, path in job.inputs.items()
            }
        with bar.step(f"answering {len(folders)} queries"), job.file.blamed():
            before = {
                name: rows_in(session, folder, kind) if job.mode == "append" else 0
                for name, folder in folders.items()
            }
            options = {"header": "true"} if kind == "csv" else {}
            data = frames.get("", frames)
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
