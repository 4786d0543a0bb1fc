"""`muntin run`: queries over files, answered in one pass into a folder for each."""

import os
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from muntin.cli.given import Inputs, Planning
from muntin.cli.options import (
    Approximate,
    Conf,
    File,
    Flatten,
    FormatName,
    InputFormatName,
    InputPaths,
    InputTables,
    Latency,
    Master,
    OutputFormatName,
    Packages,
    Remote,
    Strategy,
    Technique,
    inputs_of,
    spark_options,
)
from muntin.cli.paths import check_absent, check_folder, check_outside, is_remote
from muntin.cli.sql_file import SqlFile
from muntin.console.progress import Steps
from muntin.errors import RunError, nearest
from muntin.optimizer.strategies import DEFAULT
from muntin.spark.batch.results import run
from muntin.spark.batch.write import MODES
from muntin.spark.binding.planning import plan
from muntin.spark.files import check_format, rows_in
from muntin.spark.folder import Folder
from muntin.spark.session import SparkOptions, session_at


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


def run_verb(
    file: File,
    output: Annotated[
        str, typer.Option(metavar="DIR", help="Where to put a folder for each query.")
    ],
    input: InputPaths = None,
    table: InputTables = None,
    format: FormatName = None,
    input_format: InputFormatName = None,
    output_format: OutputFormatName = None,
    strategy: Strategy = DEFAULT,
    technique: Technique = None,
    latency: Latency = False,
    approximate: Approximate = False,
    mode: Annotated[
        str,
        typer.Option(metavar="|".join(MODES), help="What to do where a query's folder exists."),
    ] = "error",
    flatten: Flatten = False,
    remote: Remote = None,
    master: Master = None,
    conf: Conf = None,
    packages: Packages = None,
) -> None:
    """Answer the queries over files, in one pass, into a folder for each query.

    \b
    $ muntin run dashboard.sql --input readings.parquet --output answers
    $ muntin run dashboard.sql --input logs/ --format csv --output answers
    $ muntin run two.sql --input readings=r.parquet --input alarms=a.json --output answers
    $ muntin run dashboard.sql --table prod.readings --output s3a://bucket/answers \\
        --master yarn --conf spark.executor.memory=8g
    $ cat dashboard.sql | muntin run - --input readings.parquet --output answers

    A csv file has its column names in the first line. Times are read as Spark reads them. Answers
    in csv are always flat, as with --flatten.
    """
    answer(
        Job(
            file=SqlFile.read(file),
            inputs=inputs_of(input, table, remote, format=input_format, fallback=format),
            output=output,
            format=output_format or format or "parquet",
            flatten=flatten,
            planning=Planning(
                strategy=strategy,
                technique=technique,
                latency=latency,
                approximate=approximate,
            ),
            mode=mode,
            spark=spark_options(remote, master, conf, packages),
        )
    )
