"""The demo: ten queries of a factory's dashboard, by plain Spark and by muntin, and their report.

It also has the readings that the examples of the documents use.
"""

import shlex
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from muntin.api.batch import compare, plan
from muntin.errors import RunError
from muntin.explain.words import ratio
from muntin.measure.compare import MUNTIN, PLAIN, REPEATS, Comparison
from muntin.measure.events import store
from muntin.measure.progress import Steps
from muntin.model.query import Query
from muntin.sql import parse_sql

MACHINES = 5
# Readings of one machine in a second.
HERTZ = 100
# 2012-02-22, the first day of the data of the DEBS 2012 grand challenge.
_START_MICROS = 1_329_868_800_000_000
_WARM_UP_EVENTS = 20_000
_PICTURE = "plan.svg"
_SAMPLE = "minute"


@dataclass(frozen=True, kw_only=True)
class Demo:
    """The results of the demo, and the folder with its files."""

    events: int
    comparison: Comparison
    output: Path
    # A few rows of a query, as muntin wrote them.
    sample_of: str
    sample: list[dict[str, object]]

    @property
    def queries(self) -> Path:
        """The file of the queries."""
        return self.output / dashboard_file().name


def dashboard_file() -> Path:
    """Returns the file of the ten queries."""
    return Path(str(files("muntin"))) / "dashboard.sql"


def dashboard_queries() -> list[Query]:
    """Returns the ten queries, all of which share."""
    return [query for query in parse_sql(dashboard_file().read_text()) if isinstance(query, Query)]


def check_output(output: Path) -> None:
    """Raises an error if a folder holds anything but an earlier demo."""
    if output.is_dir() and any(output.iterdir()) and not (output / _PICTURE).exists():
        raise RunError(f"{output} is not empty; name a new folder by --output")
    if output.exists() and not output.is_dir():
        raise RunError(f"{output} is not a folder; name a new one by --output")


def run_demo(
    session: SparkSession,
    events: int,
    output: Path,
    *,
    repeats: int = REPEATS,
    warm_up_events: int = _WARM_UP_EVENTS,
) -> Demo:
    """Generates events, answers all queries both ways into folders of `output`, and compares.

    Both sides first answer all queries over `warm_up_events`; they do not if that is 0.
    """
    queries = dashboard_queries()
    chosen = plan(queries, rate=MACHINES * HERTZ, keys=MACHINES)
    output.mkdir(parents=True, exist_ok=True)
    (output / _PICTURE).write_text(chosen.to_svg())
    (output / dashboard_file().name).write_text(dashboard_file().read_text())
    with Steps(1) as bar, bar.step(f"making {events:,} readings"):
        data = store(machine_readings(session, events), output / "events")
    if warm_up_events:
        warm_up(machine_readings(session, min(events, warm_up_events)), queries)
    comparison = compare(chosen, data, repeats=repeats, folder=str(output))
    rows = session.read.parquet(str(output / MUNTIN / _SAMPLE)).orderBy("window", "machine")
    return Demo(
        events=events,
        comparison=comparison,
        output=output,
        sample_of=_SAMPLE,
        sample=[row.asDict(recursive=True) for row in rows.limit(MACHINES).collect()],
    )


def warm_up(data: DataFrame, queries: list[Query]) -> None:
    """Answers all queries both ways once, and discards the answers."""
    compare(queries, data, repeats=1)


def machine_readings(spark: SparkSession, events: int) -> DataFrame:
    """Returns `ts`, `machine`, three power readings in watts and two state bits, from a seed.

    They are modelled on the DEBS 2012 grand challenge. The load of each machine rises and falls in
    minutes. Now and then, for seconds, its additive is dosed and its valve opened.
    """
    step = 1_000_000 // HERTZ

    def noise(seed: int, width: int) -> str:
        return f"pmod(xxhash64(id, {seed}), {width * 100}L) / 100"

    return (
        spark.range(events)
        .selectExpr("id", f"pmod(id, {MACHINES}L) AS m", f"id div {MACHINES}L AS tick")
        .selectExpr("id", "m", "tick", f"tick / {HERTZ}D AS s")
        .selectExpr(
            f"timestamp_micros({_START_MICROS}L + tick * {step}L + m * 137L) AS ts",
            "concat('machine-', m + 1) AS machine",
            f"900 + 120 * m + 250 * sin(s / (37 + 5 * m)) + {noise(1, 80)} AS power1",
            f"700 + 90 * m + 300 * sin(s / (90 + 7 * m)) + {noise(2, 120)} AS power2",
            f"500 + 60 * m + 100 * sin(s / (240 + 11 * m)) + {noise(3, 40)} AS power3",
            "pmod(cast(s as bigint) + 7 * m, 23 + m) < 4 AS additive",
            "pmod(cast(s as bigint) + 3 * m, 41 + m) < 12 AS valve",
        )
    )


def sample_readings(spark: SparkSession) -> DataFrame:
    """Returns 400 readings of five devices, half a minute apart, also as the view `readings`.

    The columns are `ts`, `device`, `temp`, `price`, `rate`, `speed` and `door`.
    """
    readings = spark.range(400).selectExpr(
        "TIMESTAMP'2026-01-01 00:00:00Z' + make_dt_interval(0, 0, 0, id * 30) AS ts",
        "concat('device-', id % 5) AS device",
        "CAST(id % 40 AS DOUBLE) AS temp",
        "CAST(id % 7 AS DOUBLE) AS price",
        "0.01D AS rate",
        "id % 3 AS speed",
        "IF(id % 2 = 0, 'closed', 'open') AS door",
    )
    readings.createOrReplaceTempView("readings")
    return readings


def sample_stream(spark: SparkSession, folder: str) -> DataFrame:
    """Writes the sample readings to a folder, and returns a stream of the files in it."""
    readings = sample_readings(spark)
    readings.coalesce(1).write.mode("overwrite").parquet(folder)
    return spark.readStream.schema(readings.schema).parquet(folder)


def print_demo(demo: Demo, console: Console) -> None:
    """Prints the times, a few rows of an answer, the files, and what to try next."""
    minutes = demo.events / MACHINES / HERTZ / 60
    console.print(
        f"{demo.events:,} readings of {MACHINES} machines at {HERTZ} Hz ({minutes:.1f} minutes), "
        f"ten dashboard queries"
    )
    console.print()
    console.print(*demo.comparison.tables())
    first, plan = demo.comparison.first, demo.comparison.plan
    console.print(
        f"Both were warmed up, and short runs count by the best of three. muntin's first run over "
        f"all readings took {first.wall_s:.1f} s and {first.cpu_s:.1f} CPU s.\n"
        f"The cost model of `muntin explain` says {ratio(plan.cost, plan.plain_cost)}: it leaves "
        f"out fixed costs, such as starting jobs and writing ten folders, which so few readings do "
        f"not outweigh.",
        highlight=False,
    )
    console.print()
    console.print(_sample(demo))
    console.print(_files(demo))
    console.print()
    console.print("try next")
    for command in commands(demo):
        console.print(f"  {command}", soft_wrap=True, highlight=False)


def commands(demo: Demo) -> tuple[str, ...]:
    """Returns commands to try next, which can be pasted into a shell."""
    file, events, again = (
        shlex.quote(str(path))
        for path in (demo.queries, demo.output / "events", demo.output / "again")
    )
    return (
        f"muntin explain {file} --rate {MACHINES * HERTZ} --keys {MACHINES}",
        f"muntin run {file} --input {events} --output {again} --mode overwrite",
        "python -m benchmarks sharing --sets one,dash10 --events 1000000",
    )


def _sample(demo: Demo) -> Table:
    title = f"the first rows of `{demo.sample_of}`"
    table = Table(box=SIMPLE, title=title, title_justify="left")
    for name, value in demo.sample[0].items():
        is_number = isinstance(value, int | float)
        table.add_column(name, justify="right" if is_number else "left")
    for row in demo.sample:
        table.add_row(*map(_format_value, row.values()))
    return table


def _format_value(value: object) -> str:
    match value:
        case {"start": datetime() as start, "end": datetime() as end}:
            return f"{start:%H:%M:%S} to {end:%H:%M:%S}"
        case float():
            return f"{value:.3f}"
        case _:
            return str(value)


def _files(demo: Demo) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_row("the queries", str(demo.queries))
    table.add_row("the plan as a picture", str(demo.output / "plan.svg"))
    table.add_row("the events", str(demo.output / "events"))
    table.add_row("muntin's answers", str(demo.output / MUNTIN))
    table.add_row("plain Spark's answers", str(demo.output / PLAIN))
    return table
