"""Figures 11 to 14 of Incremental MQO, from figures measured here."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from muntin.bench.techniques import Report
from muntin.errors import RunError


def draw(report: Report, folder: Path) -> list[Path]:
    """Write the four pictures; they need matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise RunError("pictures need matplotlib: pip install matplotlib") from error
    folder.mkdir(parents=True, exist_ok=True)

    def save(name: str, title: str, across: str, up: str, fill: Any, legend: bool = True) -> Path:
        figure = Figure(figsize=(8, 5), layout="constrained")
        axes = figure.add_subplot()
        axes.set(title=title, xlabel=across, ylabel=up)
        axes.grid(alpha=0.3)
        fill(axes)
        if legend:
            figure.legend(loc="outside right upper", frameon=False)
        path = folder / name
        figure.savefig(path, dpi=120)
        return path

    single = [it for it in report.single if it.aggregate == "max"]
    many = [it for it in report.many if it.aggregate == "max" and it.data == "random"]
    return [
        save(
            "figure_11.png",
            "Throughput, one window (max)",
            "slices in the window",
            "slides per second",
            lambda axes: _lines(axes, ((it.technique, it.size, 1e9 / it.ns) for it in single)),
        ),
        save(
            "figure_12.png",
            "Throughput, many windows (max of random data)",
            "windows answered after each slide",
            "slides per second",
            lambda axes: _lines(axes, ((it.technique, it.queries, it.per_second) for it in many)),
        ),
        save(
            "figure_13.png",
            "Memory, one window",
            "slices in the window",
            "bytes",
            lambda axes: _lines(axes, ((it.technique, it.size, it.bytes) for it in report.memory)),
        ),
        save(
            "figure_14.png",
            f"Latency of a slide, {report.latency[0].size:,} slices in the window",
            "",
            "nanoseconds",
            lambda axes: _bars(axes, report),
        ),
    ]


def _lines(axes: Any, points: Iterable[tuple[str, float, float]]) -> None:
    """One line a technique, both axes logarithmic."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for technique, across, up in points:
        lines.setdefault(technique, []).append((across, up))
    # Smaller markers on larger ones, so that lines that coincide can all be seen.
    for number, (technique, line) in enumerate(lines.items()):
        axes.plot(
            *zip(*line, strict=True),
            label=technique,
            marker="os^Dv"[number % 5],
            markersize=11 - number,
            fillstyle="none",
        )
    axes.set(xscale="log", yscale="log")


def _bars(axes: Any, report: Report) -> None:
    """Four bars a technique: the middle, two tails and the worst."""
    for number, name in enumerate(("p50", "p999", "p9999", "worst")):
        places = [index + (number - 1.5) * 0.2 for index in range(len(report.latency))]
        heights = [getattr(it, name) for it in report.latency]
        label = {"p999": "p99.9", "p9999": "p99.99"}.get(name, name)
        axes.bar(places, heights, 0.2, label=label)
    names = [it.technique for it in report.latency]
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axes.set_yscale("log")
