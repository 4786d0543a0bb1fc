"""`python -m benchmarks NAME`: runs one benchmark, and puts out its tables, JSON and pictures."""

import inspect
import json as json_text
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from benchmarks.harness.sets import PERIODIC, SETS
from benchmarks.papers import factor_plans, optimizer_techniques, subsume, techniques, udw, weave
from benchmarks.papers.factor_settings import SETTINGS, USUAL, read_settings
from benchmarks.spark.cold import EVENTS, cold_starts
from benchmarks.spark.factor import run_factor
from benchmarks.spark.factor_report import join_reports, read_reports
from benchmarks.spark.memory import HEAP, measure_peaks
from benchmarks.spark.sharing import REPEATS, read_sets, sharing
from benchmarks.spark.stream_long import BATCHES, long_run
from benchmarks.spark.stream_state import state_costs
from benchmarks.spark.streaming import SESSION, STREAMED, read_streamed_sets, streaming
from muntin.cli.command import run_command
from muntin.cli.options import Strategy, flag, option, with_option_groups
from muntin.cli.paths import check_file
from muntin.measure.processes import measured_session
from muntin.optimizer.strategies import DEFAULT, STEADY

bench = typer.Typer(
    help="Measure muntin beside plain Spark on this machine.", rich_markup_mode=None
)

Sets = Annotated[str, typer.Option(metavar="NAMES", help=f"Sets of queries, of {', '.join(SETS)}.")]
Settings = Annotated[
    str,
    typer.Option(metavar="NAMES", help=f"Of {', '.join(SETTINGS)}.", show_default=False),
]
Earlier = Annotated[
    list[Path] | None,
    typer.Option(
        "--with", metavar="FILE", help="Add the figures of an earlier --json. Repeatable."
    ),
]
Quick = Annotated[bool, typer.Option("--quick", help="Fewer sizes and repeats, for a first look.")]
Repeats = Annotated[int, typer.Option(metavar="N", min=1, help="Timed runs of each.")]
Events = Annotated[int, typer.Option(metavar="N", min=1, help="How many events.")]
Keys = Annotated[int, typer.Option(metavar="N", min=1, help="How many devices.")]
Records = Annotated[int, typer.Option(metavar="N", min=1000, help="How many records.")]
Seconds = Annotated[int, typer.Option(metavar="N", min=1, help="Length of the timed stream.")]
Planned = Annotated[int, typer.Option(metavar="N", min=1000, help="Plan up to so many, for time.")]
Workloads = Annotated[
    int, typer.Option(metavar="N", min=1, help="Workloads that a point averages.")
]
WindowSets = Annotated[
    int, typer.Option(metavar="N", min=1, help="Window sets of each setting; the paper has 10.")
]

# What runs if nothing is named.
_PERIODIC = ",".join(PERIODIC)
_STREAMED = ",".join(name for name in STREAMED if name in PERIODIC)
_USUAL = ",".join(USUAL)


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Where figures go, besides the terminal."""

    json: Path | None = option("FILE", "Write the figures to a file, too.")
    pictures: Path | None = option("DIR", "Draw the figures, too, if there are any (matplotlib).")

    def write_json(self, report: Any) -> None:
        """Writes the figures of a report, if a file was named."""
        if self.json is not None:
            self.json.write_text(json_text.dumps(report.to_json(), indent=2) + "\n")

    def publish(self, report: Any) -> None:
        """Prints the tables of a report, writes its JSON, and draws its pictures."""
        Console().print(*report.tables())
        self.write_json(report)
        if self.json is not None:
            print(f"figures written to {self.json}")
        if self.pictures is not None and hasattr(report, "draw"):
            for path in report.draw(self.pictures):
                print(f"drawn: {path}")


def _command(name: str) -> Callable[[Callable[..., Any]], None]:
    """Registers a function that returns a report as a command that publishes it."""

    def register(verb: Callable[..., Any]) -> None:
        def command(output: OutputOptions, **values: Any) -> None:
            check_file(output.json, "--json")
            report = verb(**values)
            if isinstance(report, Iterator):
                # A long benchmark yields the report so far after each part.
                for part in report:
                    output.write_json(part)
                    report = part
            output.publish(report)

        signature = inspect.signature(verb)
        own = inspect.Parameter("output", inspect.Parameter.KEYWORD_ONLY, annotation=OutputOptions)
        parameters = [each.replace(kind=own.kind) for each in signature.parameters.values()]
        command.__doc__ = verb.__doc__
        command.__signature__ = inspect.Signature([own, *parameters])  # type: ignore[attr-defined]
        bench.command(name)(with_option_groups(command))

    return register


@bench.callback(invoke_without_command=True)
def _show_help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@_command("sharing")
def _sharing(
    sets: Sets = _PERIODIC,
    events: Events = 5_000_000,
    keys: Keys = 100,
    repeats: Repeats = REPEATS,
    strategy: Strategy = None,
) -> Any:
    """Sets of queries, plain Spark beside muntin. CPU, wall time, rows, equality.

    \b
    $ python -m benchmarks sharing --sets one,dash10 --events 1000000 --json sharing.json

    docs/benchmarks.md describes the sets. Plain Spark would take hours for mix100 and teams100, so
    it answers a few events, for the comparison. For distinct10, quantile10 and sketch10 it answers
    the events of one device in twenty, and its seconds are scaled up.

    The first five over five million events take about half an hour on two cores, most of it plain
    Spark's dash10.
    """
    names = read_sets(sets)
    scale = {"events": events, "keys": keys, "repeats": repeats}
    return sharing(measured_session(), names, strategy=strategy or DEFAULT, **scale)


@dataclass(frozen=True, kw_only=True)
class OtherStreams:
    """What `streaming` may measure instead of the sets."""

    state: bool = flag("Instead: what retained state, 100,000 keys and an added query cost.")
    live_keys: int = option(
        "N", "With --state: also dash10 by so many keys, such as a million.", default=0, min=0
    )
    long: bool = flag("Instead: what memory and files are after many batches.")
    batches: int = option("N", "How many batches, with --long.", default=BATCHES, min=1)


@_command("streaming")
def _streaming(
    other: OtherStreams,
    sets: Sets = _STREAMED,
    events: Events = 5_000_000,
    keys: Keys = 100,
    repeats: Repeats = 3,
    strategy: Strategy = None,
) -> Any:
    """The same sets as streams. CPU of warm batches, plain Spark's streams beside one pipeline.

    \b
    $ python -m benchmarks streaming --sets one,dash10 --json streaming.json
    $ python -m benchmarks streaming --state
    $ python -m benchmarks streaming --long --batches 500

    Twenty files, four in a batch; the last three of five batches count. Plain Spark runs a
    streaming query for each query of a set. The sets are some of `python -m benchmarks sharing`.
    Spark refuses count(DISTINCT) in streams, so beside distinct10 it runs the query of `one`.
    """
    names = read_streamed_sets(sets)
    session = measured_session(more=SESSION)
    if other.long:
        return long_run(session, batches=other.batches)
    if other.state:
        return state_costs(session, dash10_keys=other.live_keys)
    scale = {"events": events, "keys": keys, "repeats": repeats}
    return streaming(session, names, strategy=strategy or STEADY, **scale)


@_command("memory")
def _memory(keys: Keys = 1_000_000, events: Events = 50_000_000, strategy: Strategy = None) -> Any:
    """A million keys; 50 million events of one. Memory of all processes.

    \b
    $ python -m benchmarks memory --keys 100000 --events 5000000 --json memory.json

    The keys have an event each, for a few queries and for a hundred that differ; the events are
    those of one more key.
    """
    session = measured_session(HEAP)
    return measure_peaks(session, keys=keys, events=events, strategy=strategy or DEFAULT)


@_command("cold")
def _cold(repeats: Repeats = 3, events: Events = EVENTS) -> Any:
    """The first queries of a new process. CPU without compiled kernels, with them, and after.

    \b
    $ python -m benchmarks cold --repeats 1 --json cold.json

    Takes about five minutes on two cores.
    """
    return cold_starts(measured_session(), events=events, repeats=repeats)


@_command("techniques")
def _techniques(quick: Quick = False) -> Any:
    """What a slide costs by each technique. Time, tail latency and memory on one core, no Spark.

    \b
    $ python -m benchmarks techniques --quick
    $ python -m benchmarks techniques --json techniques.json --pictures pictures

    All of it takes some five minutes.
    """
    return techniques.run(quick=quick)


@_command("udw")
def _udw(records: Records = 1_000_000) -> Any:
    """Cutty beside other ways to slice. Combines, partials stored, records a second.

    \b
    $ python -m benchmarks udw --records 33000000 --json udw.json

    Periodic windows and sessions, 1 to 100 queries, on one core, without Spark: figures 8 and 9 of
    the Cutty paper. A million records take a minute.
    """
    return udw.run(records=records)


@_command("weave")
def _weave(quick: Quick = False, queries: Planned = 100_000, repeats: Workloads = 1) -> Any:
    """Weave Share beside its rivals, by cost and time. Spark is not started.

    \b
    $ python -m benchmarks weave --json weave.json --pictures pictures
    $ python -m benchmarks weave --quick --queries 1000000

    All figures take minutes.
    """
    return weave.run(weave.ranges(queries, repeats, quick=quick))


@_command("techniques-in-optimizers")
def _techniques_in_optimizers(repeats: Workloads = 10) -> Any:
    """Plans by each technique's cost. Weave Share and TriWeave; Spark is not started.

    \b
    $ python -m benchmarks techniques-in-optimizers --json optimizers.json --pictures pictures
    """
    return optimizer_techniques.run(repeats=repeats)


@_command("subsume")
def _subsume(seconds: Seconds = 120) -> Any:
    """Subsumption's groups, state and time. Thousands of windows; Spark is not started.

    \b
    $ python -m benchmarks subsume --json subsume.json --pictures pictures
    """
    return subsume.run(seconds=seconds)


@_command("factor-plans")
def _factor_plans(sets: WindowSets = 10) -> Any:
    """Factor Windows' window sets by the cost model. Spark is not started.

    \b
    $ python -m benchmarks factor-plans --json plans.json --pictures pictures

    What plans without and with factor windows save, how many factor windows there are, the time to
    plan (figure 12), and how far algorithm 3 is from the optimum.
    """
    return factor_plans.run(sets=sets)


@_command("factor")
def _factor(
    settings: Settings = _USUAL,
    events: Events = 10_000_000,
    sets: WindowSets = 1,
    repeats: Repeats = 2,
    earlier: Earlier = None,
) -> Any:
    """Factor Windows' window sets on Spark. Plain Spark, plans without and with factor windows.

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
    reports = read_reports(earlier or ())
    names = read_settings(settings) if settings or not reports else []
    if not names:
        return join_reports(reports)
    parts = run_factor(measured_session(), names, events=events, sets=sets, repeats=repeats)
    return (join_reports([*reports, part]) for part in parts)


if __name__ == "__main__":
    sys.exit(run_command(bench, "python -m benchmarks"))
