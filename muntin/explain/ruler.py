"""A stretch of the stream with its edges, true to scale."""

from math import lcm

from muntin.explain.canvas import INK, MUTED, Canvas, clipped, measure
from muntin.model.slicing import Slicing
from muntin.model.time import format_duration
from muntin.model.trees import PeriodicTree

HEIGHT = 40.0
STRIP = 22.0
# So many edges can still be told apart in the strip, and so many are enough to see the pattern.
MOST_EDGES = 100
_ENOUGH = 24


def span(tree: PeriodicTree) -> int:
    """Chooses how long a stretch to draw: the whole pattern of edges, where that can be read.

    The pattern repeats after the composite slide. Where that is too long, the longest slide that
    can be read is taken, and else as many slices as can be.
    """
    edges = tree.slicing.edges
    density = sum(1 / progression.period for progression in edges)
    longest = MOST_EDGES / density
    slides = [node.window.slide for node in tree.children(None)] or [edges[0].period]
    composite = lcm(*slides)
    if composite <= longest:
        return composite * max(1, int(_ENOUGH / (composite * density)))
    shorter = max((slide for slide in slides if slide <= longest), default=None)
    if shorter is not None:
        return shorter * max(1, int(longest / shorter / 2))
    return edges[0].period * 60 if len(edges) == 1 else max(1, int(longest))


def edges_within(slicing: Slicing, length: int) -> list[int]:
    """Every edge in `[0, length)`, in order."""
    return sorted(
        {edge for some in slicing.edges for edge in range(some.phase, length, some.period)}
    )


def draw(canvas: Canvas, tree: PeriodicTree, x: float, y: float, width: float, colour: str) -> None:
    """The strip from `y`, slices shaded in turn and edges as lines; below it, what is shown."""
    length = span(tree)
    edges = edges_within(tree.slicing, length)
    count = f"{len(edges)} edge{'' if len(edges) == 1 else 's'}"
    canvas.begin(f"{count} in {format_duration(length)}, true to scale, from 1970-01-01 UTC")
    canvas.rect(x, y, width, STRIP, colour, fill_opacity=0.12)
    at = [x + width * edge / length for edge in edges] + [x + width]
    for left, right in zip(at[:-1:2], at[1::2], strict=False):
        canvas.rect(left, y, right - left, STRIP, colour, fill_opacity=0.22)
    for place in at[:-1]:
        canvas.line(place, y - 3, place, y + STRIP, colour, stroke_width=1.2)
    canvas.rect(x, y, width, STRIP, "none", stroke=INK, stroke_opacity=0.25)
    base, end = y + STRIP + 14, clipped(format_duration(length), width - 20, 11)
    canvas.text(x, base, "0", size=11, fill=MUTED)
    canvas.text(x + width, base, end, size=11, fill=MUTED, anchor="end")
    middle = f"{count}, to scale"
    if measure(end, 11) + measure(middle, 11) / 2 < width / 2 - 6:
        canvas.text(x + width / 2, base, middle, size=11, fill=MUTED, anchor="middle")
    canvas.end()
