"""`muntin compare`: the queries of a file over the user's data, as plain Spark and as muntin."""

import json as json_text
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from muntin.cli.given import Inputs, Planning
from muntin.cli.options import (
    Approximate,
    Conf,
    File,
    InputFormatName,
    InputPaths,
    InputTables,
    Packages,
    Strategy,
    inputs_of,
    spark_options,
)
from muntin.cli.paths import check_file
from muntin.cli.sql_file import SqlFile
from muntin.console.progress import starting
from muntin.measure.compare import REPEATS, Comparison, compare
from muntin.measure.processes import check_installed
from muntin.optimizer.strategies import DEFAULT
from muntin.spark.session import SparkOptions, session_at


def compare_files(
    file: SqlFile, inputs: Inputs, spark: SparkOptions, *, repeats: int, planning: Planning
) -> Comparison:
    """Returns what both cost and whether their rows are equal; see `mt.compare`."""
    inputs.check(file.queries)
    check_installed()
    with starting():
        session = session_at(spark)
    file.check_syntax(session)
    with file.blamed():
        return compare(file.queries, inputs.read(session), repeats=repeats, **planning)


def compare_verb(
    file: File,
    input: InputPaths = None,
    table: InputTables = None,
    format: InputFormatName = None,
    strategy: Strategy = DEFAULT,
    approximate: Approximate = False,
    repeats: Annotated[
        int, typer.Option(metavar="N", min=1, help="Runs of each side; the cheapest counts.")
    ] = REPEATS,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the figures to a file, too.")
    ] = None,
    conf: Conf = None,
    packages: Packages = None,
) -> None:
    """Answer the queries with plain Spark, one by one, and with muntin, together.

    \b
    $ muntin compare dashboard.sql --input readings.parquet
    $ muntin compare dashboard.sql --input logs/ --format csv --repeats 1

    It compares every row and prints the CPU and wall seconds of both. The exit code is 1 if rows
    differ. Sums of floats may differ in their last digits. A run of more than half a minute is not
    repeated.
    """
    check_file(json, "--json")
    compared = compare_files(
        SqlFile.read(file),
        inputs_of(input, table, None, format=format, fallback=None),
        spark_options(None, None, conf, packages),
        repeats=repeats,
        planning=Planning(
            strategy=strategy, technique=None, latency=False, approximate=approximate
        ),
    )
    Console().print(*compared.tables())
    if json is not None:
        json.write_text(json_text.dumps(compared.to_json(), indent=2) + "\n")
        print(f"figures written to {json}")
    if not compared.equal:
        raise typer.Exit(1)
