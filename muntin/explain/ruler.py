"""Draws a stretch of the stream with the edges of its slices, to scale."""

from math import lcm

from muntin.explain.drawing import INK, MUTED, clip, group, line, measure, rect, text
from muntin.model.slicing import Slicing
from muntin.model.time import format_duration
from muntin.model.trees import PeriodicTree

HEIGHT = 40.0
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
