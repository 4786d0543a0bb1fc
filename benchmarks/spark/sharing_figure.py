"""Draws the table of `sharing`: the cost of each set in plain Spark and in muntin."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness.pictures import MUNTIN, PLAIN, picture, plain_ticks


@dataclass(frozen=True, kw_only=True)
class Pair:
    """One set of queries: CPU seconds of both; plain Spark's is None if it takes too long."""

    name: str
    queries: int
    plain: float | None
    muntin: float
    # Plain Spark's cost by muntin's, from seconds before rounding.
    ratio: float | None


def draw_pairs(pairs: Sequence[Pair], path: Path, *, title: str) -> Path:
    """Draws two dots per set on a log scale, with their seconds and ratio; the first set on top."""
    return picture(
        path,
        partial(_fill, pairs=pairs),
        title=title,
        across="CPU seconds (log scale)",
        up="",
        legend=False,
        size=(8.0, 1.6 + 0.62 * len(pairs)),
    )


def _fill(axes: Any, pairs: Sequence[Pair]) -> None:
    slowest = max(max(pair.plain or 0.0, pair.muntin) for pair in pairs)
    right = slowest * 2.5
    axes.set(xscale="log", xlim=(min(pair.muntin for pair in pairs) / 2, right))
    axes.set_ylim(len(pairs) - 0.4, -0.9)
    axes.grid(axis="y", visible=False)
    for place, pair in enumerate(pairs):
        end = right if pair.plain is None else pair.plain
        axes.plot([pair.muntin, end], [place, place], color="#c3ccd6", linewidth=3, zorder=1)
        axes.scatter([pair.muntin], [place], s=90, color=MUNTIN, zorder=3)
        if pair.plain is None:
            axes.text(slowest * 1.15, place - 0.1, "hours", color=PLAIN, va="bottom")
        else:
            axes.scatter([pair.plain], [place], s=90, color=PLAIN, zorder=2)
        _write_seconds(axes, pair, place)
    for x, name, colour in ((pairs[-1].muntin, "muntin", MUNTIN), (slowest, "plain Spark", PLAIN)):
        axes.text(x, -0.62, name, color=colour, weight="bold", ha="center", va="center")
    plain_ticks(axes.xaxis)
    axes.set_yticks(range(len(pairs)), [_label(pair) for pair in pairs])
    axes.tick_params(axis="y", length=0)
    for side in ("top", "left", "right"):
        axes.spines[side].set_visible(False)


def _write_seconds(axes: Any, pair: Pair, place: int) -> None:
    """Writes the seconds beside the dots, and their ratio between them."""
    left = {"textcoords": "offset points", "va": "center", "ha": "right", "xytext": (-9, 0)}
    right = {**left, "ha": "left", "xytext": (9, 0)}
    first, second = (right, left) if pair.plain and pair.plain < pair.muntin else (left, right)
    axes.annotate(f"{pair.muntin:.1f}", (pair.muntin, place), color=MUNTIN, **first)
    if pair.plain is None:
        return
    axes.annotate(f"{pair.plain:.1f}", (pair.plain, place), color=PLAIN, **second)
    if pair.ratio is not None and pair.ratio >= 2:
        middle = (pair.plain * pair.muntin) ** 0.5
        text = f"{pair.ratio:.1f}x" if pair.ratio < 10 else f"{pair.ratio:.0f}x"
        above = {"textcoords": "offset points", "va": "bottom", "ha": "center"}
        axes.annotate(text, (middle, place), (0, 3), color="#5f6c7b", **above)


def _label(pair: Pair) -> str:
    return f"{pair.name}: {pair.queries} quer{'y' if pair.queries == 1 else 'ies'}"
