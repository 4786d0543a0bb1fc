"""Where to cut: the edges of many windows as few progressions, and how many there are."""

from collections.abc import Iterable
from itertools import groupby
from math import gcd, lcm

import numpy as np

from muntin.errors import PlanError
from muntin.model.plan import Edges, Slicing
from muntin.model.time import SECOND
from muntin.model.windows.window import Window

# A composite slide of this many slots is laid out at once; up to the second figure it is laid out
# where the formula grows too long.
_SHORT_COMPOSITE = 1 << 12
_LARGEST_COMPOSITE = 1 << 22
# Terms of inclusion and exclusion after which the formula gives up.
_MOST_TERMS = 1 << 10
# Progressions whose share an estimate works out, at most.
_MOST_ESTIMATED = 1 << 11
# Finding the latest edge costs a division per progression and event. A grid costs one, so up to
# this factor finer, or in place of more progressions than the second figure, the grid is cheaper.
_GRID_FACTOR = 2.0
_FEW_PROGRESSIONS = 8
_MOST_PROGRESSIONS = 32


def edges_of(windows: Iterable[Window]) -> tuple[Edges, ...]:
    """The begins and ends of all windows as progressions, none inside another."""
    found = {
        (window.slide, instant % window.slide)
        for window in windows
        for instant in (window.offset, window.offset + window.size)
    }
    return distinct(Edges(period=period, phase=phase) for period, phase in found)


def distinct(edges: Iterable[Edges]) -> tuple[Edges, ...]:
    """The same edges without the progressions that lie inside another; shortest period first."""
    edges = sorted(set(edges))
    if edges and edges[0].period == edges[-1].period:
        return tuple(edges)
    kept: dict[int, dict[int, Edges]] = {}
    periods = np.empty(0, dtype=np.int64)
    for period, alike in groupby(edges, key=lambda one: one.period):
        finer = [kept[divisor] for divisor in periods[period % periods == 0].tolist()]
        fresh = {
            one.phase: one
            for one in alike
            if not any(one.phase % next(iter(f.values())).period in f for f in finer)
        }
        if fresh:
            kept[period] = fresh
            periods = np.append(periods, period)
    return tuple(one for alike in kept.values() for one in alike.values())


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


def composite_slide(edges: Iterable[Edges]) -> int:
    """The time after which the edges repeat (Weave Share, section 4.1)."""
    return lcm(*(one.period for one in edges))


def meet(one: Edges, other: Edges) -> Edges | None:
    """The edges that two progressions have in common, by the Chinese remainder theorem."""
    common = gcd(one.period, other.period)
    apart, rest = divmod(other.phase - one.phase, common)
    if rest:
        return None
    stride = other.period // common
    steps = apart * pow(one.period // common, -1, stride) % stride
    return Edges(period=one.period * stride, phase=one.phase + one.period * steps)


def count_by_bit_set(edges: Iterable[Edges]) -> int:
    """Distinct edges in one composite slide, laid out in steps of the grid.

    Weave Share, section 8: the progression with more edges is the bitmap, repeated to the new
    composite slide; the one with fewer edges probes it, and each empty place is a new edge.
    """
    edges = distinct(edges)
    cell = grid(edges)
    marks, count = bytearray(1), 0
    for one in edges:
        stride = one.period // cell.period
        repeats = lcm(len(marks), stride) // len(marks)
        marks, count = marks * repeats, count * repeats
        places = slice((one.phase - cell.phase) // cell.period % stride, None, stride)
        probed = marks[places]
        count += probed.count(0)
        marks[places] = b"\x01" * len(probed)
    return count


def count_by_formula(edges: Iterable[Edges], *, most_terms: int | None = None) -> int | None:
    """Distinct edges in one composite slide by F1 (Incremental MQO, equation 2), with phases.

    Inclusion and exclusion over least common multiples. Groups that meet in the same progression
    are one term, and groups that never meet are none, so the sum stays short where periods divide
    each other. None where it would hold more than `most_terms` terms.
    """
    edges = distinct(edges)
    terms: dict[Edges, int] = {}
    for one in edges:
        changes = {one: 1}
        for term, sign in terms.items():
            shared = meet(term, one)
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
    """Distinct edges per microsecond where counting is out of reach.

    Each progression adds the share that no earlier one hits. Single hits are exact; that several
    hit is taken to be independent. Of very many, every so manieth stands for its neighbours.
    """
    edges = distinct(edges)
    unit = grid(edges)
    periods = np.array([one.period // unit.period for one in edges])
    phases = np.array([(one.phase - unit.phase) // unit.period for one in edges])
    rate = 0.0
    step = -(-len(periods) // _MOST_ESTIMATED)
    for index in range(len(periods) - 1, -1, -step):
        period = int(periods[index])
        common = np.gcd(periods[:index], period)
        meets = (phases[:index] - phases[index]) % common == 0
        rate += float(np.prod(1 - meets * common / periods[:index])) / period
    return rate * step / unit.period


def edge_rate(edges: Iterable[Edges]) -> float:
    """Distinct edges per second of event time: counted where that is possible, else estimated."""
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


def slicing(windows: Iterable[Window]) -> Slicing:
    """Slices cut at every begin and end: on a grid where that is cheaper, else exactly there."""
    edges = edges_of(windows)
    cell = grid(edges)
    uniform = Slicing(edges=(cell,), rate=SECOND / cell.period)
    # A few of the edges may be enough to tell that a grid is not much finer than all of them.
    densest = sorted(edges)[:_FEW_PROGRESSIONS]
    if len(edges) > _MOST_PROGRESSIONS or uniform.rate <= _GRID_FACTOR * edge_rate(densest):
        return uniform
    rate = edge_rate(edges)
    return uniform if uniform.rate <= _GRID_FACTOR * rate else Slicing(edges=edges, rate=rate)
