"""The ways to cut for windows, by name: panes, pairs, and begins alone (Cutty).

What a tree is cut by is decided in `edges.slicing`; these are what it is compared with.
"""

from collections.abc import Callable, Iterable
from math import gcd

from muntin.errors import PlanError, nearest
from muntin.model.plan import Edges, Slicing
from muntin.model.time import SECOND
from muntin.model.windows.window import Window
from muntin.share.slicing.edges import distinct, edge_rate, edges_of, grid


def panes(windows: Iterable[Window]) -> Slicing:
    """Slices of one width that fit every begin and every end."""
    cell = grid(edges_of(windows))
    return Slicing(edges=(cell,), rate=SECOND / cell.period)


def pairs(windows: Iterable[Window]) -> Slicing:
    """A cut at every begin and every end, and nowhere else: at most two per slide and window."""
    edges = edges_of(windows)
    return Slicing(edges=edges, rate=edge_rate(edges))


def begins(windows: Iterable[Window]) -> Slicing:
    """A cut at every begin alone. Ends are answered from a slice still open, so a tree of stored
    slices cannot use it where a size is not a multiple of its slide."""
    edges = distinct(Edges(period=window.slide, phase=window.offset) for window in windows)
    return Slicing(edges=edges, rate=edge_rate(edges))


SLICINGS: dict[str, Callable[[Iterable[Window]], Slicing]] = {
    "panes": panes,
    "pairs": pairs,
    "begins": begins,
}


def partials_per_window(slicing: str, window: Window) -> int:
    """Partials that make up one interval of a window cut alone (Incremental MQO, table 1)."""
    whole, rest = divmod(window.size, window.slide)
    if slicing not in SLICINGS:
        raise PlanError(f"no slicing is called {slicing!r}; {nearest(slicing, list(SLICINGS))}")
    if not rest:
        return whole
    if slicing == "panes":
        return window.size // gcd(window.size, window.slide)
    return 2 * whole + 1 if slicing == "pairs" else whole + 1
