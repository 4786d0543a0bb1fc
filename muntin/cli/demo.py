"""`muntin demo`: runs ten queries over generated events, in plain Spark and in muntin."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from muntin.cli.paths import check_folder
from muntin.demo.dashboard import check_output, run_demo
from muntin.demo.report import print_demo
from muntin.measure.processes import measured_session


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
