"""`muntin calibrate`: measures the prices of the cost model."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from muntin.cli.paths import check_file
from muntin.measure.calibrate import calibrate
from muntin.measure.processes import measured_session


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
