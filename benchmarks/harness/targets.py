"""What a bench's figures ought to be, and whether they are."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table


@dataclass(frozen=True, kw_only=True)
class Target:
    """A figure of a run, or a ratio of two, and the most (or least) that it may be."""

    name: str
    found: float
    most: float | None = None
    least: float | None = None

    @property
    def met(self) -> bool:
        """Whether it is within its bound."""
        return (self.most is None or self.found <= self.most) and (
            self.least is None or self.found >= self.least
        )

    @property
    def bound(self) -> str:
        """The bound in words."""
        return f"at most {self.most:g}" if self.most is not None else f"at least {self.least:g}"


def as_json(targets: Iterable[Target]) -> list[dict[str, Any]]:
    """Returns the targets with `met`."""
    return [{**asdict(target), "met": target.met} for target in targets]


def targets_table(targets: Iterable[Target], kind: str) -> Table:
    """Returns a row for each target; `kind` says what the targets are of."""
    table = Table(title="targets", title_justify="left")
    for column in (kind, "found", "bound", "met"):
        table.add_column(column)
    for target in targets:
        table.add_row(
            target.name, f"{target.found:,.2f}", target.bound, "yes" if target.met else "NO"
        )
    return table
