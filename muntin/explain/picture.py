"""A plan as a self-contained SVG: its costs, a band for each pass and tree, and plain queries."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from muntin.explain import words
from muntin.explain.drawing import (
    BAND,
    CARD,
    FAINT,
    MARGIN,
    MUTED,
    PADDING,
    RULER_HEIGHT,
    Block,
    CostScale,
    TimeScale,
    clip,
    document,
    draw_ruler,
    element,
    group,
    line,
    measure,
    number,
    rect,
    ring_and_dot,
    text,
    wrap,
)
from muntin.explain.tree_text import PassText, TreeText, WindowRow, pass_texts, tree_text
from muntin.model.plan import Plan
from muntin.model.query import Grouping, PlainQuery
from muntin.model.time import SECOND
from muntin.model.windows import Window

_NARROWEST, _TOTAL_BAR = 980.0, 280.0
# One colour for each grouping, so that trees over the same events look alike.
_COLOURS = ("#2563a8", "#0f766e", "#9a5b13", "#7c3f98", "#b03a5b", "#4d6b1f")
_OTHER_BAR = "#b6c0cc"
_LINE, _BETWEEN = 17.0, 16.0
# Boxes of windows, and the line of captions above them.
_BOX, _BOX_GAP, _CAPTIONS = 26.0, 5.0, 20.0
_GLYPH_WIDTH, _BAR_WIDTH, _NUMBER_WIDTH = 170.0, 130.0, 58.0
# How far a window is indented below the one that it reads, and the deepest one.
_INDENT, _DEEPEST_INDENT = 22.0, 220.0
_BRANCH = "#a9b4c2"


def svg(plan: Plan) -> str:
    """Returns the plan as a picture on a light background."""
    trees = [tree_text(tree) for tree in plan.trees]
    columns = Columns.of(trees)
    width = max(_NARROWEST, (columns.width + 2 * PADDING if trees else 0.0) + 2 * MARGIN)
    inner = width - 2 * MARGIN
    elements, y = _heading(plan)
    colours: dict[Grouping, str] = {}
    for story in pass_texts(plan):
        band, height = _pass_band(story, y, inner)
        elements, y = elements + band, y + height + 12
    for each in trees:
        colour = colours.setdefault(each.tree.grouping, _COLOURS[len(colours) % len(_COLOURS)])
        band, height = TreeBand(each, columns, colour).draw(y, inner)
        elements, y = elements + band, y + height + 12
    if plan.plain_queries:
        band, height = _plain_band(plan.plain_queries, y, inner)
        elements, y = elements + band, y + height + 12
    if trees:
        has_factors = any(row.is_factor for each in trees for row in each.rows)
        legend, height = _legend(MARGIN, y + 14, has_factors=has_factors)
        elements, y = elements + legend, y + height
    title = f"{words.clean(plan.strategy)} plan: {words.headline(plan)}"
    return document(width, y + MARGIN - 6, title, elements)


def _heading(plan: Plan) -> Block:
    """Draws the name, the facts, and the costs as bars on one linear scale."""
    trees, rate, keys = words.facts(plan)
    about = f"{words.headline(plan)} · {trees} · estimated costs for {rate} and {keys}"
    name = clip(f"{words.clean(plan.strategy)} plan", 400, 20, bold=True)
    elements = [text(MARGIN, 42, name, size=20, bold=True), text(MARGIN, 64, about, fill=MUTED)]
    y, left = 84.0, MARGIN + 124
    if not plan.trees:
        return elements, y
    costs = list(words.comparison(plan))
    largest = max(cost for _, cost, _ in costs) or 1.0
    spent = words.cost_parts(plan)
    for label, cost, ratio in costs:
        is_ours = label == "this plan"
        length = max(2.0, _TOTAL_BAR * cost / largest)
        caption = f"{words.cost(cost)}, {words.cpu(plan, cost)}"
        caption += f", this plan costs {ratio}" if ratio else ""
        elements += [
            text(MARGIN, y + 12, label, bold=is_ours),
            rect(left, y + 2, length, 12, fill=_COLOURS[0] if is_ours else _OTHER_BAR),
        ]
        if is_ours and cost:
            start, answering = (
                length * spent[part] / cost for part in (words.READING, words.ANSWERING)
            )
            elements.append(rect(left + start, y + 2, answering, 12, fill=CARD, fill_opacity=0.55))
        if is_ours:
            parts = ", ".join(f"{part} {words.figure(ops)}" for part, ops in spent.items())
            caption += f": {parts}"
        elements.append(text(left + length + 8, y + 12, caption, fill=MUTED))
        y += 21
    return elements, y + 14


def _pass_band(story: PassText, top: float, width: float) -> Block:
    height = 2 * PADDING + 30
    x, y, room = MARGIN + PADDING, top + PADDING, width - 2 * PADDING
    cost = f"{words.READING} {words.cost(story.cost)}"
    start = measure(story.name, 14, bold=True) + 10
    about = clip(story.about, room - start - measure(cost, 12) - 20, 12)
    return [
        rect(MARGIN, top, width, height, fill=BAND, rx=8),
        rect(MARGIN, top, 5, height, fill=MUTED, rx=2),
        group(
            f"{story.name}: {story.about}\n{story.reading_step}\n{words.cost(story.cost)}",
            text(x, y + 11, story.name, size=14, bold=True),
            text(x + room, y + 11, cost, anchor="end"),
            text(x + start, y + 11, about),
            text(x, y + 31, clip(story.reading_step, room, 12), fill=MUTED),
        ),
    ], height


def _plain_band(queries: tuple[PlainQuery, ...], top: float, width: float) -> Block:
    """Draws the queries that do not share, each with the reason."""
    x, y, reasons = MARGIN + PADDING, top + PADDING + 22, 216.0
    elements = [text(x, y - 11, words.PLAIN_HEADING, size=13, bold=True, fill=MUTED)]
    for query in queries:
        name, reason = words.clean(query.name), words.clean(query.reason)
        lines = wrap(reason, width - 2 * PADDING - reasons, 12, most=3)
        texts = [
            text(x + reasons, y + 12 + 16 * index, content, fill=MUTED)
            for index, content in enumerate(lines)
        ]
        title = f"{name}\n{reason}"
        elements.append(group(title, text(x, y + 12, clip(name, reasons - 16, 12)), *texts))
        y += 16 * max(1, len(lines)) + 6
    height = y - top + PADDING - 6
    frame = rect(MARGIN, top, width, height, fill="none", stroke=FAINT, rx=8)
    return [frame, *elements], height


def _legend(x: float, y: float, *, has_factors: bool) -> Block:
    """Explains the signs, in lines from the baseline `y`."""
    window = "a window's slide (ring) and size (dot); a dot alone is a tumbling window"
    cost = f"cost: {words.OPERATION}; CPU s/h is CPU seconds for each hour of events"
    elements = [
        *ring_and_dot(x + 4, x + 26, y - 4, MUTED, ring=True),
        text(x + 40, y, window, size=11, fill=MUTED),
        rect(x + 0.5, y + 9, 29, 10, fill=MUTED, fill_opacity=0.8),
        text(x + 40, y + 18, cost, size=11, fill=MUTED),
    ]
    if has_factors:
        style = {"fill": CARD, "stroke": MUTED, "stroke_dasharray": "5 3"}
        elements.append(rect(x + 0.5, y + 26, 29, 12, rx=3, **style))
        elements.append(text(x + 40, y + 36, words.FACTOR_MEANING, size=11, fill=MUTED))
    return elements, 52.0 if has_factors else 34.0


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
        title = [relation, *words.conditions(tree.grouping), self._text.answering_step]
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
        texts += [self._text.answering_step, *self._text.notes()]
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
        reading, cost, x = self._text.reading_step, self._tree.cut_cost, self._x
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
