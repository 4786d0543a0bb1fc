"""One tree in the picture of a plan: its events, its slices to scale, and a box for each window."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor, lcm, log, log10

from muntin.explain import words
from muntin.explain.drawing import (
    BAND,
    CARD,
    FAINT,
    INK,
    MARGIN,
    MUTED,
    PADDING,
    Block,
    circle,
    clip,
    element,
    group,
    line,
    measure,
    number,
    rect,
    text,
    wrap,
)
from muntin.explain.tree_text import TreeText, WindowRow
from muntin.model.slicing import Slicing
from muntin.model.time import DAY, HOUR, MILLISECOND, MINUTE, SECOND, WEEK, format_duration
from muntin.model.trees import PeriodicTree
from muntin.model.windows.window import Window

# Round durations; the first ones make the best ticks.
_ROUND_DURATIONS = (
    *(SECOND, MINUTE, HOUR, DAY, MILLISECOND, WEEK, 10 * SECOND, 10 * MINUTE, 6 * HOUR, 1),
    *(100 * MILLISECOND, 30 * SECOND, 30 * MINUTE, 12 * HOUR, 4 * WEEK, 52 * WEEK),
    *(count * unit for unit in (SECOND, MINUTE, HOUR, DAY) for count in (2, 5, 15, 20)),
)
_UNITS = {"second": "s", "minute": "min", "hour": "h", "day": "d", "week": "wk"}
# Pixels between two ticks.
_SPACING = 40.0


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


RULER_HEIGHT = 40.0
_STRIP = 22.0
# How many edges are readable in the strip, and how many are enough to see the pattern.
MOST_EDGES = 100
_ENOUGH_EDGES = 24


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


_LINE, _BETWEEN = 17.0, 16.0
# Boxes of windows, and the line of captions above them.
_BOX, _BOX_GAP, _CAPTIONS = 26.0, 5.0, 20.0
_GLYPH_WIDTH, _BAR_WIDTH, _NUMBER_WIDTH = 170.0, 130.0, 58.0
# How far a window is indented below the one that it reads, and the deepest one.
_INDENT, _DEEPEST_INDENT = 22.0, 220.0
_BRANCH = "#a9b4c2"


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Positions of the columns of all boxes, from the left of the outermost box."""

    answers: float
    aggregates: float
    glyph: float
    bar: float
    width: float
    indent: float
    time: TimeScale
    cost: CostScale

    @staticmethod
    def of(trees: Sequence[TreeText]) -> "Columns":
        """Returns columns that fit the widest row, within limits."""
        rows = [row for each in trees for row in each.rows]
        deepest = max((row.depth for row in rows), default=0)
        indent = min(_INDENT, _DEEPEST_INDENT / (deepest + 1))

        def widest(texts: list[float], least: float, most: float) -> float:
            return min(most, max([least, *texts])) + _BETWEEN

        labels = [indent * (row.depth + 1) + measure(row.window, 12, bold=True) for row in rows]
        answers = 10 + widest(labels, 0.0, 280.0 + indent * deepest)
        names = [measure(", ".join(row.answers), 11) for row in rows]
        aggregates = answers + widest(names, 60.0, 190.0)
        calls = [measure(", ".join(row.aggregates), 11) for row in rows]
        glyph = aggregates + widest(calls, 60.0, 230.0) + 6
        bar = glyph + _GLYPH_WIDTH + 2 * _BETWEEN
        windows = [row.periodic for row in rows if row.periodic is not None]
        low = min((window.slide for window in windows), default=SECOND)
        high = max((window.size for window in windows), default=SECOND)
        costs = [row.cost for row in rows] + [each.tree.cut_cost for each in trees]
        return Columns(
            answers=answers,
            aggregates=aggregates,
            glyph=glyph,
            bar=bar,
            width=bar + _BAR_WIDTH + 8 + _NUMBER_WIDTH + 10,
            indent=indent,
            time=TimeScale(low=low / 1.6, high=high * 1.6, width=_GLYPH_WIDTH),
            cost=CostScale(most=max(costs, default=0.0), width=_BAR_WIDTH),
        )

    def ticks(self) -> Iterator[tuple[float, str]]:
        """Yields the positions and labels of the ticks of both scales."""
        for column, ticks in ((self.glyph, self.time.ticks()), (self.bar, self.cost.ticks())):
            yield from ((column + at, label) for at, label in ticks)


class TreeBand:
    """Draws one tree: its events, its slices to scale, and a box for each window."""

    def __init__(self, text: TreeText, columns: Columns, colour: str) -> None:
        self._text, self._tree, self._rows = text, text.tree, text.rows
        self._columns, self._colour = columns, colour
        self._x = MARGIN + PADDING

    def draw(self, top: float, width: float) -> Block:
        """Draws the band from `top` down."""
        tree, columns, x, y = self._tree, self._columns, self._x, top + PADDING
        edges = self._text.with_edges
        left = columns.glyph - 2 * PADDING
        lines = self._about(left if edges else columns.width - 2 * PADDING)
        head = max(22 + _LINE * len(lines), 24 + RULER_HEIGHT if edges else 0.0) + 14
        boxes = _CAPTIONS + (_BOX + _BOX_GAP) * (len(self._rows) + 1) - _BOX_GAP
        height = head + boxes + 2 * PADDING
        relation = words.relation(tree.grouping)
        title = [relation, *words.conditions(tree.grouping), self._text.answering]
        costs = [words.figure(cost) for cost in (tree.cut_cost, tree.cost - tree.cut_cost)]
        total = f"{words.READING} {costs[0]} + {words.ANSWERING} {costs[1]}"
        elements = [
            rect(MARGIN, top, width, height, fill=BAND, rx=8),
            group(
                "\n".join(title),
                text(x, y + 13, clip(relation, left, 14, bold=True), size=14, bold=True),
                *(
                    text(x, y + 33 + _LINE * index, content, fill=MUTED)
                    for index, content in enumerate(lines)
                ),
            ),
            text(x + columns.width, y + 13, f"{total} = {words.cost(tree.cost)}", anchor="end"),
        ]
        if edges is not None:
            strip = columns.width - columns.glyph
            elements.append(draw_ruler(edges, x + columns.glyph, y + 24, strip, self._colour))
        return [*elements, *self._table(y + head, y + head + boxes)], height

    def _about(self, width: float) -> list[str]:
        """Returns the filter in lines of its own, keys and time, and notes."""
        conditions = words.conditions(self._tree.grouping)
        filters = 1 if self._tree.grouping.where else 0
        texts = [*conditions[:filters], " ".join(conditions[filters:])]
        texts += [self._text.answering, *self._text.notes()]
        return [each for content in texts for each in wrap(content, width, 12, most=2)]

    def _table(self, top: float, bottom: float) -> Iterator[str]:
        """Yields the captions and ticks, the branches, and the boxes."""
        columns, x, upper = self._columns, self._x, top + _CAPTIONS
        captions = {10.0: "window", columns.answers: "answers", columns.aggregates: "computes"}
        for left, caption in captions.items():
            yield text(x + left, top + 10, caption, size=10, fill=MUTED)
        yield text(x + columns.width - 10, top + 10, "ops/s", size=10, fill=MUTED, anchor="end")
        for at, label in columns.ticks():
            yield text(x + at, top + 10, label, size=10, fill=MUTED, anchor="middle")
            yield line(x + at, top + 14, x + at, bottom, FAINT)
        # The first box is that of reading; a window without a parent hangs below it.
        lefts = [x] + [x + columns.indent * (row.depth + 1) for row in self._rows]
        tops = [upper + (_BOX + _BOX_GAP) * index for index in range(len(lefts))]
        for index, row in enumerate(self._rows, start=1):
            parent = 0 if row.parent is None else row.parent + 1
            down, end = tops[parent] + _BOX, tops[index] + _BOX / 2
            turn, bend = lefts[parent] + columns.indent / 2, min(8.0, columns.indent / 2)
            path = (
                f"M{number(turn)} {number(down)}V{number(end - bend)}"
                f"q0 {number(bend)} {number(bend)} {number(bend)}H{number(lefts[index])}"
            )
            yield element("path", d=path, fill="none", stroke=_BRANCH, stroke_width=1.3)
        yield self._reading_box(upper)
        for row, left, y in zip(self._rows, lefts[1:], tops[1:], strict=True):
            yield self._window_box(row, left, y)

    def _box(self, left: float, y: float, **style: float | str) -> str:
        width = self._x + self._columns.width - left
        outline: dict[str, float | str] = {"stroke": self._colour, "stroke_width": 1.2, "rx": 5}
        return rect(left, y, width, _BOX, fill=CARD, **outline, **style)

    def _reading_box(self, y: float) -> str:
        reading, cost, x = self._text.reading, self._tree.cut_cost, self._x
        start = 20 + measure(words.READING, 12, bold=True)
        content = clip(reading, self._columns.glyph - _BETWEEN - start, 11)
        return group(
            f"{words.READING}: {reading}\n{words.cost(cost)}",
            self._box(x, y),
            rect(x, y, self._columns.width, _BOX, fill=self._colour, rx=5, fill_opacity=0.1),
            text(x + 10, y + 17, words.READING, bold=True),
            text(x + start, y + 17, content, size=11),
            *self._cost(cost, y),
        )

    def _window_box(self, row: WindowRow, left: float, y: float) -> str:
        columns, x, baseline = self._columns, self._x, y + 17

        def fit(names: tuple[str, ...], width: float) -> str:
            return words.list_names(names, lambda content: measure(content, 11) <= width)

        window = clip(row.window, x + columns.answers - 24 - left, 12, bold=True)
        answers = fit(row.answers, columns.aggregates - columns.answers - 12)
        calls = fit(row.aggregates, columns.glyph - columns.aggregates - _BETWEEN)
        tint = MUTED if row.is_factor else self._colour
        dashes: dict[str, float | str] = {"stroke_dasharray": "5 3"} if row.is_factor else {}
        return group(
            row.story,
            self._box(left, y, **dashes),
            *(line(x + at, y + 1, x + at, y + _BOX - 1, FAINT) for at, _ in columns.ticks()),
            text(left + 10, baseline, window, bold=True),
            text(x + columns.answers, baseline, answers, size=11, fill=tint),
            text(x + columns.aggregates, baseline, calls, size=11, fill=MUTED),
            *self._glyph(row.periodic, y),
            *self._cost(row.cost, y),
        )

    def _glyph(self, window: Window | None, y: float) -> Iterator[str]:
        """Yields a ring at the slide, a dot at the size, and a line between them."""
        x = self._x + self._columns.glyph
        if window is None:
            middle, caption = x + _GLYPH_WIDTH / 2, "as long as the data says"
            yield rect(middle - 70, y + 5, 140, _BOX - 10, fill=CARD)
            yield text(middle, y + 16, caption, size=10, fill=MUTED, anchor="middle")
            return
        slide, size = (x + self._columns.time.at(each) for each in (window.slide, window.size))
        ring = not window.is_tumbling
        yield from ring_and_dot(slide, size, y + _BOX / 2, self._colour, ring=ring)

    def _cost(self, cost: float, y: float) -> Iterator[str]:
        x, length = self._x + self._columns.bar, self._columns.cost.at(cost)
        if length:
            yield rect(x, y + 8, length, _BOX - 16, fill=self._colour, fill_opacity=0.8)
        right = self._x + self._columns.width - 10
        yield text(right, y + 17, words.figure(cost), size=11, anchor="end")


def ring_and_dot(left: float, right: float, y: float, colour: str, *, ring: bool) -> Iterator[str]:
    """Yields the sign of a window: a dot at its size and, with `ring`, a ring at its slide."""
    yield line(left, y, right, y, colour, stroke_width=2.5)
    yield circle(right, y, 4, fill=colour)
    if ring:
        yield circle(left, y, 3.2, fill=CARD, stroke=colour, stroke_width=1.6)
