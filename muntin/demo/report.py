"""Prints the results of the demo on a terminal."""

import shlex
from datetime import datetime

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from muntin.demo.dashboard import Demo
from muntin.demo.readings import HERTZ, MACHINES
from muntin.explain.words import ratio
from muntin.measure.compare import MUNTIN, PLAIN


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
