"""The table of slicings: panes, pairs, and begins alone (Cutty).

`edges.slicing` decides how a tree is cut; these are for comparison.
"""

from collections.abc import Callable, Iterable
from math import gcd

from muntin.errors import PlanError, nearest
from muntin.model.slicing import Edges, Slicing
from muntin.model.time import SECOND
from muntin.model.windows.window import Window
from muntin.optimizer.slicing.edges import distinct, edge_rate, edges_of, grid


def panes(windows: Iterable[Window]) -> Slicing:
    """Cuts into slices of one width that fit every begin and every end."""
    cell = grid(edges_of(windows))
    return Slicing(edges=(cell,), rate=SECOND / cell.period)


def pairs(windows: Iterable[Window]) -> Slicing:
    """Cuts at every begin and every end only: at most two cuts per slide and window."""
    edges = edges_of(windows)
    return Slicing(edges=edges, rate=edge_rate(edges))


def begins(windows: Iterable[Window]) -> Slicing:
    """Cuts at every begin only.

    An end is then answered from a slice that is still open, so a tree of stored slices cannot use
    it where a size is not a multiple of its slide.
    """
    edges = distinct(Edges(period=window.slide, phase=window.offset) for window in windows)
    return Slicing(edges=edges, rate=edge_rate(edges))


SLICINGS: dict[str, Callable[[Iterable[Window]], Slicing]] = {
    "panes": panes,
    "pairs": pairs,
    "begins": begins,
}


def partials_per_window(slicing: str, window: Window) -> int:
    """Returns how many partials make up one interval of a window (Incremental MQO, table 1)."""
    whole, rest = divmod(window.size, window.slide)
    if slicing not in SLICINGS:
        raise PlanError(f"no slicing is called {slicing!r}; {nearest(slicing, list(SLICINGS))}")
    if not rest:
        return whole
    if slicing == "panes":
        return window.size // gcd(window.size, window.slide)
    return 2 * whole + 1 if slicing == "pairs" else whole + 1
