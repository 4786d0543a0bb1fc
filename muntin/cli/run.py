"""`muntin run`: answers queries over files in one pass, into a folder for each query."""

import os
from typing import Annotated

import typer
from pyspark.sql import SparkSession
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from muntin.api.batch import plan, run
from muntin.cli.options import (
    ClusterOptions,
    File,
    InputOptions,
    Inputs,
    OutputOptions,
    PlanningOptions,
)
from muntin.cli.paths import check_absent, check_outside
from muntin.cli.sql_file import SqlFile
from muntin.errors import RunError, nearest
from muntin.measure.progress import Steps
from muntin.spark.batch.write import MODES
from muntin.spark.engine.folder import Folder
from muntin.spark.files import rows_in
from muntin.spark.session import session_at


def run_verb(
    file: File,
    output: OutputOptions,
    inputs: InputOptions,
    planning: PlanningOptions,
    cluster: ClusterOptions,
    mode: Annotated[
        str,
        typer.Option(metavar="|".join(MODES), help="What to do where a query's folder exists."),
    ] = "error",
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
    sql_file = SqlFile.read(file)
    spark = cluster.to_spark()
    sources = inputs.inputs(fallback=output.format, is_here=cluster.is_here)
    names = [query.name for query in sql_file.queries]
    # Everything that can be refused without Spark is refused before Spark takes seconds to start.
    if mode not in MODES:
        raise RunError(f"no mode is called {mode!r}; {nearest(mode, list(MODES))}")
    sources.check(sql_file.queries)
    output.check(cluster)
    if cluster.is_here:
        check_outside(output.output, sources.paths.values())
    if mode == "error" and cluster.is_here and not output.is_remote:
        check_absent(output.output, names, lambda name: os.path.exists(f"{output.output}/{name}"))
    plan(sql_file.queries, **planning.arguments())
    with Steps(4) as bar:
        with bar.step("starting Spark"):
            session = session_at(spark)
        sql_file.check_syntax(session)
        if mode == "error" and cluster.is_here and output.is_remote:
            check_absent(output.output, names, Folder(session, output.output).has)
        table = _write_answers(session, sql_file, sources, output, mode, planning, bar)
    Console().print(table)


def _write_answers(
    session: SparkSession,
    sql_file: SqlFile,
    inputs: Inputs,
    output: OutputOptions,
    mode: str,
    planning: PlanningOptions,
    bar: Steps,
) -> Table:
    """Writes the answers, and returns a table of the rows that each query has."""
    folders = {
        query.name: f"{output.output.rstrip('/')}/{query.name}" for query in sql_file.queries
    }

    def count_rows() -> dict[str, int]:
        return {
            name: rows_in(session, folder, output.answer_format) for name, folder in folders.items()
        }

    with bar.step("reading inputs"):
        data = inputs.read(session)
    with bar.step(f"answering {len(folders)} queries"), sql_file.locate_errors():
        before = count_rows() if mode == "append" else dict.fromkeys(folders, 0)
        with run(sql_file.queries, data, **planning.arguments()) as results:
            results.write(
                output.output,
                format=output.answer_format,
                mode=mode,
                flatten=output.flatten,
                **output.spark_options(),
            )
    with bar.step("counting rows"):
        after = count_rows()
    table = Table(box=SIMPLE)
    for column in ("query", "rows", "folder"):
        table.add_column(column, justify="right" if column == "rows" else "left")
    for name, folder in folders.items():
        table.add_row(name, f"{after[name] - before[name]:,}", folder)
    return table
