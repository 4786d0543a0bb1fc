"""Verbs that measure: `muntin compare`, `muntin calibrate` and `muntin demo`."""

import json as json_text
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from muntin.api.batch import compare
from muntin.cli.options import File, InputFormatName, InputOptions, PlanningOptions, SessionOptions
from muntin.cli.paths import check_file, check_folder
from muntin.cli.sql_file import SqlFile
from muntin.demo import check_output, print_demo, run_demo
from muntin.measure.calibrate import calibrate
from muntin.measure.compare import REPEATS
from muntin.measure.processes import check_installed, measured_session
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


def calibrate_verb(
    output: Annotated[
        Path, typer.Option(metavar="FILE", help="Where to write the prices, as JSON.")
    ] = Path("prices.json"),
    events: Annotated[
        int, typer.Option(metavar="N", min=10_000, help="How many events to measure with.")
    ] = 1_000_000,
    repeats: Annotated[
        int, typer.Option(metavar="N", min=1, help="Runs of each, after some to warm up.")
    ] = 3,
) -> None:
    """Measure the prices of the cost model by small Spark runs, and write them to a file.

    \b
    $ muntin calibrate
    $ muntin explain dashboard.sql --prices prices.json

    In Python: mt.plan(queries, prices="prices.json"). It takes a minute or two.
    """
    check_file(output, "--output")
    session = measured_session()
    calibration = calibrate(session, events=events, repeats=repeats)
    Console().print(calibration.table())
    output.write_text(calibration.prices.to_json() + "\n")
    print(f"prices written to {output}")


def demo_verb(
    events: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many sensor readings to make.")
    ] = 1_000_000,
    output: Annotated[
        Path, typer.Option(metavar="DIR", help="Where to put events, answers and the picture.")
    ] = Path("muntin-demo"),
) -> None:
    """Ten dashboard queries over a factory's machines: plain Spark, muntin, and every row compared.

    \b
    $ muntin demo
    $ muntin demo --events 200000 --output /tmp/demo

    A million readings take two or three minutes.
    """
    check_output(output)
    check_folder(output, "--output")
    session = measured_session()
    print_demo(run_demo(session, events, output), Console())
