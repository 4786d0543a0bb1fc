"""`python -m benchmarks NAME`: runs one benchmark, and puts out its tables, JSON and pictures."""

import json as json_text
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.harness.experiment import Experiment
from benchmarks.harness.sets import PERIODIC, SETS
from benchmarks.papers.optimizer_techniques import run as optimizer_techniques
from benchmarks.papers.subsume import run as subsume
from benchmarks.papers.technique_figures import draw
from benchmarks.papers.techniques import run as techniques
from benchmarks.papers.udw import run as user_defined
from benchmarks.papers.weave import ranges as weave_ranges
from benchmarks.papers.weave import run as weave
from benchmarks.spark.cold import EVENTS, cold_starts
from benchmarks.spark.factor import factor
from benchmarks.spark.factor_report import Report as FactorReport
from benchmarks.spark.factor_report import earlier, joined
from benchmarks.spark.factor_settings import SETTINGS, USUAL, chosen_settings
from benchmarks.spark.memory import HEAP, peaks
from benchmarks.spark.sharing import REPEATS, chosen, sharing
from benchmarks.spark.sharing_figure import draw as draw_sharing
from benchmarks.spark.stream_long import BATCHES, LongReport, long_run
from benchmarks.spark.stream_state import StateReport, state_costs
from benchmarks.spark.streaming import SESSION, STREAMED, streamed, streaming
from benchmarks.spark.streaming import Report as StreamingReport
from muntin.cli.command import run_command
from muntin.cli.options import Strategy
from muntin.cli.paths import check_file
from muntin.measure.processes import measured_session
from muntin.optimizer.strategies import DEFAULT, STEADY

bench = typer.Typer(
    help="Measure muntin beside plain Spark on this machine.", rich_markup_mode=None
)

Json = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write the figures to a file, too.")
]
Quick = Annotated[bool, typer.Option("--quick", help="Fewer sizes and repeats, for a first look.")]
Pictures = Annotated[
    Path | None,
    typer.Option("--pictures", metavar="DIR", help="Draw the figures, too (matplotlib)."),
]


@bench.callback(invoke_without_command=True)
def _bench(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@bench.command("sharing", short_help="Sets of queries, plain Spark beside muntin.")
def sharing_verb(
    sets: Annotated[
        str, typer.Option(metavar="NAMES", help=f"Sets of queries: {', '.join(SETS)}.")
    ] = ",".join(PERIODIC),
    events: Annotated[int, typer.Option(metavar="N", min=1, help="How many events.")] = 5_000_000,
    keys: Annotated[int, typer.Option(metavar="N", min=1, help="How many devices.")] = 100,
    repeats: Annotated[
        int, typer.Option(metavar="N", min=1, help="Timed runs of each, after some to warm up.")
    ] = REPEATS,
    strategy: Strategy = None,
    json: Json = None,
    pictures: Pictures = None,
) -> None:
    """Sets of window queries as plain Spark and as muntin: CPU, wall time, rows, equality.

    \b
    $ python -m benchmarks sharing --sets one,dash10 --events 1000000
    $ python -m benchmarks sharing --json sharing.json

    \b
    one       tumbling 1 min
    tumb5     tumbling 1, 2, 3, 5, 10 min
    slide3    hopping 1 h by 1 min, 30 min by 1 min, 15 min by 5 min
    dash10    tumbling 1 to 60 min (seven), hopping 1 h and 15 min by 1 min, 24 h by 10 min
    mix100    a hundred windows of both kinds up to 24 h; plain Spark would take hours, so
              it answers a few events, for the comparison
    teams10   ten queries by six sets of keys, four of them with a filter
    teams100  a hundred queries by twelve sets of keys, with twenty-five filters; plain Spark
              answers a few events, as for mix100
    sparse10  the windows of dash10 over two fifths of the events, with 8,000 keys whatever
              --keys is
    distinct1, distinct10  count(DISTINCT user), of 10,000 users, tumbling 1 min, and over
              the windows of dash10; only if named. Plain Spark runs distinct10 over the
              events of one device in twenty, and its seconds are scaled up
    quantile1, quantile10  percentile(temp, 0.95), likewise
    sketch1, sketch10  approx_count_distinct(user), likewise
    sess, sess10  sessions 60 s apart, and of ten gaps from 5 to 900 s; not among those
              that run unasked. More keys make them short: 100 has an event of each every 2 s

    The first five over five million events take about half an hour on two cores, most of it plain
    Spark's dash10.
    """
    names = chosen(sets)
    check_file(json, "--json")
    session = measured_session()
    report = sharing(
        session, names, events=events, keys=keys, repeats=repeats, strategy=strategy or DEFAULT
    )
    _report(report.to_json(), [report.table()], json)
    if pictures is not None:
        _drawn([draw_sharing(report.pairs(), pictures / "sharing.png", title=report.title())])


@bench.command("streaming", short_help="The same sets as streams.")
def streaming_verb(
    sets: Annotated[
        str, typer.Option(metavar="NAMES", help=f"Sets of queries: {', '.join(STREAMED)}.")
    ] = ",".join(name for name in STREAMED if name in PERIODIC),
    events: Annotated[int, typer.Option(metavar="N", min=1, help="How many events.")] = 5_000_000,
    keys: Annotated[int, typer.Option(metavar="N", min=1, help="How many devices.")] = 100,
    repeats: Annotated[int, typer.Option(metavar="N", min=1, help="Runs of each.")] = 3,
    strategy: Strategy = None,
    state: Annotated[
        bool,
        typer.Option(
            "--state", help="Instead: what retained state, 100,000 keys and an added query cost."
        ),
    ] = False,
    live_keys: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="With --state: also dash10 by so many keys, such as a million."
        ),
    ] = 0,
    long: Annotated[
        bool,
        typer.Option("--long", help="Instead: what memory and files are after many batches."),
    ] = False,
    batches: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many batches, with --long.")
    ] = BATCHES,
    json: Json = None,
) -> None:
    """Sets of window queries as plain Spark's streams and as one pipeline: CPU of warm batches.

    \b
    $ python -m benchmarks streaming --sets one,dash10
    $ python -m benchmarks streaming --json streaming.json
    $ python -m benchmarks streaming --state
    $ python -m benchmarks streaming --long --batches 500

    Twenty files, four in a batch; the last three of five batches count. Plain Spark runs a
    streaming query for each query of a set. The sets are those of `python -m benchmarks sharing`.
    Spark refuses count(DISTINCT) in streams, so beside distinct10 it runs the query of `one`.
    """
    names = streamed(sets)
    check_file(json, "--json")
    session = measured_session(more=SESSION)
    report: StateReport | StreamingReport | LongReport
    if long:
        report = long_run(session, batches=batches)
    elif state:
        report = state_costs(session, dash10_keys=live_keys)
    else:
        report = streaming(
            session, names, events=events, keys=keys, repeats=repeats, strategy=strategy or STEADY
        )
    _report(report.to_json(), [report.table()], json)


@bench.command("memory", short_help="A million keys; 50 million events of one.")
def memory_verb(
    keys: Annotated[
        int, typer.Option(metavar="N", min=1, help="Keys, with an event each, of two shapes.")
    ] = 1_000_000,
    events: Annotated[
        int, typer.Option(metavar="N", min=1, help="Events of the one key of another shape.")
    ] = 50_000_000,
    strategy: Strategy = None,
    json: Json = None,
) -> None:
    """Many keys, one key with many events, a hundred queries that differ: memory of all processes.

    \b
    $ python -m benchmarks memory
    $ python -m benchmarks memory --keys 100000 --events 5000000 --json memory.json
    """
    check_file(json, "--json")
    session = measured_session(HEAP)
    report = peaks(session, keys=keys, events=events, strategy=strategy or DEFAULT)
    _report(report.to_json(), [report.table()], json)


@bench.command("cold", short_help="The first queries of a new process.")
def cold_verb(
    repeats: Annotated[
        int, typer.Option(metavar="N", min=1, help="Processes of each kind; the cheapest counts.")
    ] = 3,
    events: Annotated[int, typer.Option(metavar="N", min=1, help="How many events.")] = EVENTS,
    json: Json = None,
) -> None:
    """Two and ten queries in new processes: CPU without compiled kernels, with them, and after.

    \b
    $ python -m benchmarks cold
    $ python -m benchmarks cold --repeats 1 --json cold.json

    Takes about five minutes on two cores.
    """
    check_file(json, "--json")
    report = cold_starts(measured_session(), events=events, repeats=repeats)
    _report(report.to_json(), [report.table()], json)


@bench.command("techniques", short_help="What a slide costs by each technique.")
def techniques_verb(
    quick: Quick = False,
    json: Json = None,
    pictures: Pictures = None,
) -> None:
    """Every technique on one core: time per slide, tail latency, memory. Spark is not started.

    \b
    $ python -m benchmarks techniques --quick
    $ python -m benchmarks techniques --json techniques.json --pictures pictures

    All of it takes some five minutes.
    """
    check_file(json, "--json")
    report = techniques(quick=quick)
    _report(report.to_json(), report.tables(), json)
    if pictures is not None:
        _drawn(draw(report, pictures))


@bench.command("udw", short_help="User-defined windows: Cutty beside other ways to slice.")
def udw_verb(
    records: Annotated[
        int, typer.Option(metavar="N", min=1000, help="How many records the stream has.")
    ] = 1_000_000,
    json: Json = None,
) -> None:
    """Periodic windows and sessions, 1 to 100 queries: combines, partials stored, records a second.

    \b
    $ python -m benchmarks udw
    $ python -m benchmarks udw --records 33000000 --json udw.json

    One core, without Spark: figures 8 and 9 of the Cutty paper. A million records take a minute.
    """
    check_file(json, "--json")
    report = user_defined(records=records)
    _report(report.to_json(), report.tables(), json)


@bench.command("weave", short_help="Weave Share beside its rivals, by cost and time.")
def weave_verb(
    quick: Quick = False,
    queries: Annotated[
        int, typer.Option(metavar="N", min=1_000, help="Plan up to so many queries, for time.")
    ] = 100_000,
    repeats: Annotated[
        int, typer.Option(metavar="N", min=1, help="Workloads that a point is the average of.")
    ] = 1,
    json: Json = None,
    pictures: Pictures = None,
) -> None:
    """The figures of Weave Share: costs of plans, and time to plan. Spark is not started.

    \b
    $ python -m benchmarks weave --quick
    $ python -m benchmarks weave --json weave.json --pictures pictures
    $ python -m benchmarks weave --quick --queries 1000000

    All of it takes minutes.
    """
    check_file(json, "--json")
    _experiment(weave(weave_ranges(queries, repeats, quick=quick)), json, pictures)


@bench.command("techniques-in-optimizers", short_help="Plans by each technique's cost.")
def optimizer_techniques_verb(
    repeats: Annotated[
        int, typer.Option(metavar="N", min=1, help="Workloads that a point is the average of.")
    ] = 10,
    json: Json = None,
    pictures: Pictures = None,
) -> None:
    """Weave Share and TriWeave with each technique's operations. Spark is not started.

    \b
    $ python -m benchmarks techniques-in-optimizers --repeats 1
    $ python -m benchmarks techniques-in-optimizers --json optimizers.json --pictures pictures
    """
    check_file(json, "--json")
    _experiment(optimizer_techniques(repeats=repeats), json, pictures)


@bench.command("subsume", short_help="Subsumption's groups, state and time.")
def subsume_verb(
    seconds: Annotated[
        int, typer.Option(metavar="N", min=1, help="How long the timed stream is.")
    ] = 120,
    json: Json = None,
    pictures: Pictures = None,
) -> None:
    """Thousands of windows grouped by subsumption: groups, state, cost, time. Spark is not started.

    \b
    $ python -m benchmarks subsume
    $ python -m benchmarks subsume --json subsume.json --pictures pictures
    """
    check_file(json, "--json")
    _experiment(subsume(seconds=seconds), json, pictures)


@bench.command("factor", short_help="Factor Windows' window sets on Spark.")
def factor_verb(
    settings: Annotated[
        str,
        typer.Option(
            metavar="NAMES", help=f"Generator settings: {', '.join(SETTINGS)}.", show_default=False
        ),
    ] = ",".join(USUAL),
    events: Annotated[int, typer.Option(metavar="N", min=1, help="How many events.")] = 10_000_000,
    sets: Annotated[
        int, typer.Option(metavar="N", min=1, help="Window sets of each setting; the paper has 10.")
    ] = 1,
    repeats: Annotated[
        int, typer.Option(metavar="N", min=1, help="Timed runs of each; the first warms up.")
    ] = 2,
    together: Annotated[
        list[Path] | None,
        typer.Option(
            "--with", metavar="FILE", help="Show the figures of an earlier --json, too. Repeatable."
        ),
    ] = None,
    json: Json = None,
    pictures: Pictures = None,
) -> None:
    """Window sets of Factor Windows: plain Spark, plans without and with factor windows.

    \b
    $ python -m benchmarks factor --settings S-5-tumbling --events 1000000
    $ python -m benchmarks factor --sets 2 --json factor.json --pictures pictures

    R is RandomGen, S SequentialGen; then the number of windows. Without --settings, those of 5
    and 20 windows run, which takes tens of minutes on two cores. In pieces:

    \b
    $ python -m benchmarks factor --settings R-20-tumbling --json a.json
    $ python -m benchmarks factor --settings S-20-tumbling --with a.json --json both.json
    $ python -m benchmarks factor --settings '' --with both.json --pictures pictures
    """
    reports = earlier(together or ())
    names = chosen_settings(settings) if settings or not reports else []
    check_file(json, "--json")

    def keep(report: FactorReport) -> None:
        if json is not None:
            _write(joined([*reports, report]).to_json(), json)

    if names:
        session = measured_session()
        reports.append(factor(session, names, events=events, sets=sets, repeats=repeats, keep=keep))
    report = joined(reports)
    _report(report.to_json(), report.tables(), json)
    if pictures is not None:
        _drawn(report.draw(pictures))


def _report(figures: dict[str, object], tables: Iterable[Table], file: Path | None) -> None:
    for table in tables:
        Console().print(table)
    if file is not None:
        _write(figures, file)
        print(f"figures written to {file}")


def _write(figures: dict[str, object], file: Path) -> None:
    file.write_text(json_text.dumps(figures, indent=2) + "\n")


def _experiment(experiment: Experiment, json: Path | None, pictures: Path | None) -> None:
    _report(experiment.to_json(), experiment.tables(), json)
    if pictures is not None:
        _drawn(experiment.draw(pictures))


def _drawn(paths: Iterable[Path]) -> None:
    for path in paths:
        print(f"drawn: {path}")


if __name__ == "__main__":
    sys.exit(run_command(bench, "python -m benchmarks"))
