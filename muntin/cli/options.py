"""Options that several commands have, and what they are read as."""

from pathlib import Path
from typing import Annotated

import typer

from muntin.cli.given import Inputs
from muntin.optimizer.strategies import STRATEGIES
from muntin.spark.files import FORMATS, INPUT_FORMATS, InputFormat
from muntin.spark.session import SparkOptions
from muntin.techniques.table import TECHNIQUES

Strategy = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        autocompletion=lambda: list(STRATEGIES),
        help=f"How to share: {', '.join(STRATEGIES)}.",
    ),
]
File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE.sql", help="Spark SQL statements, separated by `;`. `-` is standard input."
    ),
]

InputPaths = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[NAME=]PATH",
        help="Events: a file or folder of parquet, csv or json. Repeat it, with names, where "
        "the queries read several relations.",
    ),
]
InputTables = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[NAME=]TABLE", help="Events: a table of a catalog of Spark's. Repeatable."
    ),
]
Flatten = Annotated[
    bool,
    typer.Option(
        "--flatten",
        help="Write the fields of structs as columns: window_start and window_end, not window.",
    ),
]


Remote = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="A server of Spark Connect, such as sc://host:15002; paths are the server's.",
    ),
]
Master = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="A cluster, such as yarn or spark://host:7077.",
        show_default="all cores of this machine",
    ),
]
Conf = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark's. Repeatable."),
]
Packages = Annotated[
    list[str] | None,
    typer.Option(
        metavar="GROUP:NAME:VERSION", help="A package for Spark, by its Maven name. Repeatable."
    ),
]
InputFormatName = Annotated[
    str | None,
    typer.Option(
        metavar="|".join(INPUT_FORMATS),
        help="Format of the inputs.",
        show_default="what their names tell",
    ),
]
OutputFormatName = Annotated[
    str | None,
    typer.Option(metavar="|".join(FORMATS), help="Format of the answers.", show_default="parquet"),
]
FormatName = Annotated[
    str | None,
    typer.Option(
        metavar="|".join(FORMATS),
        help="Format of the answers, and of inputs whose names do not tell theirs.",
    ),
]
Technique = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        autocompletion=lambda: list(TECHNIQUES),
        help=f"How windows are computed, for all of them: {', '.join(TECHNIQUES)}.",
        show_default="chosen by the plan",
    ),
]
Latency = Annotated[
    bool, typer.Option("--latency", help="Choose techniques that never take long for one answer.")
]


Approximate = Annotated[
    bool,
    typer.Option(
        "--approximate",
        help="Share sketches, too, whose answers may differ from Spark's within their errors.",
    ),
]


def inputs_of(
    paths: list[str] | None,
    tables: list[str] | None,
    remote: str | None,
    *,
    format: str | None,
    fallback: str | None = None,
) -> Inputs:
    """Returns the inputs that `--input` and `--table` name; `fallback` is the format of files whose
    names do not tell theirs."""
    known = InputFormat(format=format, fallback=fallback, is_here=remote is None)
    return Inputs.of(paths or (), tables or (), known)


def spark_options(
    remote: str | None, master: str | None, conf: list[str] | None, packages: list[str] | None
) -> SparkOptions:
    """Returns where `--remote` or `--master` says that Spark runs, with the given settings."""
    return SparkOptions.of(remote=remote, master=master, conf=conf or (), packages=packages or ())
