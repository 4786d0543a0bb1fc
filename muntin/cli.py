"""The command line: parses arguments, calls one function per verb, prints errors in one line."""

import json as json_text
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from muntin import __version__
from muntin.console.progress import starting
from muntin.demo.show import show
from muntin.demo.side_by_side import check_output, side_by_side
from muntin.demo.warm_up import warm_up_kernels
from muntin.errors import MuntinError, RunError
from muntin.measure.calibrate import calibrate
from muntin.measure.compare import REPEATS
from muntin.measure.session import measured_session
from muntin.optimizer.strategies import DEFAULT, STEADY, STRATEGIES
from muntin.spark.batch.write import MODES
from muntin.spark.files import FORMATS, INPUT_FORMATS, InputFormat
from muntin.spark.frames.stream_frames import WATERMARK
from muntin.spark.pipeline.failing_queries import DROP_QUERY, STOP
from muntin.spark.session import SparkOptions, local_session, one_line
from muntin.techniques.table import TECHNIQUES
from muntin.terminal.answer import Job as BatchJob
from muntin.terminal.answer import answer
from muntin.terminal.compare import compare_files
from muntin.terminal.given import Inputs, Planning
from muntin.terminal.interrupt import INTERRUPTED, interruptible
from muntin.terminal.paths import check_file, check_folder
from muntin.terminal.show_plan import Request, show_plan
from muntin.terminal.sql_file import SqlFile
from muntin.terminal.stream import stream
from muntin.terminal.stream_job import Job

app = typer.Typer(
    help="Many window aggregate queries over one stream, computed once, on Apache Spark.",
    epilog="Start with `muntin demo`; each verb has examples: `muntin run --help`.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

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


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command of `muntin` and returns its exit code."""
    return run_command(app, "muntin", arguments)


def run_command(commands: typer.Typer, name: str, arguments: Sequence[str] | None = None) -> int:
    """Runs one of these commands and returns its exit code: 0, 2 with a line on stderr that says
    why, or 130 after Ctrl-C."""
    with interruptible() as interrupt:
        try:
            code = commands(arguments, prog_name=name, standalone_mode=False)
            return code if isinstance(code, int) else 0
        except (KeyboardInterrupt, typer.Abort):
            return _end(name, "stopped", INTERRUPTED)
        except Exception as error:
            if interrupt.asked:
                return _end(name, "stopped", INTERRUPTED)
            line = _line(error)
            if line is None:
                raise
            return _end(name, line, 2)


def _end(name: str, line: str, code: int) -> int:
    print(f"{name}: {line}", file=sys.stderr)
    return code


def _line(error: Exception) -> str | None:
    """Returns the line for an error that the user can fix, or None for a bug of ours."""
    if isinstance(error, MuntinError):
        return " ".join(str(error).split())
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error)
    # Usage errors are typer's or click's, by version; in either they format themselves.
    if hasattr(error, "format_message"):
        context = getattr(error, "ctx", None)
        hint = f". See `{context.command_path} --help`." if context else ""
        return " ".join(error.format_message().split()).rstrip(".") + hint
    return one_line(error)


def _inputs(
    paths: list[str] | None,
    tables: list[str] | None,
    remote: str | None,
    *,
    format: str | None,
    fallback: str | None = None,
) -> Inputs:
    known = InputFormat(format=format, fallback=fallback, is_here=remote is None)
    return Inputs.of(paths or (), tables or (), known)


def _spark(
    remote: str | None, master: str | None, conf: list[str] | None, packages: list[str] | None
) -> SparkOptions:
    return SparkOptions.of(remote=remote, master=master, conf=conf or (), packages=packages or ())


@app.callback(invoke_without_command=True)
def _top(
    context: typer.Context,
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)
    ] = False,
) -> None:
    if show_version:
        print(f"muntin {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


@app.command("explain", short_help="Show what queries share, and what it costs.")
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
            inputs=_inputs(input, table, remote, format=input_format) if given else None,
            spark=_spark(remote, master, conf, packages),
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


@app.command("run", short_help="Answer queries over files, in one pass.")
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
        BatchJob(
            file=SqlFile.read(file),
            inputs=_inputs(input, table, remote, format=input_format, fallback=format),
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
            spark=_spark(remote, master, conf, packages),
        )
    )


@app.command("compare", short_help="Your queries as plain Spark and as muntin: cost and equality.")
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
        _inputs(input, table, None, format=format, fallback=None),
        _spark(None, None, conf, packages),
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


@app.command("stream", short_help="Answer queries over files that keep coming.")
def stream_verb(
    file: File,
    output: Annotated[
        str, typer.Option(metavar="DIR", help="Where to put a folder for each query.")
    ],
    checkpoint: Annotated[
        str, typer.Option(metavar="DIR", help="Where the stream keeps how far it is, to go on.")
    ],
    input: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Where files of parquet, csv or json arrive."),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(metavar="TABLE", help="Instead: a table of a catalog of Spark's."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What Spark's web page calls the stream.",
            show_default="the checkpoint's folder",
        ),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Follow edits of FILE.sql while it runs.")
    ] = False,
    watermark: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help=f"How late events may be (without it: {WATERMARK})."),
    ] = None,
    trigger: Annotated[
        str,
        typer.Option(
            metavar="DURATION", help='Time between batches, or "available now": all, then an end.'
        ),
    ] = "1 second",
    format: FormatName = None,
    input_format: InputFormatName = None,
    output_format: OutputFormatName = None,
    strategy: Strategy = STEADY,
    technique: Technique = None,
    latency: Latency = False,
    approximate: Approximate = False,
    retain: Annotated[
        str,
        typer.Option(metavar="DURATION", help="How long slices are kept for queries to come."),
    ] = "0 seconds",
    files: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="At most so many files in a batch.")
    ] = None,
    flatten: Flatten = False,
    late: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Where to put rows that came too late for any window."),
    ] = None,
    compact: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="Put answers in place every N batches, in one file."),
    ] = 1,
    on_error: Annotated[
        str,
        typer.Option(
            metavar=f'{STOP}|"{DROP_QUERY}"',
            help="What to do if a query fails: stop, or go on with the others.",
        ),
    ] = STOP,
    remote: Remote = None,
    master: Master = None,
    conf: Conf = None,
    packages: Packages = None,
) -> None:
    """Answer the queries over files as they arrive, exactly once, into a folder for each query.

    \b
    $ muntin stream dashboard.sql --input in --output answers --checkpoint check
    $ muntin stream dashboard.sql --input in --output answers --checkpoint check --watch

    Ctrl-C stops after the batch, with exit code 0, and the same command goes on from there; a
    second Ctrl-C stops at once. Put files into the input by moving them there, whole: Spark reads
    each once. The first must be there at the first start, to find the columns in. Answers in csv
    are always flat, as with --flatten. With --watch, queries that you add to FILE.sql, change or
    remove are so in the stream; if they are wrong, the error is shown and the old ones go on.
    With --remote, the stream runs on the server, into folders such as query=hot, and without
    --late and --compact.
    """
    stream(
        Job(
            file=file,
            inputs=Inputs(
                paths={} if input is None else {"": input},
                tables={} if table is None else {"": table},
                format=InputFormat(format=input_format, fallback=format, is_here=remote is None),
            ),
            name=name,
            output=output,
            checkpoint=checkpoint,
            watch=watch,
            watermark=watermark,
            trigger=trigger,
            format=output_format or format or "parquet",
            planning=Planning(
                strategy=strategy,
                technique=technique,
                latency=latency,
                approximate=approximate,
            ),
            retain=retain,
            files=files,
            flatten=flatten,
            late=late,
            compact=compact,
            spark=_spark(remote, master, conf, packages),
            on_error=on_error,
        )
    )


@app.command("calibrate", short_help="Measure what costs are computed with, on this machine.")
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


@app.command("warmup", short_help="Compile what usual queries need, before they run.")
def warmup_verb() -> None:
    """Compile the kernels of usual queries, and keep the machine code for this user and machine.

    \b
    $ muntin warmup
    $ NUMBA_CACHE_DIR=/opt/kernels muntin warmup

    Without it, the first queries compile what they need, which takes them some seconds more.
    """
    with starting():
        session = local_session()
    kernels = warm_up_kernels(session)
    if not kernels:
        raise RunError("no folder for compiled kernels is private and writable")
    print(f"{len(kernels)} kernels are compiled, in {kernels[0].parent}")


@app.command("demo", short_help="See it work: plain Spark beside muntin.")
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
