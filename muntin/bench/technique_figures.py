"""Figures 11 to 14 of Incremental MQO, from figures measured here."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from muntin.bench.pictures import draw_lines, picture
from muntin.bench.techniques import Report


def draw(report: Report, folder: Path) -> list[Path]:
    """Write the four pictures; they need matplotlib."""
    single = [it for it in report.single if it.aggregate == "max"]
    many = [it for it in report.many if it.aggregate == "max" and it.data == "random"]
    return [
        picture(
            folder / "figure_11.png",
            _lines((it.technique, it.size, 1e9 / it.ns) for it in single),
            title="Throughput, one window (max)",
            across="slices in the window",
            up="slides per second",
        ),
        picture(
            folder / "figure_12.png",
            _lines((it.technique, it.queries, it.per_second) for it in many),
            title="Throughput, many windows (max of random data)",
            across="windows answered after each slide",
            up="slides per second",
        ),
        picture(
            folder / "figure_13.png",
            _lines((it.technique, it.size, it.bytes) for it in report.memory),
            title="Memory, one window",
            across="slices in the window",
            up="bytes",
        ),
        picture(
            folder / "figure_14.png",
            partial(_bars, report=report),
            title=f"Latency of a slide, {report.latency[0].size:,} slices in the window",
            across="",
            up="nanoseconds",
        ),
    ]


def _lines(points: Iterable[tuple[str, float, float]]) -> Any:
    """One line a technique, both axes logarithmic."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for technique, across, up in points:
        lines.setdefault(technique, []).append((across, up))
    return partial(draw_lines, lines=lines)


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
