"""Nodes as boxes: where each stands, and what is written in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log

from muntin.explain import words
from muntin.explain.canvas import BOX, FAINT, MUTED, Canvas, clipped, listed, measure
from muntin.model.plan import Node, Plan, Tree
from muntin.model.time import DAY, HOUR, MILLISECOND, MINUTE, SECOND, WEEK, format_duration
from muntin.model.windows.window import Window

GLYPH = 78.0
_BOX = 430.0
# Where the text of a box begins, and the room for its cost at the right.
_TEXT = GLYPH + 22
_COST = 66.0
# Above so many rows a node gets one line instead of two.
_COMPACT_ABOVE = 16
# Above so many columns nodes are indented instead, as they are in a list.
_MOST_COLUMNS = 2
_COLUMN_GAP = 40.0
_MARKS = (MILLISECOND, SECOND, MINUTE, HOUR, DAY, WEEK)


@dataclass(frozen=True, kw_only=True)
class Scale:
    """A logarithmic scale of durations, the same for all boxes of a picture."""

    low: float
    high: float

    @staticmethod
    def of(plan: Plan) -> "Scale":
        """From the shortest slide to the longest size, and a little on both sides."""
        windows = [node.window for tree in plan.trees for node in tree.nodes]
        low = min((window.slide for window in windows), default=SECOND)
        high = max((window.size for window in windows), default=SECOND)
        return Scale(low=low / 1.6, high=high * 1.6)

    def at(self, micros: float) -> float:
        """Where a duration stands, in pixels from the left."""
        return GLYPH * log(micros / self.low) / log(self.high / self.low)

    @property
    def marks(self) -> tuple[int, ...]:
        """The round durations on the scale."""
        return tuple(mark for mark in _MARKS if self.low < mark < self.high)


@dataclass(frozen=True, kw_only=True)
class Place:
    """A node and its box, whose left upper corner is counted from that of the tree's area."""

    node: Node
    x: float
    y: float
    width: float


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Where a row of one line has its parts: widths of window, names and aggregates."""

    window: float
    names: float
    aggregates: float

    @staticmethod
    def of(nodes: Sequence[Node]) -> "Columns":
        """As wide as the widest of each needs, within bounds."""
        windows = [measure(str(node.window), 12, bold=True) for node in nodes]
        names = [measure(", ".join(words.answers(node)), 11) for node in nodes]
        asked = [measure(", ".join(words.aggregates(node)), 11) for node in nodes]
        return Columns(
            window=min(250.0, max(windows)),
            names=min(220.0, max(names)),
            aggregates=min(200.0, max(asked)),
        )

    @property
    def width(self) -> float:
        """The width of a box with these columns."""
        return _TEXT + self.window + 14 + self.names + 14 + self.aggregates + 14 + _COST + 10


@dataclass(frozen=True, kw_only=True)
class Area:
    """The boxes of one tree."""

    places: tuple[Place, ...]
    box_height: float
    # Columns of a row of one line; without them, a box has two lines.
    columns: Columns | None
    # How far children are indented below their parent; without it they stand in the next column.
    indent: float | None

    @property
    def width(self) -> float:
        """From the left of the first box to the right of the last."""
        return max((place.x + place.width for place in self.places), default=0.0)

    @property
    def height(self) -> float:
        """From the top of the first box to the bottom of the last."""
        return max((place.y + self.box_height for place in self.places), default=0.0)

    def draw(self, canvas: Canvas, x: float, y: float, scale: Scale, colour: str) -> None:
        """Every box and the lines between them; those from the slices are the caller's."""
        by_window = {place.node.window: place for place in self.places}
        half = self.box_height / 2
        for place in self.places:
            if place.node.parent is not None:
                parent = by_window[place.node.parent]
                end = (x + place.x, y + place.y + half)
                if self.indent is None:
                    start = (x + parent.x + parent.width, y + parent.y + half)
                    canvas.elbow(start, end[0] - _COLUMN_GAP / 2, end)
                else:
                    turn = x + parent.x + self.indent / 2
                    canvas.elbow((turn, y + parent.y + self.box_height), turn, end)
        for place in self.places:
            self._box(canvas, place, x + place.x, y + place.y, scale, colour)

    def _box(
        self, canvas: Canvas, place: Place, x: float, y: float, scale: Scale, colour: str
    ) -> None:
        node = place.node
        canvas.begin(story(node))
        outline: dict[str, float | str] = {"stroke": colour, "stroke_width": 1.2, "rx": 5}
        if node.is_factor:
            outline["stroke_dasharray"] = "5 3"
        canvas.rect(x, y, place.width, self.box_height, BOX, **outline)
        glyph(canvas, node.window, x + 10, y + 4, self.box_height - 8, scale, colour)
        tint = MUTED if node.is_factor else colour
        if self.columns is None:
            _two_lines(canvas, node, x + _TEXT, x + place.width - 10, y, tint)
        else:
            _one_line(canvas, node, self.columns, x + _TEXT, x + place.width - 10, y + 16, tint)
        canvas.end()


def area(tree: Tree) -> Area:
    """Boxes in columns by their distance from the slices, each beside its first child.

    Deeper trees, and high ones, are indented instead, one box below the other.
    """
    found = words.depths(tree)
    deepest = max((depth for _, depth in found), default=0)
    firsts = sum(after > before for (_, before), (_, after) in pairwise(found))
    rows = len(found) - firsts
    indented = deepest >= _MOST_COLUMNS or (rows > _COMPACT_ABOVE and deepest > 0)
    compact = (len(found) if indented else rows) > _COMPACT_ABOVE
    columns = Columns.of(tree.nodes) if compact else None
    width = columns.width if columns else _BOX
    height, gap = (24.0, 4.0) if compact else (46.0, 8.0)
    step = max(6.0, min(32.0, 480 / max(1, deepest))) if indented else width + _COLUMN_GAP
    places: list[Place] = []
    row, before = -1, deepest
    for node, depth in found:
        row += indented or depth <= before
        before = depth
        # Rows of one line end together, so that their columns stand below each other.
        wider = (deepest - depth) * step if indented and compact else 0.0
        y = row * (height + gap)
        places.append(Place(node=node, x=depth * step, y=y, width=width + wider))
    return Area(
        places=tuple(places),
        box_height=height,
        columns=columns,
        indent=step if indented else None,
    )


def _one_line(
    canvas: Canvas,
    node: Node,
    columns: Columns,
    left: float,
    right: float,
    base: float,
    tint: str,
) -> None:
    asked = right - _COST - 14 - columns.aggregates
    named = asked - 14 - columns.names
    window = clipped(str(node.window), named - 14 - left, 12, bold=True)
    canvas.text(left, base, window, bold=True)
    names = listed(words.answers(node), columns.names, 11)
    canvas.text(named, base, names, size=11, fill=tint)
    called = listed(words.aggregates(node), columns.aggregates, 11)
    canvas.text(asked, base, called, size=11, fill=MUTED)
    canvas.text(right, base, words.cost(node.cost), size=11, anchor="end")


def _two_lines(
    canvas: Canvas, node: Node, left: float, right: float, top: float, tint: str
) -> None:
    window = clipped(str(node.window), right - left - _COST - 8, 13, bold=True)
    canvas.text(left, top + 19, window, size=13, bold=True)
    canvas.text(right, top + 19, words.cost(node.cost), size=11, anchor="end")
    room = right - left - 12
    names = words.answers(node)
    # The names come first: the aggregates get what they leave, but not less than a good third.
    asked = max(room * 0.4, room - measure(", ".join(names), 11))
    called = listed(words.aggregates(node), asked, 11)
    canvas.text(right, top + 36, called, size=11, fill=MUTED, anchor="end")
    named = listed(names, room - measure(called, 11), 11)
    canvas.text(left, top + 36, named, size=11, fill=tint)


def glyph(
    canvas: Canvas, window: Window, x: float, y: float, height: float, scale: Scale, colour: str
) -> None:
    """A ring at the slide, a dot at the size, and the round durations as faint lines."""
    for mark in scale.marks:
        canvas.line(x + scale.at(mark), y, x + scale.at(mark), y + height, FAINT)
    slide, size, middle = x + scale.at(window.slide), x + scale.at(window.size), y + height / 2
    canvas.line(slide, middle, size, middle, colour, stroke_width=2.5)
    canvas.circle(size, middle, 4, colour)
    if not window.is_tumbling:
        canvas.circle(slide, middle, 3.2, BOX, stroke=colour, stroke_width=1.6)


def legend(canvas: Canvas, x: float, y: float, scale: Scale, *, factors: bool) -> float:
    """What the signs mean, in a line or two from the baseline `y`; the height taken."""
    canvas.circle(x + 4, y - 4, 3.2, BOX, stroke=MUTED, stroke_width=1.6)
    canvas.line(x + 7, y - 4, x + 22, y - 4, MUTED, stroke_width=2.5)
    canvas.circle(x + 26, y - 4, 4, MUTED)
    marks = ", ".join(format_duration(mark) for mark in scale.marks)
    text = "a window's slide and its size on a log scale"
    canvas.text(x + 40, y, text + (f", lines at {marks}" if marks else ""), size=11, fill=MUTED)
    if not factors:
        return 16
    dash: dict[str, float | str] = {"stroke": MUTED, "stroke_dasharray": "5 3", "rx": 3}
    canvas.rect(x + 0.5, y + 8, 29, 12, BOX, **dash)
    told = "a factor window: no query asked for it, others read it"
    canvas.text(x + 40, y + 18, told, size=11, fill=MUTED)
    return 34


def story(node: Node) -> str:
    """All there is to say of a node, in full."""
    lines = [
        str(node.window) + (f" ({words.FACTOR})" if node.is_factor else ""),
        f"reads {words.source(node)}",
        f"computes {', '.join(words.aggregates(node))}",
        words.cost(node.cost),
    ]
    if node.queries:
        lines.insert(1, f"answers {', '.join(words.answers(node))}")
    return "\n".join(lines)
