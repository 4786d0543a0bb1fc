"""Pictures of measured figures, all in one look; they need matplotlib."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from muntin.errors import RunError

Line = Sequence[tuple[float, float]]


def picture(
    path: Path,
    fill: Callable[[Any], None],
    *,
    title: str,
    across: str,
    up: str,
    legend: bool = True,
) -> Path:
    """One set of axes, filled by the caller, as a PNG."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise RunError("pictures need matplotlib: pip install matplotlib") from error
    path.parent.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    axes.set(title=title, xlabel=across, ylabel=up)
    axes.grid(alpha=0.3)
    fill(axes)
    if legend:
        figure.legend(loc="outside right upper", frameon=False)
    figure.savefig(path, dpi=120)
    return path


def draw_lines(
    axes: Any,
    lines: Mapping[str, Line],
    *,
    log_x: bool = True,
    log_y: bool = True,
    joined: bool = True,
) -> None:
    """One line a name, or its points alone.

    Smaller markers stand on larger ones, so that lines that coincide all show.
    """
    for number, (name, line) in enumerate(lines.items()):
        axes.plot(
            *zip(*line, strict=True),
            label=name,
            marker="os^Dv"[number % 5],
            markersize=max(4, 11 - number),
            fillstyle="none",
            linestyle="-" if joined else "",
        )
    axes.set(xscale="log" if log_x else "linear", yscale="log" if log_y else "linear")


def draw_bars(
    axes: Any, names: Sequence[str], series: Mapping[str, Sequence[float]], *, log: bool = True
) -> None:
    """A bar of each series at each name."""
    width = 0.8 / len(series)
    for number, (label, heights) in enumerate(series.items()):
        shift = (number - (len(series) - 1) / 2) * width
        axes.bar([index + shift for index in range(len(names))], heights, width, label=label)
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axes.set_yscale("log" if log else "linear")
