"""The report of `bench sharing`: CPU and wall seconds of both contenders, side by side."""

from dataclasses import asdict, dataclass

from rich.box import SIMPLE
from rich.table import Table

from benchmarks.harness.machine import machine
from benchmarks.harness.sets import SETS, Scale, one_query_of
from benchmarks.spark.sharing_figure import Pair

# WindowEdges seconds that were measured over the events of a few keys, and scaled up.
_SCALED = "+"
# WindowEdges seconds of another set.
_INSTEAD = "#"


@dataclass(frozen=True, kw_only=True)
class Side:
    """The cost of one contender on a set, and the number of its rows."""

    cpu_s: float
    wall_s: float
    rows: int
    # It ran over the events of a few keys, and its seconds are those that it took, times this.
    times: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One set: both contenders, or muntin alone, and whether their answers are equal."""

    plain: Side | None
    muntin: Side
    equal: bool
    # How many events the answers were compared on.
    equal_on: int
    # What it ran over; None means the scale of the report.
    scale: Scale | None = None
    # The set that plain Spark ran instead, if it refuses this one; the answers were compared with
    # those of its batch.
    instead: str | None = None

    def to_json(self) -> dict[str, object]:
        """`plain` (where it ran), `muntin`, `equal`, `equal_on`, `scale`, `instead`."""
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
        """`sets` by name, with the ratio to plain Spark's `one`, and the facts of the run."""
        return {
            "sets": {name: self._set_json(name) for name in self.sets},
            "events": self.events,
            "keys": self.keys,
            "repeats": self.repeats,
            "strategy": self.strategy,
            "machine": machine(),
        }

    def _set_json(self, name: str) -> dict[str, object]:
        ratio = self._by_plain_one(name)
        found = {} if ratio is None else {"muntin_by_plain_one": round(ratio, 3)}
        return {**self.sets[name].to_json(), **found}

    def title(self) -> str:
        """Returns a line that says what was run, and one for sets with events of their own."""
        others = "".join(
            f"\n{name}: {scale.events:,} events, {scale.keys:,} keys"
            for name in self.sets
            if (scale := self._scale(name)) != self._scale()
        )
        return (
            f"{self.events:,} events, {self.keys:,} keys, {self.strategy} plan, "
            f"best of {self.repeats}, warm{others}"
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
            caption="\n".join(self._notes()),
            title_justify="left",
            caption_justify="left",
        )
        table.add_column("set")
        for column in ("plain\nCPU s", "plain\nwall s", "muntin\nCPU s", "muntin\nwall s"):
            table.add_column(column, justify="right")
        table.add_column("plain\nby\nmuntin", justify="right")
        table.add_column("muntin\nby plain\none", justify="right")
        table.add_column("rows", justify="right")
        table.add_column("equal")
        for name, measured in self.sets.items():
            by_plain_one = self._by_plain_one(name)
            plain, muntin = measured.plain, measured.muntin
            table.add_row(
                name,
                f"{plain.cpu_s:.1f}{_mark(measured)}" if plain else "-",
                f"{plain.wall_s:.1f}{_mark(measured)}" if plain else "-",
                f"{muntin.cpu_s:.1f}",
                f"{muntin.wall_s:.1f}",
                f"{plain.cpu_s / muntin.cpu_s:.1f}x" if plain else "-",
                f"{by_plain_one:.2f}x" if by_plain_one is not None else "-",
                f"{muntin.rows:,}",
                ("yes" if measured.equal else "NO") + (" *" if self._on_few(name) else ""),
            )
        return table

    def _by_plain_one(self, name: str) -> float | None:
        """Returns muntin's cost by plain Spark's of one such query, a set of its own."""
        is_refused = self.sets[name].instead is not None
        one = self.sets[name] if is_refused else self.sets.get(one_query_of(name))
        if one is None or one.plain is None:
            return None
        return self.sets[name].muntin.cpu_s / one.plain.cpu_s

    def _scale(self, name: str | None = None) -> Scale:
        """Returns the scale of a set, or that of the report."""
        own = None if name is None else self.sets[name].scale
        return own or Scale(events=self.events, keys=self.keys)

    def _on_few(self, name: str) -> bool:
        """Whether the answers of a set were compared on fewer events than were timed."""
        return self.sets[name].equal_on != self._scale(name).events

    def _notes(self) -> list[str]:
        """Returns what to know of the figures, a line each."""
        said = ["ratios are of CPU seconds: JVM, Python workers and driver"]
        few = {measured.equal_on for name, measured in self.sets.items() if self._on_few(name)}
        if few:
            said.append(f"* compared on {min(few):,} events or more, spread over the same time")
        said += (
            f"{_SCALED} {name}: seconds of plain Spark over the events of a few keys, "
            f"times {measured.plain.times:.1f}"
            for name, measured in self.sets.items()
            if measured.plain and _mark(measured) == _SCALED
        )
        said += (
            f"{_INSTEAD} {name}: plain Spark refuses it, so its seconds are those of {each.instead}"
            for name, each in self.sets.items()
            if each.instead is not None
        )
        return said


def _mark(measured: Measured) -> str:
    if measured.instead is not None:
        return _INSTEAD
    return _SCALED if measured.plain and measured.plain.times != 1 else ""
