"""`muntin demo`: ten queries over generated events, plain Spark beside muntin."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from muntin.cli.paths import check_folder
from muntin.demo.show import show
from muntin.demo.side_by_side import check_output, side_by_side
from muntin.measure.session import measured_session


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
    show(side_by_side(session, events, output), Console())
