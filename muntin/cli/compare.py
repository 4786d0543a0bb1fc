"""`muntin compare`: runs the queries of a file over the user's data, in plain Spark and muntin."""

import json as json_text
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from muntin.api.compare import compare
from muntin.cli.inputs import InputFormatName, InputOptions
from muntin.cli.options import File, PlanningOptions, SessionOptions
from muntin.cli.paths import check_file
from muntin.cli.sql_file import SqlFile
from muntin.measure.compare import REPEATS
from muntin.measure.processes import check_installed
from muntin.measure.progress import show_spark_start
from muntin.spark.session import session_at


def compare_verb(
    file: File,
    inputs: InputOptions,
    planning: PlanningOptions,
    session: SessionOptions,
    format: InputFormatName = None,
    repeats: Annotated[
        int, typer.Option(metavar="N", min=1, help="Runs of each side; the cheapest counts.")
    ] = REPEATS,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the figures to a file, too.")
    ] = None,
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
    sql_file = SqlFile.read(file)
    sources = replace(inputs, input_format=inputs.input_format or format).inputs()
    spark = session.to_spark()
    sources.check(sql_file.queries)
    check_installed()
    with show_spark_start():
        spark_session = session_at(spark)
    sql_file.check_syntax(spark_session)
    with sql_file.locate_errors():
        data = sources.read(spark_session)
        comparison = compare(sql_file.queries, data, repeats=repeats, **planning.arguments())
    Console().print(*comparison.tables())
    if json is not None:
        json.write_text(json_text.dumps(comparison.to_json(), indent=2) + "\n")
        print(f"figures written to {json}")
    if not comparison.equal:
        raise typer.Exit(1)
