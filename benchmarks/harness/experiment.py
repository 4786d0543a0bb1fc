"""A repeated experiment of a paper: its figures as lines of points, its numbers beside ours."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from rich.box import SIMPLE
from rich.table import Table

from benchmarks.harness.machine import machine
from benchmarks.harness.pictures import draw_lines, picture


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure of a paper: a line of (across, up) for each name."""

    # The name of the picture's file.
    name: str
    title: str
    across: str
    up: str
    lines: dict[str, list[tuple[float, float]]]
    log_x: bool = True
    log_y: bool = True

    def at(self, line: str, across: float) -> float:
        """Returns the value of a line at one of its points."""
        return dict(self.lines[line])[across]

    def table(self) -> Table:
        """A column for each line, a row for each point across."""
        table = Table(box=SIMPLE, title=f"{self.title}: {self.up}", title_justify="left")
        table.add_column(self.across, justify="right")
        for line in self.lines:
            table.add_column(line, justify="right")
        columns = [dict(line) for line in self.lines.values()]
        for across in sorted({across for column in columns for across in column}):
            cells = (f"{column[across]:,.4g}" if across in column else "" for column in columns)
            table.add_row(f"{across:,g}", *cells)
        return table


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A number that a paper states (or our goal), and the one measured here."""

    what: str
    paper: str
    found: str


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """All figures and claims of one bench."""

    title: str
    figures: list[Figure] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Every point of every figure, the claims, and the machine."""
        return {**asdict(self), "machine": machine()}

    def tables(self) -> Iterator[Table]:
        """A table for each figure, and one of the claims."""
        for figure in self.figures:
            yield figure.table()
        table = Table(box=SIMPLE, title=self.title, title_justify="left")
        for column in ("", "paper", "here"):
            table.add_column(column)
        for claim in self.claims:
            table.add_row(claim.what, claim.paper, claim.found)
        yield table

    def draw(self, folder: Path) -> list[Path]:
        """A picture for each figure."""
        return [
            picture(
                folder / f"{figure.name}.png",
                partial(draw_lines, lines=figure.lines, log_x=figure.log_x, log_y=figure.log_y),
                title=figure.title,
                across=figure.across,
                up=figure.up,
            )
            for figure in self.figures
        ]
