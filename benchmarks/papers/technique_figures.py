"""Draws figures 11 to 14 of Incremental MQO from our measurements."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness.pictures import draw_bars, draw_lines, picture
from benchmarks.papers.techniques import Report


def draw(report: Report, folder: Path) -> list[Path]:
    """Writes the four pictures; needs matplotlib."""
    single = [figure for figure in report.single if figure.aggregate == "max"]
    many = [
        figure for figure in report.many if figure.aggregate == "max" and figure.data == "random"
    ]
    labels = {"p50": "p50", "p999": "p99.9", "p9999": "p99.99", "worst": "worst"}
    tails = {
        label: [getattr(figure, name) for figure in report.latency]
        for name, label in labels.items()
    }
    return [
        picture(
            folder / "figure_11.png",
            _lines((figure.technique, figure.size, 1e9 / figure.ns) for figure in single),
            title="Throughput, one window (max)",
            across="slices in the window",
            up="slides per second",
        ),
        picture(
            folder / "figure_12.png",
            _lines((figure.technique, figure.queries, figure.per_second) for figure in many),
            title="Throughput, many windows (max of random data)",
            across="windows answered after each slide",
            up="slides per second",
        ),
        picture(
            folder / "figure_13.png",
            _lines((figure.technique, figure.size, figure.bytes) for figure in report.memory),
            title="Memory, one window",
            across="slices in the window",
            up="bytes",
        ),
        picture(
            folder / "figure_14.png",
            partial(draw_bars, names=[figure.technique for figure in report.latency], series=tails),
            title=f"Latency of a slide, {report.latency[0].size:,} slices in the window",
            across="",
            up="nanoseconds",
        ),
    ]


def _lines(points: Iterable[tuple[str, float, float]]) -> Any:
    """Returns a drawing of one line per technique, both axes logarithmic."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for technique, across, up in points:
        lines.setdefault(technique, []).append((across, up))
    return partial(draw_lines, lines=lines)
