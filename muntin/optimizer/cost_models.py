"""The cost functions that a price table may name (`Prices.model`): the runtime's own, and those of
the papers.

Strategies and `costs` ask the model of a workload; they do not know which one it is.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import expm1, lcm

import numpy as np

from muntin.aggregates.aggregate import Aggregate
from muntin.model.prices import OVERLAP, RUNTIME, WINDOW_READS
from muntin.model.time import SECOND
from muntin.model.windows import SEARCH_COMBINES, Slicing, Window
from muntin.model.workload import Workload
from muntin.optimizer.operations import steady_operations

# Above this period, rates are used instead.
_LONGEST_PERIOD = 1 << 53
# The sizes that the runtime's own model tries for each slide of a factor window.
_SIZES_PER_SLIDE = 16


def harmless(aggregates: Collection[Aggregate]) -> bool:
    """Whether all aggregates may be built from intervals that overlap."""
    return all(aggregate.definition.idempotent for aggregate in aggregates)


def windows_per_partial(source: Slicing | Window, window: Window) -> float:
    """Returns how many windows read one partial of the source, on average."""
    if isinstance(source, Slicing):
        return window.overlap
    return source.multiplier(window) * source.slide / window.slide


def live_pairs(per_second: float, *, rate: float, keys: float) -> float:
    """Returns how many (key, interval) pairs per second hold an event, of `per_second` a key.

    Events are assumed to fall on keys and time uniformly at random.
    """
    cells = per_second * keys
    return cells * -expm1(-rate / cells)


class CostModel:
    """The runtime's own cost functions: they count what the runtime does."""

    # The technique whose Ω Weave Share and TriWeave count; None: the one that will run.
    technique: str | None = None
    # Whether a factor window that does not pay beside the others is removed again.
    prunes: bool = True

    def pairs(self, per_second: float, *, rate: float, keys: float) -> float:
        """Returns how many (key, interval) pairs give a partial per second."""
        return live_pairs(per_second, rate=rate, keys=keys)

    def intervals_read(self, parent: Window, window: Window, *, is_harmless: bool) -> int:
        """Returns how many intervals of its parent a window reads."""
        return parent.fewest_count(window) if is_harmless else parent.multiplier(window)

    def steps_to_try(self, first: int, last: int, excluded: int) -> Iterable[int]:
        """Returns which sizes of a factor window to try, of `first` to `last` times its slide.

        At most `excluded` of the sizes are those of other windows, and are not possible.
        """
        steps = np.unique(np.linspace(first, last, _SIZES_PER_SLIDE).astype(np.int64))
        return [step for step in steps.tolist() if step <= last]

    def partials_per_second(self, source: Slicing | Window, workload: Workload) -> float:
        """Returns how many partials the slices, or the intervals of a window, give per second."""
        rate, keys = workload.rate, workload.keys
        if isinstance(source, Slicing):
            return self.pairs(source.rate, rate=rate, keys=keys)
        return self.pairs(SECOND / source.slide, rate=rate * source.overlap, keys=keys)

    def operations_per_partial(
        self, source: Slicing | Window, window: Window, aggregates: Collection[Aggregate]
    ) -> float:
        """Returns the combines for each partial read, for all aggregates.

        A partial is combined once for each window that holds it, but not more often than a queue
        does. Where overlap is harmless, it may be enough to read a few partials. A window that
        grows goes on from the one before it, so it needs each partial once.
        """
        if window.grows:
            return float(len(aggregates))
        times = windows_per_partial(source, window)
        if (
            isinstance(source, Window)
            and source.is_worth_picking_for(window)
            and harmless(aggregates)
        ):
            few = SEARCH_COMBINES * source.fewest_count(window) * source.slide / window.slide
            return few * len(aggregates)
        return sum(min(times, steady_operations(aggregate.function)) for aggregate in aggregates)

    def combines_per_second(
        self,
        source: Slicing | Window,
        window: Window,
        aggregates: Collection[Aggregate],
        workload: Workload,
    ) -> float:
        """Returns the combines per second of a window that reads a source."""
        read = self.partials_per_second(source, workload)
        return read * self.operations_per_partial(source, window, aggregates)


class OverlapModel(CostModel):
    """E·Ω, where Ω is the sum of size by slide (Weave Share, equations 1 and 2).

    Every key has a partial in every slice, and every window combines all partials that it holds.
    """

    technique = "panes"

    def pairs(self, per_second: float, *, rate: float, keys: float) -> float:
        """Returns the intervals of all keys, with events or without."""
        return per_second * keys

    def operations_per_partial(
        self, source: Slicing | Window, window: Window, aggregates: Collection[Aggregate]
    ) -> float:
        """Returns how many windows hold a partial, for all aggregates."""
        return windows_per_partial(source, window) * len(aggregates)


class WindowReadsModel(OverlapModel):
    """nᵢ·μᵢ: what each window reads, of the events or of another window (Factor Windows)."""

    prunes = False

    def intervals_read(self, parent: Window, window: Window, *, is_harmless: bool) -> int:
        """Returns the covering multiplier (theorem 3)."""
        return parent.multiplier(window)

    def steps_to_try(self, first: int, last: int, excluded: int) -> Iterable[int]:
        """Returns sizes of which one has the greatest benefit of all (algorithm 2).

        Equation 2 is a convex function of the size, so that is the least or the greatest possible
        size.
        """
        near = range(first, min(last, first + excluded) + 1)
        far = range(last, max(first, last - excluded) - 1, -1)
        return dict.fromkeys((*near, *far))

    def combines_per_second(
        self,
        source: Slicing | Window,
        window: Window,
        aggregates: Collection[Aggregate],
        workload: Workload,
    ) -> float:
        """Returns the reads of a window per second; one that reads slices reads the events."""
        reads = _reads_of(workload, self)
        parent = source if isinstance(source, Window) else None
        spent = reads.cost(window, parent, is_harmless=True) / (reads.period or 1)
        return spent * SECOND * workload.keys * len(aggregates)


MODELS: dict[str, CostModel] = {
    RUNTIME: CostModel(),
    OVERLAP: OverlapModel(),
    WINDOW_READS: WindowReadsModel(),
}


def model_of(workload: Workload) -> CostModel:
    """Returns the cost model that a workload's prices name."""
    return MODELS[workload.prices.model]


def recurrence(window: Window, period: int) -> float:
    """Returns how many intervals of a window lie in a period (Factor Windows, equation 1)."""
    return 1 + (period - window.size) / window.slide


def common_period(windows: Iterable[Window]) -> int | None:
    """Returns the least common multiple of the sizes, or None if rates must be used instead.

    That is if a size is not a multiple of its slide, which the paper leaves out, or if the period
    is too long.
    """
    windows = tuple(windows)
    if any(window.size % window.slide for window in windows):
        return None
    period = lcm(*(window.size for window in windows))
    return period if period <= _LONGEST_PERIOD else None


@dataclass(frozen=True, kw_only=True)
class WindowReads:
    """What windows read per period, or per microsecond if there is no period (equation 1)."""

    # η: events per microsecond and key.
    eta: float
    period: int | None
    model: CostModel = MODELS[RUNTIME]

    def recurrence(self, window: Window) -> float:
        """Returns how often a window is computed (nᵢ)."""
        return 1 / window.slide if self.period is None else recurrence(window, self.period)

    def instance(self, window: Window, parent: Window | None, *, is_harmless: bool) -> float:
        """Returns how much is read to compute a window once (μᵢ, observation 1)."""
        if parent is None:
            return self.eta * window.size
        return self.model.intervals_read(parent, window, is_harmless=is_harmless)

    def cost(self, window: Window, parent: Window | None, *, is_harmless: bool) -> float:
        """Returns nᵢ·μᵢ."""
        return self.recurrence(window) * self.instance(window, parent, is_harmless=is_harmless)

    def total(
        self, parents: Mapping[Window, Window | None], is_harmless: Callable[[Window], bool]
    ) -> float:
        """Returns the cost of windows that read their parents."""
        return sum(
            self.cost(window, parent, is_harmless=is_harmless(window))
            for window, parent in parents.items()
        )


def window_reads(windows: Iterable[Window], workload: Workload) -> WindowReads:
    """Returns the reads of windows at a workload's rate, by its cost model."""
    return WindowReads(
        eta=workload.rate / workload.keys / SECOND,
        period=common_period(windows),
        model=model_of(workload),
    )


@lru_cache(64)
def _reads_of(workload: Workload, model: CostModel) -> WindowReads:
    return window_reads((query.periodic_window for query in workload.periodic_queries), workload)
