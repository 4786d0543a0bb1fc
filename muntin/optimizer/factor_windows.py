"""Factor windows: windows that no query asked for, added because others read them.

Factor Windows, section IV. Equations and algorithms are numbered as there.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import gcd, isqrt

from muntin.model.plan import Plan
from muntin.model.time import MILLISECOND, SECOND
from muntin.model.windows import Window
from muntin.model.workload import Workload
from muntin.optimizer.cost_models import WindowReads
from muntin.optimizer.coverage import (
    Forest,
    Harmless,
    choices,
    may_read,
    min_cost_forest,
    plan_by_forest,
)


@lru_cache(maxsize=4096)
def divisors(number: int) -> tuple[int, ...]:
    """Returns all divisors, ascending."""
    low = [d for d in range(1, isqrt(number) + 1) if number % d == 0]
    return tuple(dict.fromkeys((*low, *(number // d for d in reversed(low)))))


def virtual_root(windows: Sequence[Window]) -> Window:
    """Returns S, which stands for the stream: the tumbling window of one time unit."""
    for unit in (SECOND, MILLISECOND):
        if all(w.size % unit == w.slide % unit == w.offset % unit == 0 for w in windows):
            return Window(size=unit, slide=unit)
    return Window(size=1, slide=1)


def benefit(
    factor: Window,
    source: Window | None,
    downstream: Sequence[Window],
    reads: WindowReads,
    *,
    is_harmless: bool,
) -> float:
    """Returns δ of a factor window that reads a source (None: the stream) (equation 2)."""
    saved = sum(
        reads.cost(window, source, is_harmless=is_harmless)
        - reads.cost(window, factor, is_harmless=is_harmless)
        for window in downstream
    )
    return saved - reads.cost(factor, source, is_harmless=is_harmless)


def helps(factor: Window, target: Window, downstream: Sequence[Window], period: int) -> bool:
    """Algorithm 4: whether a tumbling factor window over a tumbling target pays."""
    if len(downstream) >= 2:
        return True
    (window,) = downstream
    overlap = window.size // window.slide
    multiplicity = period // window.size
    if overlap == 1 or multiplicity == 1:
        return False
    if overlap >= 3 and multiplicity >= 3:
        return True
    least = 1 + multiplicity / ((multiplicity - 1) * (overlap - 1))
    return factor.size / target.size >= least


def tumbling_candidates(target: Window, downstream: Sequence[Window]) -> list[Window]:
    """Returns the tumbling windows between a target and its downstream (algorithm 5, line 6).

    The paper's ranges are multiples of their slides. In general the slides and the distances
    between offsets must be multiples too.
    """
    first = downstream[0]
    widest = 0
    for window in downstream:
        widest = gcd(widest, window.size, window.slide, window.offset - first.offset)
    if widest % target.size or (first.offset - target.offset) % target.size:
        return []
    windows = (
        Window(size=unit * target.size, slide=unit * target.size, offset=first.offset)
        for unit in divisors(widest // target.size)
    )
    return [window for window in windows if window != target]


def best_partitioning(
    target: Window, downstream: Sequence[Window], reads: WindowReads, *, is_stream: bool
) -> Window | None:
    """Algorithm 5: returns the best tumbling factor window, or None."""
    source = None if is_stream else target

    def pays(factor: Window) -> bool:
        # Algorithm 4 assumes that each read from the target costs one; events do only at η = 1.
        if reads.period is not None and source is not None:
            return helps(factor, target, downstream, reads.period)
        return benefit(factor, source, downstream, reads, is_harmless=False) > 0

    paying = [factor for factor in tumbling_candidates(target, downstream) if pays(factor)]
    # A candidate that covers another one is dominated by it (section IV-D).
    independent = [
        factor
        for factor in paying
        if not any(other != factor and factor.covers(other) for other in reversed(paying))
    ]
    return max(
        independent,
        key=lambda factor: benefit(factor, source, downstream, reads, is_harmless=False),
        default=None,
    )


def best_covering(
    target: Window, downstream: Sequence[Window], reads: WindowReads, *, is_stream: bool
) -> Window | None:
    """Algorithm 2: returns the best factor window where overlap is harmless, or None.

    Beyond the paper, sizes need not be multiples of slides: those of the downstream must only leave
    the same remainder. The cost model chooses the sizes to try.
    """
    first = downstream[0]
    widest = 0
    for window in downstream:
        widest = gcd(widest, window.slide, window.offset - first.offset)
    if widest % target.slide or (first.offset - target.offset) % target.slide:
        return None
    shortest = min(window.shortest for window in downstream)
    source = None if is_stream else target
    best, most = None, 0.0
    for unit in divisors(widest // target.slide):
        slide = unit * target.slide
        rest = first.size % slide
        if any(window.size % slide != rest for window in downstream):
            continue
        # A factor window is at least as wide as the target, and fits into every reader.
        least = max(1, -((rest - target.size) // slide))
        for step in _steps(least, (shortest - rest) // slide, downstream, reads):
            factor = Window(size=rest + step * slide, slide=slide, offset=first.offset)
            if factor in downstream or factor == target or not target.covers(factor):
                continue
            gain = benefit(factor, source, downstream, reads, is_harmless=True)
            if gain > most:
                best, most = factor, gain
    return best


def _steps(
    least: int, most: int, downstream: Sequence[Window], reads: WindowReads
) -> Iterable[int]:
    """Returns the sizes to try as multiples of a slide."""
    # The downstream and the target are no factor windows.
    excluded = len(downstream) + 1
    return reads.model.steps_to_try(least, most, excluded) if least <= most else ()


def with_factor_windows(
    windows: Sequence[Window],
    reads: WindowReads,
    is_harmless: Harmless,
    *,
    root: Window | None = None,
) -> Forest:
    """Algorithm 3: returns the min-cost forest with the factor windows that pay in it."""
    asked = sorted(set(windows))
    root = root or virtual_root(asked)
    # S has an edge to each window that nothing else covers.
    targets = {
        root: [
            window
            for window in asked
            if window != root and not any(may_read(other, window, is_harmless) for other in asked)
        ]
    }
    for target in asked:
        below = [window for window in asked if may_read(target, window, is_harmless)]
        targets.setdefault(target, []).extend(below)
    added: set[Window] = set()
    for target, downstream in targets.items():
        is_stream = target == root and root not in asked
        safe = [window for window in downstream if is_harmless(window)]
        factors = []
        if safe:
            factors.append(best_covering(target, safe, reads, is_stream=is_stream))
        if len(safe) < len(downstream) and target.is_tumbling:
            factors.append(best_partitioning(target, downstream, reads, is_stream=is_stream))
        added |= {factor for factor in factors if factor is not None and factor not in asked}
    if not reads.model.prunes:
        return min_cost_forest((*asked, *added), reads, is_harmless)
    return without_idle(asked, added, reads, is_harmless)


def without_idle(
    asked: Sequence[Window], added: set[Window], reads: WindowReads, is_harmless: Harmless
) -> Forest:
    """Returns the min-cost forest over the asked windows and the added ones that pay."""
    graph = choices((*asked, *added), reads, is_harmless)
    present = set(graph)

    def offer(window: Window, left_out: Window | None = None) -> tuple[float, Window | None]:
        return next(
            (price, parent)
            for price, parent in graph[window]
            if parent is None or (parent in present and parent != left_out)
        )

    current = {window: offer(window) for window in graph}
    while True:
        # What dropping a factor window costs its readers, minus its own cost.
        loss = {factor: -current[factor][0] for factor in added & present}
        for window, (price, parent) in current.items():
            if parent in loss:
                loss[parent] += offer(window, parent)[0] - price
        dropped = min(sorted(loss), key=loss.__getitem__, default=None)
        if dropped is None or loss[dropped] > 0:
            return {window: parent for window, (_, parent) in current.items()}
        present.discard(dropped)
        del current[dropped]
        for window, (_, parent) in current.items():
            if parent == dropped:
                current[window] = offer(window)


def factor(workload: Workload) -> Plan:
    """Plans one tree per grouping, with factor windows."""
    return plan_by_forest("factor", workload, with_factor_windows)
