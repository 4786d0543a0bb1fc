"""What the demo found, for a person at a terminal."""

from datetime import datetime

from rich.console import Console
from rich.table import Table

from muntin.demo.machines import HERTZ, MACHINES
from muntin.demo.side_by_side import Demo, dashboard


def show(demo: Demo, console: Console) -> None:
    """The times, a few rows of an answer, the files, and what to try next."""
    minutes = demo.events / MACHINES / HERTZ / 60
    console.print(
        f"{demo.events:,} readings of {MACHINES} machines at {HERTZ} Hz ({minutes:.1f} minutes), "
        f"ten dashboard queries"
    )
    console.print()
    console.print(_times(demo))
    console.print()
    console.print(_sample(demo))
    console.print()
    console.print(_files(demo))
    console.print()
    console.print("try next")
    for command in (
        f"muntin explain {dashboard()}",
        f"muntin run {dashboard()} --input {demo.output / 'events'} --output answers",
        "muntin bench sharing --sets one,dash10 --events 1000000",
    ):
        console.print(f"  {command}", soft_wrap=True, highlight=False)


def _times(demo: Demo) -> Table:
    table = Table(show_footer=True)
    plain, ours = demo.plain, demo.muntin
    ratio = [_ratio(plain.wall_s, ours.wall_s), _ratio(plain.cpu_s, ours.cpu_s)]
    rows = sum(one.rows for one in demo.answers.values())
    footers = [
        "plain Spark, all\nmuntin, all\nratio",
        "",
        f"{rows:,}",
        f"{plain.wall_s:.1f}\n{ours.wall_s:.1f}\n{ratio[0]}",
        f"{plain.cpu_s:.1f}\n{ours.cpu_s:.1f}\n{ratio[1]}",
        "yes" if demo.equal else "NO",
    ]
    columns = ["query", "window", "rows", "wall s", "CPU s", "equal"]
    for column, footer in zip(columns, footers, strict=True):
        justify = "right" if column in ("rows", "wall s", "CPU s") else "left"
        table.add_column(column, footer, justify=justify)  # type: ignore[arg-type]
    for name, one in demo.answers.items():
        table.add_row(
            name,
            one.window,
            f"{one.rows:,}",
            f"{one.plain.wall_s:.1f}",
            f"{one.plain.cpu_s:.1f}",
            "yes" if one.equal else "NO",
        )
    return table


def _ratio(plain: float, ours: float) -> str:
    return f"{plain / ours:.1f}x"


def _sample(demo: Demo) -> Table:
    table = Table(title=f"{demo.sample_of}: the first rows", title_justify="left")
    for name, value in demo.sample[0].items():
        number = isinstance(value, int | float)
        table.add_column(name, justify="right" if number else "left")
    for row in demo.sample:
        table.add_row(*map(_value, row.values()))
    return table


def _value(value: object) -> str:
    match value:
        case {"start": datetime() as start, "end": datetime() as end}:
            return f"{start} to {end.time()}"
        case float():
            return f"{value:.3f}"
        case _:
            return str(value)


def _files(demo: Demo) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_row("the queries", str(dashboard()))
    table.add_row("the plan as a picture", str(demo.output / "plan.svg"))
    table.add_row("the events", str(demo.output / "events"))
    table.add_row("muntin's answers", str(demo.output / "answers"))
    table.add_row("plain Spark's answers", str(demo.output / "plain"))
    return table
