"""The report of `sharing` and `streaming`: CPU and wall seconds of both contenders."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.table import Table

from benchmarks.harness.report import Report, make_table
from benchmarks.harness.sets import SETS, Scale, one_query_of
from benchmarks.spark.sharing_figure import Pair, draw_pairs

# The mark of seconds that were measured over the events of a few keys, and scaled up.
_SCALED = "+"
# The mark of seconds of another set.
_INSTEAD = "#"


@dataclass(frozen=True, kw_only=True)
class Side:
    """The cost of one contender on a set, and the number of its rows."""

    cpu_s: float
    wall_s: float
    rows: int
    # The factor by which the seconds of a run over a few keys were multiplied.
    times: float = 1.0


@dataclass(frozen=True, kw_only=True)
class SetFigures:
    """One set: both contenders, or muntin alone, and whether their answers are equal."""

    plain: Side | None
    muntin: Side
    equal: bool
    # How many events the answers were compared on.
    equal_on: int
    # The scale of this set; None means that of the report.
    scale: Scale | None = None
    # The set that plain Spark ran instead, if it refuses this one as a stream. The answers were
    # compared with those of a batch.
    instead: str | None = None


@dataclass(frozen=True, kw_only=True)
class SharingReport(Report):
    """All sets of a run, and what they ran on."""

    sets: dict[str, SetFigures]
    events: int
    keys: int
    repeats: int
    strategy: str
    # SQL settings of the session besides Spark's defaults.
    settings: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """Returns `sets` by name, with the ratio to plain Spark's `one`, and the run's facts."""
        sets = {}
        for name, measured in self.sets.items():
            ratio = self._by_plain_one(name)
            found = {} if ratio is None else {"muntin_by_plain_one": round(ratio, 3)}
            figures = {key: value for key, value in asdict(measured).items() if value is not None}
            sets[name] = {**figures, **found}
        return {**super().to_json(), "sets": sets}

    def title(self) -> str:
        """Returns what was run, with a line for each set that has events of its own."""
        others = "".join(
            f"\n{name}: {scale.events:,} events, {scale.keys:,} keys"
            for name in self.sets
            if (scale := self._scale(name)) != self._scale()
        )
        return (
            f"{self.events:,} events, {self.keys:,} keys, {self.strategy} plan, "
            f"best of {self.repeats}, warm{others}"
        )

    def tables(self) -> list[Table]:
        """Returns CPU and wall seconds side by side, and ratios of CPU."""
        columns = ["set", ">plain\nCPU s", ">plain\nwall s", ">muntin\nCPU s", ">muntin\nwall s"]
        columns += [">plain\nby\nmuntin", ">muntin\nby plain\none", ">rows", "equal"]
        return [make_table(self.title(), columns, map(self._row, self.sets), *self.notes())]

    def draw(self, folder: Path) -> list[Path]:
        """Draws the CPU seconds of both contenders."""
        pairs = []
        for name, measured in self.sets.items():
            plain, ours = measured.plain.cpu_s if measured.plain else None, measured.muntin.cpu_s
            ratio, queries = plain / ours if plain else None, len(SETS[name]())
            pairs.append(Pair(name=name, queries=queries, plain=plain, muntin=ours, ratio=ratio))
        best = max(pairs, key=lambda pair: pair.ratio or 0)
        result = f"{best.name}: {best.ratio or 0:.0f} times less CPU than plain Spark"
        return [draw_pairs(pairs, folder / "sharing.png", title=f"{result}\n{self.title()}")]

    def _row(self, name: str) -> list[str]:
        measured, by_plain_one = self.sets[name], self._by_plain_one(name)
        plain, muntin = measured.plain, measured.muntin
        return [
            name,
            f"{plain.cpu_s:.1f}{_mark(measured)}" if plain else "-",
            f"{plain.wall_s:.1f}{_mark(measured)}" if plain else "-",
            f"{muntin.cpu_s:.1f}",
            f"{muntin.wall_s:.1f}",
            f"{plain.cpu_s / muntin.cpu_s:.1f}x" if plain else "-",
            f"{by_plain_one:.2f}x" if by_plain_one is not None else "-",
            f"{muntin.rows:,}",
            ("yes" if measured.equal else "NO") + (" *" if self._is_on_few(name) else ""),
        ]

    def _by_plain_one(self, name: str) -> float | None:
        """Returns muntin's cost divided by plain Spark's cost of one such query."""
        is_refused = self.sets[name].instead is not None
        one = self.sets[name] if is_refused else self.sets.get(one_query_of(name))
        if one is None or one.plain is None:
            return None
        return self.sets[name].muntin.cpu_s / one.plain.cpu_s

    def _scale(self, name: str | None = None) -> Scale:
        own = None if name is None else self.sets[name].scale
        return own or Scale(events=self.events, keys=self.keys)

    def _is_on_few(self, name: str) -> bool:
        """Whether the answers of a set were compared on fewer events than were timed."""
        return self.sets[name].equal_on != self._scale(name).events

    def notes(self) -> list[str]:
        """Returns the footnotes, one per line."""
        notes = ["ratios are of CPU seconds: JVM, Python workers and driver"]
        few = {measured.equal_on for name, measured in self.sets.items() if self._is_on_few(name)}
        if few:
            notes.append(f"* compared on {min(few):,} events or more, spread over the same time")
        notes += (
            f"{_SCALED} {name}: seconds of plain Spark over the events of a few keys, "
            f"times {measured.plain.times:.1f}"
            for name, measured in self.sets.items()
            if measured.plain and _mark(measured) == _SCALED
        )
        notes += (
            f"{_INSTEAD} {name}: plain Spark refuses it, so its seconds are those of {each.instead}"
            for name, each in self.sets.items()
            if each.instead is not None
        )
        settings = ", ".join(f"{name}={value}" for name, value in self.settings.items())
        notes.append(f"Spark's default settings, but for: {settings or 'nothing'}")
        return notes


def _mark(measured: SetFigures) -> str:
    if measured.instead is not None:
        return _INSTEAD
    return _SCALED if measured.plain and measured.plain.times != 1 else ""
