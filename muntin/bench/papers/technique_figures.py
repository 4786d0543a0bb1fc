"""Figures 11 to 14 of Incremental MQO, from figures measured here."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from muntin.bench.harness.pictures import draw_bars, draw_lines, picture
from muntin.bench.papers.techniques import Report


def draw(report: Report, folder: Path) -> list[Path]:
    """Write the four pictures; they need matplotlib."""
    single = [it for it in report.single if it.aggregate == "max"]
    many = [it for it in report.many if it.aggregate == "max" and it.data == "random"]
    labels = {"p50": "p50", "p999": "p99.9", "p9999": "p99.99", "worst": "worst"}
    tails = {label: [getattr(it, name) for it in report.latency] for name, label in labels.items()}
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
            partial(draw_bars, names=[it.technique for it in report.latency], series=tails),
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
