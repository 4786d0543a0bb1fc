"""Where to cut: the edges of many windows as few progressions, and how many there are."""

from collections.abc import Iterable
from math import gcd, lcm

from muntin.errors import PlanError
from muntin.model.plan import Edges, Slicing
from muntin.model.time import SECOND
from muntin.model.window import Window

# Above this many slots a composite slide is not laid out; its edges are bounded instead.
_LARGEST_COMPOSITE = 1 << 22
# Finding the latest edge costs a division per progression and event. A grid costs one, so up to
# this factor finer, or in place of more progressions than the second figure, the grid is cheaper.
_GRID_FACTOR = 2.0
_MOST_PROGRESSIONS = 32


def edges_of(windows: Iterable[Window]) -> tuple[Edges, ...]:
    """The begins and ends of all windows as progressions, none inside another."""
    found = {
        Edges(period=window.slide, phase=phase)
        for window in windows
        for phase in (window.offset, window.offset + window.size)
    }
    kept: list[Edges] = []
    for edges in sorted(found):
        if not any(other.includes(edges) for other in kept):
            kept.append(edges)
    return tuple(kept)


def grid(edges: Iterable[Edges]) -> Edges:
    """The coarsest single progression that includes all of them."""
    edges = tuple(edges)
    if not edges:
        raise PlanError("there is no window to cut for")
    first = edges[0]
    step = 0
    for other in edges:
        step = gcd(step, other.period, other.phase - first.phase)
    return Edges(period=step, phase=first.phase)


def edge_rate(edges: Iterable[Edges]) -> float:
    """Distinct edges per second of event time.

    Counted by bit set over the composite slide (Weave Share, section 8), in steps of the grid.
    Where that is too long to lay out, the answer is the bound by the sum of the progressions.
    """
    edges = tuple(edges)
    cell = grid(edges)
    slots = lcm(*(one.period for one in edges)) // cell.period
    if slots > _LARGEST_COMPOSITE:
        bound = sum(1 / one.period for one in edges)
        return SECOND * min(bound, 1 / cell.period)
    marks = bytearray(slots)
    for one in edges:
        stride = one.period // cell.period
        start = (one.phase - cell.phase) // cell.period % stride
        marks[start::stride] = b"\x01" * len(range(start, slots, stride))
    return SECOND * marks.count(1) / (slots * cell.period)


def slicing(windows: Iterable[Window]) -> Slicing:
    """Slices cut at every begin and every end: on a grid where that is cheaper, else exactly there."""
    edges = edges_of(windows)
    rate = edge_rate(edges)
    cell = grid(edges)
    grid_rate = SECOND / cell.period
    if len(edges) > _MOST_PROGRESSIONS or grid_rate <= _GRID_FACTOR * rate:
        return Slicing(edges=(cell,), rate=grid_rate)
    return Slicing(edges=edges, rate=rate)
