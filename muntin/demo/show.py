"""Shows the results of the demo on a terminal."""

import shlex
from collections.abc import Iterator
from datetime import datetime

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from muntin.demo.machines import HERTZ, MACHINES
from muntin.demo.side_by_side import Demo
from muntin.explain.words import ratio
from muntin.measure.processes import Cost


def show(demo: Demo, console: Console) -> None:
    """Prints the times, a few rows of an answer, the files, and what to try next."""
    minutes = demo.events / MACHINES / HERTZ / 60
    console.print(
        f"{demo.events:,} readings of {MACHINES} machines at {HERTZ} Hz ({minutes:.1f} minutes), "
        f"ten dashboard queries"
    )
    console.print()
    console.print(_times(demo))
    for line in _about_the_ratio(demo):
        console.print(line, highlight=False)
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


def _times(demo: Demo) -> Table:
    table = Table(box=SIMPLE, title="plain Spark, a query at a time", title_justify="left")
    for column in ("query", "window", "rows", "equal", "wall s", "CPU s"):
        number = column in ("rows", "wall s", "CPU s")
        table.add_column(column, justify="right" if number else "left", no_wrap=True)
    for name, answer in demo.answers.items():
        row = [
            name,
            _short(answer.window),
            f"{answer.rows:,}",
            _yes(answer.equal),
            *_seconds(answer.plain),
        ]
        table.add_row(*row)
    table.add_section()
    rows = sum(answer.rows for answer in demo.answers.values())
    table.add_row("plain Spark, all", "", f"{rows:,}", "", *_seconds(demo.plain))
    table.add_row("muntin, all", "", f"{rows:,}", _yes(demo.equal), *_seconds(demo.muntin))
    gains = (demo.plain.wall_s / demo.muntin.wall_s, demo.plain.cpu_s / demo.muntin.cpu_s)
    table.add_row("ratio", "", "", "", *(f"{gain:.1f}x" for gain in gains), style="bold")
    return table


def _about_the_ratio(demo: Demo) -> Iterator[str]:
    """Says how the numbers were measured, and why the cost model's are larger."""
    wall, cpu = _seconds(demo.first)
    yield (
        f"Both were warmed up, and short runs count by the best of three. muntin's first run over "
        f"all readings took {wall} s and {cpu} CPU s."
    )
    estimate = ratio(demo.plan.cost, demo.plan.plain_cost)
    yield (
        f"The cost model of `muntin explain` says {estimate}: it leaves out fixed costs, such as "
        f"starting jobs and writing ten folders, which so few readings do not outweigh."
    )


def _short(window: str) -> str:
    """Abbreviates units, so that the table fits into eighty columns."""
    for unit, sign in (("minute", "min"), ("second", "s")):
        window = window.replace(f"{unit}s", sign).replace(unit, sign)
    return window


def _seconds(cost: Cost) -> tuple[str, str]:
    return f"{cost.wall_s:.1f}", f"{cost.cpu_s:.1f}"


def _yes(equal: bool) -> str:
    return "yes" if equal else "NO"


def _sample(demo: Demo) -> Table:
    title = f"the first rows of `{demo.sample_of}`"
    table = Table(box=SIMPLE, title=title, title_justify="left")
    for name, value in demo.sample[0].items():
        number = isinstance(value, int | float)
        table.add_column(name, justify="right" if number else "left")
    for row in demo.sample:
        table.add_row(*map(_value, row.values()))
    return table


def _value(value: object) -> str:
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
    table.add_row("muntin's answers", str(demo.output / "answers"))
    table.add_row("plain Spark's answers", str(demo.output / "plain"))
    return table
