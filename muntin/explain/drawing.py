"""The parts of a picture: SVG elements, scales, and a ruler of slices.

Elements are text, with everything escaped and every style in attributes.

There is no stylesheet and no id, because a notebook puts many pictures into one page, where both
would leak.
"""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from math import floor, lcm, log, log10
from xml.sax.saxutils import escape, quoteattr

from muntin.explain import words
from muntin.model.time import DAY, HOUR, MILLISECOND, MINUTE, SECOND, WEEK, format_duration
from muntin.model.trees import PeriodicTree
from muntin.model.windows import Slicing

INK, MUTED, FAINT, CARD, BAND = "#1f2933", "#5f6c7b", "#d5dbe3", "#ffffff", "#f5f7fa"
MARGIN, PADDING = 24.0, 18.0
# A part of a picture: its elements, and its height.
Block = tuple[list[str], float]
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
# The mean width of a character, as a part of the font size, in the widest font that pages use.
_CHARACTER, _BOLD_CHARACTER = 0.6, 0.68

# Round durations; the first ones make the best ticks.
_ROUND_DURATIONS = (
    *(SECOND, MINUTE, HOUR, DAY, MILLISECOND, WEEK, 10 * SECOND, 10 * MINUTE, 6 * HOUR, 1),
    *(100 * MILLISECOND, 30 * SECOND, 30 * MINUTE, 12 * HOUR, 4 * WEEK, 52 * WEEK),
    *(count * unit for unit in (SECOND, MINUTE, HOUR, DAY) for count in (2, 5, 15, 20)),
)
_UNITS = {"second": "s", "minute": "min", "hour": "h", "day": "d", "week": "wk"}
# Pixels between two ticks.
_SPACING = 40.0
RULER_HEIGHT = 40.0
_STRIP = 22.0
# How many edges are readable in the strip, and how many are enough to see the pattern.
MOST_EDGES = 100
_ENOUGH_EDGES = 24


def measure(content: str, size: float, *, bold: bool = False) -> float:
    """Returns the estimated width of a text in pixels."""
    return words.width(content) * size * (_BOLD_CHARACTER if bold else _CHARACTER)


def clip(content: str, width: float, size: float, *, bold: bool = False) -> str:
    """Returns the text, cut to `width` pixels with an ellipsis if it is longer."""
    return words.list_names([content], lambda text: measure(text, size, bold=bold) <= width)


def wrap(content: str, width: float, size: float, *, most: int) -> list[str]:
    """Returns the text in at most `most` lines that fit into `width` pixels."""
    columns = max(1, int(width / size / _CHARACTER))
    lines = textwrap.wrap(content, columns, max_lines=most, placeholder=" …")
    return [clip(line, width, size) for line in lines]


def element(tag: str, content: str | None = None, /, **attributes: float | str) -> str:
    """Returns an element; `_` in the name of an attribute becomes `-`."""
    texts = [
        f" {name.replace('_', '-')}={quoteattr(value if isinstance(value, str) else number(value))}"
        for name, value in attributes.items()
    ]
    end = "/>" if content is None else f">{escape(content)}</{tag}>"
    return f"<{tag}{''.join(texts)}{end}"


def number(value: float) -> str:
    """Returns a coordinate to a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0")


def rect(x: float, y: float, width: float, height: float, **style: float | str) -> str:
    """Returns a rectangle."""
    return element("rect", x=x, y=y, width=width, height=height, **style)


def line(x1: float, y1: float, x2: float, y2: float, stroke: str, **style: float | str) -> str:
    """Returns a straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=stroke, **style)


def circle(x: float, y: float, radius: float, **style: float | str) -> str:
    """Returns a circle."""
    return element("circle", cx=x, cy=y, r=radius, **style)


def text(
    x: float,
    y: float,
    content: str,
    *,
    size: float = 12,
    fill: str = INK,
    bold: bool = False,
    anchor: str = "start",
) -> str:
    """Returns a line of text on the baseline `y`."""
    style: dict[str, float | str] = {"font_weight": "600"} if bold else {}
    if anchor != "start":
        style["text_anchor"] = anchor
    return element("text", content, x=x, y=y, font_size=size, fill=fill, **style)


def group(title: str, *elements: str) -> str:
    """Returns a group; browsers show its title while the pointer rests on it."""
    return "\n".join(["<g>", element("title", title), *elements, "</g>"])


def document(width: float, height: float, title: str, elements: list[str]) -> str:
    """Returns a whole picture on a light card."""
    # Without a height attribute, a narrow page can shrink the picture in proportion.
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {number(width)} {number(height)}" '
        f'width="{number(width)}" style="max-width:100%" role="img" font-family={quoteattr(_FONT)}>'
    )
    card = rect(0.5, 0.5, width - 1, height - 1, rx=10, fill=CARD, stroke=FAINT)
    return "\n".join([head, element("title", title), card, *elements, "</svg>\n"])


def ring_and_dot(left: float, right: float, y: float, colour: str, *, ring: bool) -> Iterator[str]:
    """Yields the sign of a window: a dot at its size and, with `ring`, a ring at its slide."""
    yield line(left, y, right, y, colour, stroke_width=2.5)
    yield circle(right, y, 4, fill=colour)
    if ring:
        yield circle(left, y, 3.2, fill=CARD, stroke=colour, stroke_width=1.6)


@dataclass(frozen=True, kw_only=True)
class TimeScale:
    """A logarithmic scale of durations from `low` to `high` over `width` pixels."""

    low: float
    high: float
    width: float

    def at(self, micros: float) -> float:
        """Returns the position of a duration."""
        return self.width * log(micros / self.low) / log(self.high / self.low)

    def ticks(self) -> list[tuple[float, str]]:
        """Returns positions and labels of round durations, as many as are readable."""
        chosen: dict[float, str] = {}
        for duration in _ROUND_DURATIONS:
            if self.low <= duration <= self.high:
                place = self.at(duration)
                if all(abs(place - other) >= _SPACING for other in chosen):
                    chosen[place] = _short_duration(duration)
        return sorted(chosen.items())


@dataclass(frozen=True, kw_only=True)
class CostScale:
    """A linear scale of costs from zero to `most` over `width` pixels."""

    most: float
    width: float

    def at(self, cost: float) -> float:
        """Returns the length of a bar. A positive cost is always visible."""
        return max(1.5, self.width * cost / self.most) if cost > 0 and self.most > 0 else 0.0

    def ticks(self) -> list[tuple[float, str]]:
        """Returns positions and labels of round costs, from zero on."""
        if self.most <= 0:
            return [(0.0, "0")]
        least = self.most * _SPACING / self.width
        power = 10.0 ** floor(log10(least))
        step = next(power * digit for digit in (1, 2, 5, 10, 20) if power * digit >= least)
        costs = [step * place for place in range(int(self.most / step) + 1)]
        return [(self.width * cost / self.most, words.amount(cost)) for cost in costs]


def _short_duration(duration: int) -> str:
    value, unit = format_duration(duration).split(" ", 1)
    return f"{value} {_UNITS.get(unit.removesuffix('s'), unit.replace('milliseconds', 'ms'))}"


def stretch_length(tree: PeriodicTree) -> int:
    """Returns the length of time to draw: the whole pattern of edges, if that is readable.

    The pattern repeats after the composite slide. If that is too long, the stretch is the longest
    readable slide, or as many slices as are readable.
    """
    edges = tree.slicing.edges
    density = sum(1 / progression.period for progression in edges)
    longest = MOST_EDGES / density
    slides = [node.window.slide for node in tree.children(None)] or [edges[0].period]
    composite = lcm(*slides)
    if composite <= longest:
        return composite * max(1, int(_ENOUGH_EDGES / (composite * density)))
    shorter = max((slide for slide in slides if slide <= longest), default=None)
    if shorter is not None:
        return shorter * max(1, int(longest / shorter / 2))
    return edges[0].period * 60 if len(edges) == 1 else max(1, int(longest))


def edges_within(slicing: Slicing, length: int) -> list[int]:
    """Returns the edges in `[0, length)`, in order."""
    return sorted(
        {edge for some in slicing.edges for edge in range(some.phase, length, some.period)}
    )


def draw_ruler(tree: PeriodicTree, x: float, y: float, width: float, colour: str) -> str:
    """Returns a strip with edges as lines and every second slice shaded, and a caption below."""
    length = stretch_length(tree)
    edges = edges_within(tree.slicing, length)
    count = f"{len(edges)} edge{'' if len(edges) == 1 else 's'}"
    places = [x + width * edge / length for edge in edges] + [x + width]
    baseline, end = y + _STRIP + 14, clip(format_duration(length), width - 20, 11)
    elements = [
        rect(x, y, width, _STRIP, fill=colour, fill_opacity=0.12),
        *(
            rect(left, y, right - left, _STRIP, fill=colour, fill_opacity=0.22)
            for left, right in zip(places[:-1:2], places[1::2], strict=False)
        ),
        *(line(at, y - 3, at, y + _STRIP, colour, stroke_width=1.2) for at in places[:-1]),
        rect(x, y, width, _STRIP, fill="none", stroke=INK, stroke_opacity=0.25),
        text(x, baseline, "0", size=11, fill=MUTED),
        text(x + width, baseline, end, size=11, fill=MUTED, anchor="end"),
    ]
    caption = f"{count}, to scale"
    if measure(end, 11) + measure(caption, 11) / 2 < width / 2 - 6:
        middle = x + width / 2
        elements.append(text(middle, baseline, caption, size=11, fill=MUTED, anchor="middle"))
    title = f"{count} in {format_duration(length)}, true to scale, from 1970-01-01 UTC"
    return group(title, *elements)
