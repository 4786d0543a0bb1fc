"""Finds the edges of many windows, as few progressions, counts them, and cuts slices at them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from math import gcd, lcm

import numpy as np

from muntin.errors import PlanError, nearest
from muntin.model.prices import SHIPPED, Prices
from muntin.model.time import SECOND
from muntin.model.windows import QUEUE_COMBINES, Edges, Slicing, Window
from muntin.model.workload import ASSUMED_KEYS, ASSUMED_RATE, Workload
from muntin.optimizer import costs
from muntin.optimizer.cost_models import MODELS

# A composite slide of up to this many slots is counted by bit set; up to the second number it is if
# the formula has too many terms.
_SHORT_COMPOSITE = 1 << 12
_LARGEST_COMPOSITE = 1 << 22
# Terms of inclusion and exclusion after which the formula gives up.
_MOST_TERMS = 1 << 10
# The most progressions whose share an estimate computes.
_MOST_ESTIMATED = 1 << 11
# A few of the densest progressions may show that the grid is cheaper.
_FEW_PROGRESSIONS = 8
# The columns of an event that slices are made of: time, a key and a value.
_COLUMNS = 3
# The search for passes asks for the same slices over and over.
_MOST_REMEMBERED = 1 << 12


def edges_of(windows: Iterable[Window]) -> tuple[Edges, ...]:
    """Returns the begins and ends of all windows as progressions, none contained in another."""
    progressions = {
        (window.slide, instant % window.slide)
        for window in windows
        for instant in (window.offset, window.offset + window.size)
    }
    return distinct(Edges(period=period, phase=phase) for period, phase in progressions)


def distinct(edges: Iterable[Edges]) -> tuple[Edges, ...]:
    """Drops progressions contained in another; the shortest period comes first."""
    edges = sorted(set(edges))
    if edges and edges[0].period == edges[-1].period:
        return tuple(edges)
    kept: dict[int, dict[int, Edges]] = {}
    periods = np.empty(0, dtype=np.int64)
    for period, alike in groupby(edges, key=lambda progression: progression.period):
        finer = [kept[divisor] for divisor in periods[period % periods == 0].tolist()]
        fresh = {
            progression.phase: progression
            for progression in alike
            if not any(progression.phase % next(iter(f.values())).period in f for f in finer)
        }
        if fresh:
            kept[period] = fresh
            periods = np.append(periods, period)
    return tuple(progression for alike in kept.values() for progression in alike.values())


def grid(edges: Iterable[Edges]) -> Edges:
    """Returns the coarsest single progression that includes all the edges."""
    edges = tuple(edges)
    if not edges:
        raise PlanError("there is no window to cut for")
    first = edges[0]
    step = 0
    for progression in edges:
        step = gcd(step, progression.period, progression.phase - first.phase)
    return Edges(period=step, phase=first.phase)


def composite_slide(edges: Iterable[Edges]) -> int:
    """Returns the time after which the edges repeat (Weave Share, section 4.1)."""
    return lcm(*(progression.period for progression in edges))


def meet(a: Edges, b: Edges) -> Edges | None:
    """Returns the edges that two progressions share, by the Chinese remainder theorem, or None."""
    common = gcd(a.period, b.period)
    apart, rest = divmod(b.phase - a.phase, common)
    if rest:
        return None
    stride = b.period // common
    steps = apart * pow(a.period // common, -1, stride) % stride
    return Edges(period=a.period * stride, phase=a.phase + a.period * steps)


def count_by_bit_set(edges: Iterable[Edges]) -> int:
    """Counts the distinct edges in one composite slide, laid out in steps of the grid.

    Weave Share, section 8: the progression with more edges is the bitmap, repeated to the new
    composite slide; the one with fewer edges probes it, and each empty place is a new edge.
    """
    edges = distinct(edges)
    cell = grid(edges)
    marks, count = bytearray(1), 0
    for progression in edges:
        stride = progression.period // cell.period
        repeats = lcm(len(marks), stride) // len(marks)
        marks, count = marks * repeats, count * repeats
        places = slice((progression.phase - cell.phase) // cell.period % stride, None, stride)
        probed = marks[places]
        count += probed.count(0)
        marks[places] = b"\x01" * len(probed)
    return count


def count_by_formula(edges: Iterable[Edges], *, most_terms: int | None = None) -> int | None:
    """Counts the distinct edges in one composite slide by F1 (Incremental MQO, equation 2).

    Inclusion and exclusion over least common multiples, with phases. Groups that meet in the same
    progression are one term, and groups that never meet are none, so the sum stays short where
    periods divide each other. Returns None if it needs more than `most_terms` terms.
    """
    edges = distinct(edges)
    terms: dict[Edges, int] = {}
    for progression in edges:
        changes = {progression: 1}
        for term, sign in terms.items():
            shared = meet(term, progression)
            if shared is not None:
                changes[shared] = changes.get(shared, 0) - sign
        for term, change in changes.items():
            sign = terms.get(term, 0) + change
            if sign:
                terms[term] = sign
            else:
                terms.pop(term, None)
        if most_terms is not None and len(terms) > most_terms:
            return None
    period = composite_slide(edges)
    return sum(sign * (period // term.period) for term, sign in terms.items())


def estimated_rate(edges: Iterable[Edges]) -> float:
    """Estimates the distinct edges per microsecond where counting takes too long.

    Each progression adds the share of its edges that no earlier one hits, as if hits by several
    were independent. Of very many progressions, only every n-th is computed.
    """
    edges = distinct(edges)
    unit = grid(edges)
    periods = np.array([progression.period // unit.period for progression in edges])
    phases = np.array([(progression.phase - unit.phase) // unit.period for progression in edges])
    rate = 0.0
    step = -(-len(periods) // _MOST_ESTIMATED)
    for index in range(len(periods) - 1, -1, -step):
        period = int(periods[index])
        common = np.gcd(periods[:index], period)
        meets = (phases[:index] - phases[index]) % common == 0
        rate += float(np.prod(1 - meets * common / periods[:index])) / period
    return rate * step / unit.period


def edge_rate(edges: Iterable[Edges]) -> float:
    """Returns the distinct edges per second of event time, counted if possible, else estimated."""
    edges = distinct(edges)
    if edges[0].period == edges[-1].period:
        return SECOND * len(edges) / edges[0].period
    period = composite_slide(edges)
    slots = period // grid(edges).period
    count = None
    if slots > _SHORT_COMPOSITE:
        count = count_by_formula(edges, most_terms=_MOST_TERMS)
    if count is None and slots <= _LARGEST_COMPOSITE:
        count = count_by_bit_set(edges)
    return SECOND * (estimated_rate(edges) if count is None else count / period)


@dataclass(frozen=True, kw_only=True)
class SlicesCost:
    """What slices cost, by which a slicing is chosen where the user names none."""

    prices: Prices
    # Events per second, and live keys.
    rate: float
    keys: float
    # The operations of the windows, or of other slices, on a partial.
    combines: float

    def of(self, progressions: int, per_second: float) -> float:
        """Returns the cost of slices, by their number per second and that of their progressions."""
        model = MODELS[self.prices.model]
        partials = model.pairs(per_second, rate=self.rate, keys=self.keys)
        found = self.prices.progression * (progressions - 1) * self.rate
        made = costs.cutting_cost(partials, self.prices, self.rate, columns=_COLUMNS)
        return found + made + self.combines * partials


def _slices_cost(workload: Workload, combines: float) -> SlicesCost:
    return SlicesCost(
        prices=workload.prices, rate=workload.rate, keys=workload.keys, combines=combines
    )


def slicing(windows: Sequence[Window], workload: Workload) -> Slicing:
    """Returns the slices of windows: those that the user named, or else the cheaper ones of panes
    and pairs.

    Under `cutty`, only windows that pairs would cut in the same way are given to it.
    """
    name = workload.options.slicing
    if name is not None:
        return panes(windows) if name == "panes" else pairs(windows)
    read = sum(min(window.overlap, QUEUE_COMBINES) for window in windows)
    return _cheaper_slicing(edges_of(windows), _slices_cost(workload, read))


def common_slicing(slicings: Iterable[Slicing], workload: Workload | None = None) -> Slicing:
    """Returns slices cut at every edge of some slicings: on a grid if the user named panes, or if
    that is cheaper for a workload."""
    slicings = list(dict.fromkeys(slicings))
    if len(slicings) == 1:
        return slicings[0]
    every = distinct(edge for slicing in slicings for edge in slicing.edges)
    name = None if workload is None else workload.options.slicing
    if name == "panes":
        return _panes_at(every)
    if name is not None:
        return _pairs_at(every)
    if workload is None:
        cost = SlicesCost(prices=SHIPPED, rate=ASSUMED_RATE, keys=ASSUMED_KEYS, combines=0.0)
    else:
        cost = _slices_cost(workload, workload.prices.folded * len(slicings))
    return _cheaper_slicing(every, cost)


@lru_cache(_MOST_REMEMBERED)
def _cheaper_slicing(edges: tuple[Edges, ...], cost: SlicesCost) -> Slicing:
    """Returns panes, or pairs if the slices that they save are worth more than finding them."""
    uniform = _panes_at(edges)
    least = cost.of(1, uniform.rate)
    densest = edge_rate(sorted(edges)[:_FEW_PROGRESSIONS])
    if uniform.rate <= densest or least <= cost.of(len(edges), densest):
        return uniform
    exact = _pairs_at(edges)
    return exact if cost.of(len(edges), exact.rate) < least else uniform


def _panes_at(edges: tuple[Edges, ...]) -> Slicing:
    cell = grid(edges)
    return Slicing(edges=(cell,), rate=SECOND / cell.period)


@lru_cache(_MOST_REMEMBERED)
def _pairs_at(edges: tuple[Edges, ...]) -> Slicing:
    return Slicing(edges=edges, rate=edge_rate(edges))


def panes(windows: Iterable[Window]) -> Slicing:
    """Cuts into slices of one width that fit every begin and every end."""
    return _panes_at(edges_of(windows))


def pairs(windows: Iterable[Window]) -> Slicing:
    """Cuts at every begin and every end only: at most two cuts per slide and window."""
    return _pairs_at(edges_of(windows))


def begins(windows: Iterable[Window]) -> Slicing:
    """Cuts at every begin only, as Cutty does.

    An end is then answered from a slice that is still open. Stored slices cannot do that, so
    windows whose size is no multiple of their slide read records (`Workload.reads_slices`).
    """
    return _pairs_at(
        distinct(Edges(period=window.slide, phase=window.offset) for window in windows)
    )


SLICINGS: dict[str, Callable[[Iterable[Window]], Slicing]] = {
    "panes": panes,
    "pairs": pairs,
    "cutty": begins,
}


def slicing_by_name(name: str) -> Callable[[Iterable[Window]], Slicing]:
    """Returns the function of a slicing; raises an error if there is none of that name."""
    if name not in SLICINGS:
        raise PlanError(f"no slicing is called {name!r}; {nearest(name, list(SLICINGS))}")
    return SLICINGS[name]


def partials_per_window(slicing: str, window: Window) -> int:
    """Returns how many partials make up one interval of a window (Incremental MQO, table 1)."""
    slicing_by_name(slicing)
    whole, rest = divmod(window.size, window.slide)
    if not rest:
        return whole
    if slicing == "panes":
        return window.size // gcd(window.size, window.slide)
    return 2 * whole + 1 if slicing == "pairs" else whole + 1
