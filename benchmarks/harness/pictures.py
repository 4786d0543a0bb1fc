"""Draws measured figures with matplotlib, all in one style."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from muntin.errors import RunError
from muntin.explain.words import amount

Line = Sequence[tuple[float, float]]
# The colours of muntin and of plain Spark.
MUNTIN, PLAIN = "#2563a8", "#8a94a1"
# Up to this ratio of its ends, a logarithmic axis has ticks at 2 and 5, too.
_SHORT_AXIS = 500


def picture(
    path: Path,
    fill: Callable[[Any], None],
    *,
    title: str,
    across: str,
    up: str,
    legend: bool = True,
    size: tuple[float, float] = (8.0, 5.0),
) -> Path:
    """Writes axes, which `fill` draws, as a PNG; the first line of the title is the result."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise RunError("pictures need matplotlib: pip install 'muntin[figures]'") from error
    path.parent.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.add_subplot()
    result, _, details = title.partition("\n")
    figure.suptitle(result, x=0.01, ha="left", weight="bold", fontsize=12)
    axes.set_title(details, loc="left", fontsize=10)
    axes.set(xlabel=across, ylabel=up)
    axes.grid(alpha=0.3)
    fill(axes)
    if legend:
        figure.legend(loc="outside right center", frameon=False)
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
    """Draws a line for each name, or only its points.

    Smaller markers are on top of larger ones, so that lines that coincide all show.
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
    for axis, is_log in ((axes.xaxis, log_x), (axes.yaxis, log_y)):
        if is_log:
            plain_ticks(axis)


def draw_bars(
    axes: Any, names: Sequence[str], series: Mapping[str, Sequence[float]], *, log: bool = True
) -> None:
    """Draws a bar of each series at each name."""
    width = 0.8 / len(series)
    for number, (label, heights) in enumerate(series.items()):
        shift = (number - (len(series) - 1) / 2) * width
        axes.bar([index + shift for index in range(len(names))], heights, width, label=label)
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axes.set_yscale("log" if log else "linear")
    if log:
        plain_ticks(axes.yaxis)


def plain_ticks(axis: Any) -> None:
    """Sets plain numbers as ticks of a logarithmic axis that has its data: 0.1, 10, 1k, 5M.

    An axis of few powers of ten has ticks between them, too.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_data_interval()
    is_short = low > 0 and high / low < _SHORT_AXIS
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if is_short else (1,), numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain_number(value)))
    axis.set_minor_formatter(NullFormatter())


def plain_number(value: float) -> str:
    """Returns a number as people write it.

    >>> plain_number(0.01), plain_number(20), plain_number(5_000_000)
    ('0.01', '20', '5M')
    """
    return f"{value:g}" if value < 1 else amount(value)
