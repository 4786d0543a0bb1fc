"""`muntin explain`: the plan of a file's queries, as text, JSON, SQL or a picture."""

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from muntin import explain
from muntin.cli.given import Inputs, Planning, prices_in
from muntin.cli.options import (
    Approximate,
    Conf,
    File,
    InputFormatName,
    Latency,
    Master,
    Packages,
    Remote,
    Technique,
    inputs_of,
    spark_options,
)
from muntin.cli.paths import check_file
from muntin.cli.sql_file import SqlFile
from muntin.console.progress import starting
from muntin.model.plan import Plan
from muntin.model.workload import Workload, workload
from muntin.optimizer.on_slices import on_slices
from muntin.optimizer.strategies import DEFAULT, STEADY, STRATEGIES, compare, optimize
from muntin.spark.binding.relations import Relations
from muntin.spark.binding.sample import with_facts
from muntin.spark.session import SparkOptions, session_at


@dataclass(frozen=True, kw_only=True)
class Request:
    """What was asked for on the command line."""

    file: SqlFile
    planning: Planning
    # None: measured, if there are inputs, or else assumed.
    rate: float | None
    keys: float | None
    prices: Path | None
    strategies: bool
    sql: bool
    # Whether the SQL is one statement for all queries.
    together: bool
    svg: Path | None
    # The user's own functions, which Spark does not know.
    functions: tuple[str, ...]
    # Whether the plan is shown as a stream runs it.
    stream: bool
    # Whether Spark is started to check the statements.
    check: bool
    # Whether the plan is printed as JSON.
    json: bool
    # Data to measure rate and keys of, for which Spark is started; None: no data.
    inputs: Inputs | None
    spark: SparkOptions


def show_plan(request: Request) -> None:
    """Check the statements, plan them, and print the plan."""
    check_file(request.svg, "--svg")
    asked = _workload(request)
    strategy = request.planning["strategy"]
    plan = optimize(asked, strategy)
    if request.stream:
        plan = on_slices(plan)
    if request.strategies:
        taken = plan.taken or (strategy,)
        plan = replace(plan, considered=compare(asked), taken=taken)
    print(_printed(plan, request))
    if request.svg is not None:
        request.svg.write_text(plan.to_svg())


def _workload(request: Request) -> Workload:
    """Returns the queries, checked, with the rate and keys that were given or measured."""
    asked = workload(
        request.file.queries,
        rate=request.rate,
        keys=request.keys,
        prices=prices_in(request.prices),
        technique=request.planning["technique"],
        latency=request.planning["latency"],
        approximate=request.planning["approximate"],
    )
    if request.inputs is not None:
        request.inputs.check(request.file.queries)
    if not request.check:
        request.file.check(request.functions)
    if not request.check and request.inputs is None:
        return asked
    with starting():
        session = session_at(request.spark)
    if request.check:
        request.file.check_syntax(session)
        request.file.check_functions(session, request.functions)
    if request.inputs is None:
        return asked
    measured = with_facts(asked, Relations(request.inputs.read(session), asked.queries))
    return replace(
        measured,
        rate=measured.rate if request.rate is None else request.rate,
        keys=measured.keys if request.keys is None else request.keys,
    )


def _printed(plan: Plan, request: Request) -> str:
    if request.sql:
        return plan.to_sql(together=request.together)
    if request.json:
        return json.dumps(explain.figures(plan), indent=2)
    # A file or another program has room for whole lines.
    return explain.text(plan, None if sys.stdout.isatty() else explain.UNLIMITED)


def explain_verb(
    file: File,
    strategy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            autocompletion=lambda: list(STRATEGIES),
            help=f"How to share: {', '.join(STRATEGIES)}.",
            show_default=f"{DEFAULT}; {STEADY} with --stream",
        ),
    ] = None,
    technique: Technique = None,
    latency: Latency = False,
    approximate: Approximate = False,
    input: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]PATH",
            help="Events to measure rate and keys of, as for `muntin run`. Repeatable.",
        ),
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(metavar="[NAME=]TABLE", help="The same, from a catalog. Repeatable."),
    ] = None,
    input_format: InputFormatName = None,
    rate: Annotated[
        float | None,
        typer.Option(
            metavar="N",
            help="Events per second that costs are computed for.",
            show_default="measured with --input, else 1000",
        ),
    ] = None,
    keys: Annotated[
        float | None,
        typer.Option(
            metavar="N",
            help="Keys that are live at a time, likewise.",
            show_default="measured with --input, else 1",
        ),
    ] = None,
    prices: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Prices that `muntin calibrate` wrote."),
    ] = None,
    strategies: Annotated[
        bool, typer.Option("--strategies", help="Show what every strategy would cost.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON instead.")] = False,
    sql: Annotated[
        bool, typer.Option("--sql", help="Print the plan as Spark SQL statements instead.")
    ] = False,
    together: Annotated[
        bool,
        typer.Option(
            "--together",
            help="Print one statement for all queries, which reads each relation once.",
        ),
    ] = False,
    svg: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the plan as a picture, too.")
    ] = None,
    stream: Annotated[
        bool, typer.Option("--stream", help="Show the plan as `muntin stream` runs it.")
    ] = False,
    udf: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A function of your own that the queries call."),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Start Spark and let its own parser check the statements."),
    ] = False,
    remote: Remote = None,
    master: Master = None,
    conf: Conf = None,
    packages: Packages = None,
) -> None:
    """Show what the queries share, and what it costs. Spark is not started, except by --check,
    --input and --table.

    \b
    $ muntin explain dashboard.sql
    $ muntin explain dashboard.sql --rate 50 --keys 100 --svg plan.svg
    $ muntin explain dashboard.sql --input readings.parquet
    $ muntin explain dashboard.sql --json
    $ muntin explain dashboard.sql --strategies
    $ muntin explain dashboard.sql --sql > shared.sql
    $ muntin explain dashboard.sql --sql --together > one.sql
    $ muntin explain dashboard.sql --stream

    A statement looks like this; the comment names it:

    \b
    -- name: hot
    SELECT device, window, max(temp) AS hottest FROM readings
    GROUP BY device, window(ts, '1 hour', '1 minute');

    Costs, and the ratios between them, are estimates of the cost model. They leave out what does
    not depend on the number of events, such as starting jobs and opening files. A rate and keys
    that were neither given nor measured are marked as assumed.

    A syntax error and a function that Spark does not have are errors, with exit code 2. Name
    functions of your own with --udf. Spark reads some SQL that muntin cannot: with --check Spark's
    own parser and list of functions decide, which takes some seconds. Tables and columns are
    checked by `muntin run` alone, because that needs the data.
    """
    given = input or table
    show_plan(
        Request(
            file=SqlFile.read(file),
            inputs=inputs_of(input, table, remote, format=input_format) if given else None,
            spark=spark_options(remote, master, conf, packages),
            json=json,
            planning=Planning(
                strategy=strategy or (STEADY if stream else DEFAULT),
                technique=technique,
                latency=latency,
                approximate=approximate,
            ),
            rate=rate,
            keys=keys,
            prices=prices,
            strategies=strategies,
            sql=sql or together,
            together=together,
            svg=svg,
            stream=stream,
            functions=tuple(udf or ()),
            check=check,
        )
    )
