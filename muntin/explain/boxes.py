"""A tree as boxes, one a line and in one style: what is read first, then each window below it."""

from collections.abc import Sequence
from dataclasses import dataclass

from muntin.explain import words
from muntin.explain.canvas import BOX, FAINT, INK, MUTED, Canvas, clipped, listed, measure
from muntin.explain.rows import Row, TreeStory
from muntin.explain.scales import CostScale, TimeScale
from muntin.model.windows.window import Window

HEIGHT, GAP = 26.0, 5.0
# The line of captions and ticks above the boxes.
HEAD = 20.0
_GLYPH, _BAR, _NUMBER = 170.0, 130.0, 58.0
_BETWEEN = 16.0
# How far a window is indented below the one it reads, and all such steps together.
_STEP, _MOST_STEPS = 22.0, 220.0


@dataclass(frozen=True, kw_only=True)
class Table:
    """Where the columns of all boxes of a picture are, from the left of the widest box."""

    names: float
    aggregates: float
    glyph: float
    bar: float
    width: float
    step: float
    time: TimeScale
    cost: CostScale

    @staticmethod
    def of(stories: Sequence[TreeStory]) -> "Table":
        """As wide as the widest row needs, within bounds."""
        rows = [row for story in stories for row in story.rows]
        deepest = max((row.depth for row in rows), default=0)
        step = min(_STEP, _MOST_STEPS / (deepest + 1))
        windows = [step * (row.depth + 1) + measure(row.window, 12, bold=True) for row in rows]
        names = [measure(", ".join(row.answers), 11) for row in rows]
        asked = [measure(", ".join(row.aggregates), 11) for row in rows]
        named = 10 + min(280.0 + step * deepest, max(windows, default=0.0)) + _BETWEEN
        aggregates = named + min(190.0, max([60.0, *names])) + _BETWEEN
        glyph = aggregates + min(230.0, max([60.0, *asked])) + _BETWEEN + 6
        bar = glyph + _GLYPH + 2 * _BETWEEN
        costs = [row.cost for row in rows] + [story.tree.cut_cost for story in stories]
        return Table(
            names=named,
            aggregates=aggregates,
            glyph=glyph,
            bar=bar,
            width=bar + _BAR + 8 + _NUMBER + 10,
            step=step,
            time=TimeScale.of(rows, _GLYPH),
            cost=CostScale.of(costs, _BAR),
        )

    @staticmethod
    def height(rows: Sequence[Row]) -> float:
        """How high the boxes of a tree are, with what is read and the ticks above."""
        return HEAD + (HEIGHT + GAP) * (len(rows) + 1) - GAP

    def draw(self, canvas: Canvas, story: TreeStory, x: float, y: float, colour: str) -> None:
        """The ticks, the box of what is read, and a box for each window below it."""
        rows = story.rows
        bottom = y + self.height(rows)
        self._ticks(canvas, x, y, bottom)
        top = y + HEAD
        # Where each box stands; the first is what is read.
        places = [(x, top)] + [
            (x + self.step * (row.depth + 1), top + (HEIGHT + GAP) * (index + 1))
            for index, row in enumerate(rows)
        ]
        for row, (left, upper) in zip(rows, places[1:], strict=True):
            above = places[0 if row.parent is None else row.parent + 1]
            turn = above[0] + self.step / 2
            canvas.elbow((turn, above[1] + HEIGHT), turn, (left, upper + HEIGHT / 2))
        self._reading(canvas, story, x, top, colour)
        for row, (left, upper) in zip(rows, places[1:], strict=True):
            self._window(canvas, row, x, left, upper, colour)

    def _ticks(self, canvas: Canvas, x: float, y: float, bottom: float) -> None:
        for left, caption in (
            (10.0, "window"),
            (self.names, "answers"),
            (self.aggregates, "computes"),
        ):
            canvas.text(x + left, y + 10, caption, size=10, fill=MUTED)
        canvas.text(x + self.width - 10, y + 10, "ops/s", size=10, fill=MUTED, anchor="end")
        for column, ticks in ((self.glyph, self.time.ticks()), (self.bar, self.cost.ticks())):
            for at, name in ticks:
                canvas.text(x + column + at, y + 10, name, size=10, fill=MUTED, anchor="middle")
                canvas.line(x + column + at, y + 14, x + column + at, bottom, FAINT)

    def _reading(self, canvas: Canvas, story: TreeStory, x: float, y: float, colour: str) -> None:
        told, cut_cost = story.reading, story.tree.cut_cost
        canvas.begin(f"{words.READING}: {told}\n{words.cost(cut_cost)}")
        outline: dict[str, float | str] = {"stroke": colour, "stroke_width": 1.2, "rx": 5}
        canvas.rect(x, y, self.width, HEIGHT, BOX, **outline)
        canvas.rect(x, y, self.width, HEIGHT, colour, rx=5, fill_opacity=0.1)
        canvas.text(x + 10, y + 17, words.READING, size=12, bold=True)
        start = 10 + measure(words.READING, 12, bold=True) + 10
        told = clipped(told, self.glyph - _BETWEEN - start, 11)
        canvas.text(x + start, y + 17, told, size=11)
        self._cost(canvas, cut_cost, x, y, colour)
        canvas.end()

    def _window(
        self, canvas: Canvas, row: Row, x: float, left: float, y: float, colour: str
    ) -> None:
        """A window's box, which begins at `left`; its columns are counted from `x`."""
        canvas.begin(row.story)
        outline: dict[str, float | str] = {"stroke": colour, "stroke_width": 1.2, "rx": 5}
        if row.is_factor:
            outline["stroke_dasharray"] = "5 3"
        canvas.rect(left, y, x + self.width - left, HEIGHT, BOX, **outline)
        for column, ticks in ((self.glyph, self.time.ticks()), (self.bar, self.cost.ticks())):
            for at, _ in ticks:
                canvas.line(x + column + at, y + 1, x + column + at, y + HEIGHT - 1, FAINT)
        base = y + 17
        window = clipped(row.window, x + self.names - 14 - left - 10, 12, bold=True)
        canvas.text(left + 10, base, window, bold=True)
        names = listed(row.answers, self.aggregates - self.names - 12, 11)
        tint = MUTED if row.is_factor else colour
        canvas.text(x + self.names, base, names, size=11, fill=tint)
        asked = listed(row.aggregates, self.glyph - self.aggregates - _BETWEEN, 11)
        canvas.text(x + self.aggregates, base, asked, size=11, fill=MUTED)
        if row.periodic is not None:
            glyph(canvas, row.periodic, x + self.glyph, y + HEIGHT / 2, self.time, colour)
        else:
            said = "as long as the data says"
            middle = x + self.glyph + _GLYPH / 2
            canvas.rect(middle - 70, y + 5, 140, HEIGHT - 10, BOX)
            canvas.text(middle, base - 1, said, size=10, fill=MUTED, anchor="middle")
        self._cost(canvas, row.cost, x, y, colour)
        canvas.end()

    def _cost(self, canvas: Canvas, cost: float, x: float, y: float, colour: str) -> None:
        length = self.cost.at(cost)
        if length:
            canvas.rect(x + self.bar, y + 8, length, HEIGHT - 16, colour, fill_opacity=0.8)
        right = x + self.width - 10
        canvas.text(right, y + 17, words.figure(cost), size=11, fill=INK, anchor="end")


def glyph(
    canvas: Canvas, window: Window, x: float, middle: float, scale: TimeScale, colour: str
) -> None:
    """A ring at the slide, a dot at the size, and a line between them."""
    slide, size = x + scale.at(window.slide), x + scale.at(window.size)
    canvas.line(slide, middle, size, middle, colour, stroke_width=2.5)
    canvas.circle(size, middle, 4, colour)
    if not window.is_tumbling:
        canvas.circle(slide, middle, 3.2, BOX, stroke=colour, stroke_width=1.6)


def legend(canvas: Canvas, x: float, y: float, *, factors: bool) -> float:
    """What the signs mean, in lines from the baseline `y`; gives the height taken."""
    canvas.circle(x + 4, y - 4, 3.2, BOX, stroke=MUTED, stroke_width=1.6)
    canvas.line(x + 7, y - 4, x + 22, y - 4, MUTED, stroke_width=2.5)
    canvas.circle(x + 26, y - 4, 4, MUTED)
    told = "a window's slide (ring) and size (dot); a dot alone is a tumbling window"
    canvas.text(x + 40, y, told, size=11, fill=MUTED)
    canvas.rect(x + 0.5, y + 9, 29, 10, MUTED, fill_opacity=0.8)
    told = f"cost: {words.OPERATION}; CPU s/h is CPU seconds for each hour of events"
    canvas.text(x + 40, y + 18, told, size=11, fill=MUTED)
    if not factors:
        return 34
    dash: dict[str, float | str] = {"stroke": MUTED, "stroke_dasharray": "5 3", "rx": 3}
    canvas.rect(x + 0.5, y + 26, 29, 12, BOX, **dash)
    canvas.text(x + 40, y + 36, words.FACTOR_TOLD, size=11, fill=MUTED)
    return 52
