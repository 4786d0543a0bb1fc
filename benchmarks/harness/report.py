"""What a benchmark returns: figures, claims and targets, as tables, JSON and pictures."""

import os
import platform
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession
from rich.box import SIMPLE
from rich.table import Table

from benchmarks.harness.pictures import draw_lines, picture, plain_number
from muntin.errors import RunError, nearest

Lines = dict[str, list[tuple[float, float]]]


def make_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *notes: str
) -> Table:
    """Returns a table with notes below it; a column whose caption starts with `>` has numbers."""
    table = Table(
        box=SIMPLE,
        # Tight, so that wide tables fit into eighty columns.
        padding=(0, 1, 0, 0),
        title=title,
        caption="\n".join(notes) or None,
        title_justify="left",
        caption_justify="left",
    )
    for column in columns:
        table.add_column(column.removeprefix(">"), justify="right" if column[:1] == ">" else "left")
    for row in rows:
        table.add_row(*row)
    return table


def machine() -> dict[str, object]:
    """Returns the cores, memory and versions of this machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(memory / 2**30, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "spark": pyspark.__version__,
    }


class Report:
    """The figures of a benchmark on Spark: a dataclass, whose subclass has `tables`."""

    def to_json(self) -> dict[str, Any]:
        """Returns all figures by name, and the machine."""
        return {**asdict(self), "machine": machine()}  # type: ignore[call-overload]


def session_settings(session: SparkSession) -> dict[str, str]:
    """Returns the SQL settings that a session has besides Spark's defaults."""
    settings = session.conf.getAll
    names = (name for name in settings if name.startswith("spark.sql."))
    return {name: settings[name] for name in names if name != "spark.sql.warehouse.dir"}


def read_names(text: str, known: Iterable[str], word: str) -> list[str]:
    """Returns the names in a list with commas, once each; raises an error for an unknown one."""
    known = list(known)
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise RunError(f"no {word} is called {name!r}; {nearest(name, known)}")
    if not names:
        raise RunError(f"no {word} was named; {nearest('', known)}")
    return list(dict.fromkeys(names))


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure with a line of (across, up) for each name."""

    # The name of the picture's file.
    name: str
    title: str
    across: str
    up: str
    lines: Lines
    log_x: bool = True
    log_y: bool = True

    def at(self, line: str, across: float) -> float:
        """Returns the value of a line at one of its points."""
        return dict(self.lines[line])[across]

    def result(self) -> str:
        """Returns how the lowest and the highest line compare at the last point."""
        last = max(across for line in self.lines.values() for across, _ in line)
        ends = {name: dict(line)[last] for name, line in self.lines.items() if last in dict(line)}
        low, high = min(ends, key=ends.__getitem__), max(ends, key=ends.__getitem__)
        if low == high or ends[low] <= 0:
            return self.up
        ratio = plain_number(ends[high] / ends[low])
        return f"{low}: {ratio} times less than {high}, at {plain_number(last)} {self.across}"

    def table(self) -> Table:
        """Returns a column for each line, and a row for each point across."""
        lines = [dict(line) for line in self.lines.values()]
        rows = (
            [f"{x:,g}", *(f"{line[x]:,.4g}" if x in line else "" for line in lines)]
            for x in sorted({x for line in lines for x in line})
        )
        columns = [f">{name}" for name in (self.across, *self.lines)]
        return make_table(f"{self.title}: {self.up}", columns, rows)

    def draw(self, folder: Path) -> Path:
        """Draws the lines."""
        title = f"{self.result()}\n{self.title}"
        fill = partial(draw_lines, lines=self.lines, log_x=self.log_x, log_y=self.log_y)
        path = folder / f"{self.name}.png"
        return picture(path, fill, title=title, across=self.across, up=self.up)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A number that a paper states (or our goal), and the one measured here."""

    what: str
    paper: str
    found: str


@dataclass(frozen=True, kw_only=True)
class Target:
    """A figure, and the most or the least that it should be."""

    name: str
    found: float
    most: float | None = None
    least: float | None = None

    @property
    def met(self) -> bool:
        """Whether the figure is within its bound."""
        return (self.most is None or self.found <= self.most) and (
            self.least is None or self.found >= self.least
        )

    @property
    def row(self) -> tuple[str, ...]:
        """The cells of its row in a table."""
        bound = f"at most {self.most:g}" if self.most is not None else f"at least {self.least:g}"
        return self.name, f"{self.found:,.2f}", bound, "yes" if self.met else "NO"


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """All figures, claims and targets of a benchmark without Spark."""

    title: str = ""
    figures: list[Figure] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)

    def add(self, *parts: "Experiment") -> "Experiment":
        """Appends the figures, claims and targets of parts, and returns the whole."""
        for part in parts:
            self.figures.extend(part.figures)
            self.claims.extend(part.claims)
            self.targets.extend(part.targets)
        return self

    def figure(self, name: str, title: str, lines: Lines, **axes: Any) -> Figure:
        """Appends a figure, and returns it."""
        self.figures.append(Figure(name=name, title=title, lines=lines, **axes))
        return self.figures[-1]

    def claim(self, what: str, paper: str, found: str) -> None:
        """Appends a claim."""
        self.claims.append(Claim(what=what, paper=paper, found=found))

    def to_json(self) -> dict[str, Any]:
        """Returns every point of every figure, the claims, the targets, and the machine."""
        targets = [{**asdict(target), "met": target.met} for target in self.targets]
        return {**asdict(self), "targets": targets, "machine": machine()}

    def tables(self) -> Iterator[Table]:
        """Yields a table for each figure, one of the claims and one of the targets."""
        yield from (figure.table() for figure in self.figures)
        if self.claims:
            rows = ((claim.what, claim.paper, claim.found) for claim in self.claims)
            yield make_table(self.title, ("", "paper", "here"), rows)
        if self.targets:
            columns = ("figure", "found", "bound", "met")
            yield make_table("targets", columns, [target.row for target in self.targets])

    def draw(self, folder: Path) -> list[Path]:
        """Draws a picture for each figure."""
        return [figure.draw(folder) for figure in self.figures]
