"""The report of `factor`, next to tables I and III and figure 19 of the paper."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from statistics import correlation, mean
from typing import Any

from rich.table import Table

from benchmarks.harness.pictures import Line, draw_bars, draw_lines, picture
from benchmarks.harness.report import Report, make_table
from benchmarks.papers.factor_settings import SETTINGS, Boost
from muntin.errors import RunError

# The plans that run beside plain Spark.
STRATEGIES = ("coverage", "factor", "auto")


@dataclass(frozen=True, kw_only=True)
class Side:
    """The cost of one contender on a window set, the number of its answers, and their hash."""

    cpu_s: float
    wall_s: float
    rows: int
    hashes: int


@dataclass(frozen=True, kw_only=True)
class Run:
    """One window set, answered by plain Spark and by plans: without factor windows, with, auto."""

    setting: str
    number: int
    windows: list[str]
    # By "plain" and the names of the strategies.
    sides: dict[str, Side]
    # To read every event once.
    scan_cpu_s: float
    # To cut the events into the slices of auto's plan.
    slices_cpu_s: float
    # The boost of each strategy by the cost model.
    predicted: dict[str, float]

    def boost(self, strategy: str) -> float:
        """Returns plain Spark's CPU divided by the strategy's: the gain in throughput per core."""
        return self.sides["plain"].cpu_s / self.sides[strategy].cpu_s

    @property
    def equal(self) -> bool:
        """Whether all contenders gave the same answers."""
        return len({(side.rows, side.hashes) for side in self.sides.values()}) == 1


@dataclass(frozen=True, kw_only=True)
class FactorReport(Report):
    """All runs."""

    runs: list[Run]
    events: int
    repeats: int

    @property
    def settings(self) -> list[str]:
        """The settings that ran, in order."""
        return list(dict.fromkeys(run.setting for run in self.runs))

    def of(self, setting: str) -> list[Run]:
        """Returns the runs of one setting."""
        return [run for run in self.runs if run.setting == setting]

    def boost(self, setting: str, strategy: str) -> Boost:
        """Returns the mean and the greatest boost over the window sets of a setting."""
        boosts = [run.boost(strategy) for run in self.of(setting)]
        return Boost(mean=mean(boosts), most=max(boosts))

    def parts(self, setting: str) -> dict[str, float]:
        """Returns the average CPU seconds of each part of auto's plan."""
        runs = self.of(setting)
        scan = mean(run.scan_cpu_s for run in runs)
        slices = mean(run.slices_cpu_s for run in runs)
        answers = mean(run.sides["auto"].cpu_s for run in runs) - slices
        return {"scan": scan, "slices": max(0.0, slices - scan), "answers": max(0.0, answers)}

    def pearson(self, *strategies: str) -> float | None:
        """Returns r between predicted and measured boosts, for some strategies or all."""
        points = [
            (run.predicted[strategy], run.boost(strategy))
            for run in self.runs
            for strategy in strategies or STRATEGIES
        ]
        return correlation(*zip(*points, strict=True)) if len(points) > 2 else None

    def to_json(self) -> dict[str, Any]:
        """Returns every run, and each setting beside the paper's numbers."""
        pearson = {strategy: self.pearson(strategy) for strategy in STRATEGIES}
        runs = []
        for run in self.runs:
            boost = {strategy: run.boost(strategy) for strategy in STRATEGIES}
            runs.append({**asdict(run), "equal": run.equal, "boost": boost})
        settings = {}
        for name in self.settings:
            boosts = {strategy: asdict(self.boost(name, strategy)) for strategy in STRATEGIES}
            settings[name] = {**boosts, "paper": asdict(SETTINGS[name]), "parts": self.parts(name)}
        return {
            **super().to_json(),
            "runs": runs,
            "settings": settings,
            "pearson": {**pearson, "all": self.pearson()},
        }

    def tables(self) -> Iterator[Table]:
        """Yields boosts next to the paper's, and the CPU of each part."""
        r = self.pearson()
        notes = [
            "plain CPU / plan CPU, mean and most: plans without and with factor windows,",
            "the paper's beside, auto's plan, and what the cost model says of it",
        ]
        if r:
            notes.append(
                f"predicted and measured boost: r = {r:.3f} over all plans (paper: 0.94 or more)"
            )
        columns = ["setting", ">without", ">paper", ">with", ">paper", ">auto", ">model", "equal"]
        title = f"boost over plain Spark, {self.events:,} events, {len(self.runs)} window sets"
        yield make_table(title, columns, map(self._boost_row, self.settings), *notes)
        columns = ["setting", ">plain", ">plan", ">scan", ">slices", ">answers", ">rows out"]
        yield make_table(
            "CPU seconds, on average",
            [*columns, "bound by"],
            map(self._cpu_row, self.settings),
            "of auto's plan: reading events, cutting slices, and",
            "combining them into answers; the largest bounds the boost",
        )

    def _boost_row(self, name: str) -> list[str]:
        setting, runs = SETTINGS[name], self.of(name)
        without, with_, auto = (self.boost(name, strategy) for strategy in STRATEGIES)
        boosts = (without, setting.coverage, with_, setting.factor, auto)
        return [
            name,
            *(f"{boost.mean:.1f} {boost.most:.1f}" for boost in boosts),
            f"{mean(run.predicted['auto'] for run in runs):.1f}",
            "yes" if all(run.equal for run in runs) else "NO",
        ]

    def _cpu_row(self, name: str) -> list[str]:
        runs, parts = self.of(name), self.parts(name)
        costs = [mean(run.sides[side].cpu_s for run in runs) for side in ("plain", "auto")]
        rows = mean(run.sides["auto"].rows for run in runs)
        seconds = (f"{cost:.1f}" for cost in (*costs, *parts.values()))
        return [name, *seconds, f"{rows:,.0f}", max(parts, key=parts.__getitem__)]

    def draw(self, folder: Path) -> list[Path]:
        """Draws boosts beside the paper's, and predicted beside measured ones (its figure 19)."""
        names = self.settings
        factor, auto = ([self.boost(x, side).mean for x in names] for side in ("factor", "auto"))
        paper = [SETTINGS[name].factor.mean for name in names]
        bars = {"here, with factor windows": factor, "here, auto": auto, "paper": paper}
        points = {
            name: [(run.predicted[x], run.boost(x)) for run in self.of(name) for x in STRATEGIES]
            for name in names
        }
        result = f"Plans need {min(auto):.1f} to {max(auto):.1f} times less CPU than plain Spark"
        title = f"{result}\nFactor windows: mean boost"
        fill = partial(draw_bars, names=names, series=bars, log=False)
        boost = folder / "factor_boost.png"
        picture(boost, fill, title=title, across="", up="times the throughput")
        result = f"The cost model predicts the boost with r = {self.pearson() or 0:.2f}"
        title = f"{result}\nFactor windows: boost by the cost model and as measured"
        predicted = folder / "factor_predicted.png"
        fill = partial(_draw_predicted, points=points)
        picture(predicted, fill, title=title, across="predicted", up="measured")
        return [boost, predicted]


def read_reports(files: Iterable[Path]) -> list[FactorReport]:
    """Reads reports that were written as JSON, to show them with later ones."""
    return [_read_report(file) for file in files]


def _read_report(file: Path) -> FactorReport:
    try:
        data = json.loads(file.read_text())
        runs = []
        for run in data["runs"]:
            sides = {name: Side(**side) for name, side in run["sides"].items()}
            runs.append(
                Run(**{each.name: run[each.name] for each in fields(Run)} | {"sides": sides})
            )
        return FactorReport(runs=runs, events=data["events"], repeats=data["repeats"])
    except (ValueError, KeyError, TypeError):
        raise RunError(f"{file} is not what `python -m benchmarks factor --json` writes") from None


def join_reports(reports: Sequence[FactorReport]) -> FactorReport:
    """Returns several reports as one; they must have the same number of events."""
    events = {report.events for report in reports}
    if len(events) != 1:
        counts = ", ".join(f"{count:,}" for count in sorted(events))
        raise RunError(f"boosts over {counts} events do not go into one table")
    return FactorReport(
        runs=[run for report in reports for run in report.runs],
        events=reports[0].events,
        repeats=min(report.repeats for report in reports),
    )


def _draw_predicted(axes: Any, points: Mapping[str, Line]) -> None:
    """Draws the points of each setting, and the line where predicted and measured are equal."""
    draw_lines(axes, points, log_x=False, log_y=False, joined=False)
    most = max(up for line in points.values() for point in line for up in point)
    axes.plot([0, most], [0, most], color="grey", linestyle=":", label="equal")
