"""The report of `bench sharing`: CPU and wall seconds of both contenders, side by side."""

from dataclasses import asdict, dataclass

from rich.box import SIMPLE
from rich.table import Table

from muntin.bench.harness.machine import machine
from muntin.bench.harness.sets import SETS
from muntin.bench.spark.sharing_figure import Pair


@dataclass(frozen=True, kw_only=True)
class Side:
    """The cost of one contender on a set, and the number of its rows."""

    cpu_s: float
    wall_s: float
    rows: int


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One set: both contenders, or muntin alone, and whether their answers are equal."""

    plain: Side | None
    muntin: Side
    equal: bool
    # How many events the answers were compared on.
    equal_on: int

    def to_json(self) -> dict[str, object]:
        """`plain` (where it ran), `muntin`, `equal`, `equal_on`."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Report:
    """All sets of a run, and what they ran on."""

    sets: dict[str, Measured]
    events: int
    keys: int
    repeats: int
    strategy: str

    def to_json(self) -> dict[str, object]:
        """`sets` by name, and the facts of the run."""
        return {
            "sets": {name: measured.to_json() for name, measured in self.sets.items()},
            "events": self.events,
            "keys": self.keys,
            "repeats": self.repeats,
            "strategy": self.strategy,
            "machine": machine(),
        }

    def title(self) -> str:
        """Returns a line that says what was run."""
        return (
            f"{self.events:,} events, {self.keys:,} keys, {self.strategy} plan, "
            f"best of {self.repeats}, warm"
        )

    def pairs(self) -> list[Pair]:
        """Returns both contenders' CPU seconds of each set, for a picture."""
        return [
            Pair(
                name=name,
                queries=len(SETS[name]()),
                plain=measured.plain.cpu_s if measured.plain else None,
                muntin=measured.muntin.cpu_s,
                ratio=measured.plain.cpu_s / measured.muntin.cpu_s if measured.plain else None,
            )
            for name, measured in self.sets.items()
        ]

    def table(self) -> Table:
        """Returns CPU and wall seconds side by side, and ratios of CPU."""
        table = Table(
            box=SIMPLE,
            # Tight, so that it fits into eighty columns.
            padding=(0, 1, 0, 0),
            title=self.title(),
            caption=self._caption(),
            title_justify="left",
            caption_justify="left",
        )
        table.add_column("set")
        for column in ("plain\nCPU s", "plain\nwall s", "muntin\nCPU s", "muntin\nwall s"):
            table.add_column(column, justify="right")
        table.add_column("plain by\nmuntin", justify="right")
        table.add_column("muntin by\nplain one", justify="right")
        table.add_column("rows", justify="right")
        table.add_column("equal")
        for name, measured in self.sets.items():
            plain_one = self._one(name)
            plain, muntin = measured.plain, measured.muntin
            table.add_row(
                name,
                f"{plain.cpu_s:.1f}" if plain else "-",
                f"{plain.wall_s:.1f}" if plain else "-",
                f"{muntin.cpu_s:.1f}",
                f"{muntin.wall_s:.1f}",
                f"{plain.cpu_s / muntin.cpu_s:.1f}x" if plain else "-",
                f"{muntin.cpu_s / plain_one.cpu_s:.2f}x" if plain_one else "-",
                f"{muntin.rows:,}",
                ("yes" if measured.equal else "NO")
                + ("" if measured.equal_on == self.events else " *"),
            )
        return table

    def _one(self, name: str) -> Side | None:
        """Returns plain Spark's cost of the set `one`, or `sess` for sessions, if it ran."""
        measured = self.sets.get("sess" if name.startswith("sess") else "one")
        return measured.plain if measured is not None else None

    def _caption(self) -> str:
        said = ["ratios are of CPU seconds: JVM, Python workers and driver"]
        if any(measured.equal_on != self.events for measured in self.sets.values()):
            few = min(measured.equal_on for measured in self.sets.values())
            said.append(f"* compared on {few:,} events spread over the same time")
        return "\n".join(said)
