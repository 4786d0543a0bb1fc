"""The cost model: combine operations of a plan per second of event time, for all keys.

A plan pays for four things: events cut into slices, once per tree; partials handed from Spark to
the runtime, one per live (key, slice) pair; combines; and answers handed back. Rate, live keys and
prices are the workload's. At a fixed ratio of rate to keys, costs are proportional to the keys.
Ω is the number of final combines per slice, by technique (Incremental MQO, section 4.1).
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cache
from math import e, expm1, factorial

import numpy as np
from numpy.typing import NDArray

from muntin.aggregates.aggregate import Aggregate, Component
from muntin.aggregates.monoids import Monoid
from muntin.aggregates.table import FUNCTIONS
from muntin.errors import PlanError, nearest
from muntin.model.data_windows import DataWindow, Session
from muntin.model.query import Grouping
from muntin.model.time import SECOND
from muntin.model.windows import SEARCH_COMBINES, Slicing, Window
from muntin.model.workload import Workload
from muntin.techniques.table import TECHNIQUES

# From this length on, the sum of inverse factorials in equation 7 no longer changes.
_LONG_DEQUE = 18


@dataclass(frozen=True, kw_only=True, eq=False)
class Load:
    """What Ω needs to know about the windows of a tree; the loads of two trees can be added."""

    # How many distinct windows there are, and the sum of their overlaps.
    count: int
    overlap: float
    # The size of each.
    sizes: NDArray[np.float64]

    def __add__(self, other: "Load") -> "Load":
        return Load(
            count=self.count + other.count,
            overlap=self.overlap + other.overlap,
            sizes=np.concatenate([self.sizes, other.sizes]),
        )

    def without(self, window: Window) -> "Load":
        """Returns the load without one of its windows."""
        place = int(np.argmax(self.sizes == window.size))
        return Load(
            count=self.count - 1,
            overlap=self.overlap - window.overlap,
            sizes=np.delete(self.sizes, place),
        )


def load_of(windows: Iterable[Window]) -> Load:
    """Returns the load of windows, each counted once."""
    distinct = dict.fromkeys(windows)
    return Load(
        count=len(distinct),
        overlap=sum(window.overlap for window in distinct),
        sizes=np.array([window.size for window in distinct], dtype=np.float64),
    )


def _partials(load: Load, rate: float) -> NDArray[np.float64]:
    """Returns Pᵢ, the partials of each window: size by the average slice, at least one."""
    return np.maximum(1.0, np.rint(load.sizes * (rate / SECOND)))


def _recalc(load: Load, rate: float) -> float:
    """Equation 3: every partial is read by each window that holds it."""
    return load.overlap


def _flat_fat(load: Load, rate: float) -> float:
    """Equation 4: the least set of inner nodes that spans the window."""
    partials = _partials(load, rate)
    partials = partials[partials > 1]
    if not partials.size:
        return 0.0
    depth = np.floor(np.log2(partials))
    return float(np.sum(np.floor(np.log2(partials - 1)) + (partials - 1) / 2**depth))


def _per_query(operations: float) -> Callable[[Load, float], float]:
    """Equation 5, and the amortised column of table 2: the same for every window."""
    return lambda load, rate: operations * load.count


def _subtract(load: Load, rate: float) -> float:
    """Equation 6: two for each running aggregate, one per distinct number of partials."""
    return 2.0 * len(np.unique(_partials(load, rate)))


def _slick_deque(load: Load, rate: float) -> float:
    """Equation 7: one deque, and one walk along it for all windows."""
    longest = max(1.0, round(float(load.sizes.max()) * rate / SECOND))
    return 2.0 - 2.0 / longest + load.count + deque_length(longest)


def deque_length(partials: float) -> float:
    """Returns the average length of a deque of candidates over random data: the sum of 1/i!."""
    if partials >= _LONG_DEQUE:
        return e - 1.0
    return sum(1.0 / factorial(i) for i in range(1, int(partials) + 1))


OPERATIONS: dict[str, Callable[[Load, float], float]] = {
    "recalc": _recalc,
    "panes": _recalc,
    "subtract": _subtract,
    "flat_fat": _flat_fat,
    "b_int": _flat_fat,
    "flat_fit": _per_query(3.0),
    "two_stacks": _per_query(3.0),
    "two_stacks_lite": _per_query(3.0),
    "daba": _per_query(5.0),
    "daba_lite": _per_query(4.0),
    "slick_deque": _slick_deque,
}

# Techniques for which Ω of two trees merged is the sum of both.
ADDITIVE = frozenset(
    {"recalc", "panes", "flat_fit", "two_stacks", "two_stacks_lite", "daba", "daba_lite"}
)


def operations_of(technique: str) -> Callable[[Load, float], float]:
    """Returns Ω of a technique, as a function of the load and the slices per second."""
    if technique not in OPERATIONS:
        raise PlanError(
            f"no technique is called {technique!r}; {nearest(technique, list(OPERATIONS))}"
        )
    return OPERATIONS[technique]


def operations_per_slice(technique: str, windows: Iterable[Window], slicing: Slicing) -> float:
    """Returns Ω of distinct windows that all read the same slices."""
    return operations_of(technique)(load_of(windows), slicing.rate)


@cache
def steady_operations(function: str) -> float:
    """Returns the fewest combines per slice of an aggregate for long windows, for any type."""
    return steady_operations_of(FUNCTIONS[function].monoids)


@cache
def steady_operations_of(monoids: tuple[Monoid, ...]) -> float:
    """Returns the fewest combines per slice, for long windows, of a technique that serves all the
    monoids."""
    if all(monoid.sweep is not None for monoid in monoids):
        # A sweep takes a step for each entry, however long windows are.
        return 1.0
    long = load_of([Window(size=1 << 40, slide=1)])
    return min(
        count(long, SECOND)
        for name, count in OPERATIONS.items()
        if all(TECHNIQUES[name].allows(monoid) for monoid in monoids)
    )


def harmless(aggregates: Collection[Aggregate]) -> bool:
    """Whether all aggregates may be built from intervals that overlap."""
    return all(aggregate.definition.idempotent for aggregate in aggregates)


def live_pairs(per_second: float, *, rate: float, keys: float) -> float:
    """Returns how many (key, interval) pairs per second hold an event, of `per_second` a key.

    Events are assumed to fall on keys and time uniformly at random.
    """
    cells = per_second * keys
    return cells * -expm1(-rate / cells)


def partials_per_second(source: Slicing | Window, workload: Workload) -> float:
    """Returns how many partials the slices, or the intervals of a window, give per second."""
    rate, keys = workload.rate, workload.keys
    if isinstance(source, Slicing):
        return live_pairs(source.rate, rate=rate, keys=keys)
    return live_pairs(SECOND / source.slide, rate=rate * source.overlap, keys=keys)


def cut_cost(slicing: Slicing, workload: Workload, *, columns: int) -> float:
    """Returns the cost of cutting events into slices (λ in Weave Share) and handing these over.

    Spark's GROUP BY makes them, or the compiled slicer where that is cheaper, which needs so many
    `columns` of an event.
    """
    return cutting_cost(partials_per_second(slicing, workload), workload, columns=columns)


def cutting_cost(handed: float, workload: Workload, *, columns: int) -> float:
    """Returns the cost of reading events and of handing over `handed` partials per second."""
    prices, rate = workload.prices, workload.rate
    grouped = prices.event * rate + prices.partial * handed
    sliced = (prices.handed + columns * prices.column + prices.sliced) * rate
    return prices.packed * handed + min(grouped, sliced)


def slicer_columns(groupings: Iterable[Grouping], aggregates: Iterable[Aggregate]) -> int:
    """Returns how many columns of an event the slicer needs: time, keys, arguments and a filter."""
    groupings = tuple(groupings)
    keys = {key for grouping in groupings for key in grouping.keys}
    arguments = {
        (argument, aggregate.where)
        for aggregate in aggregates
        if aggregate.argument is not None
        for argument in (aggregate.argument, *aggregate.others)
    }
    is_filtered = any(grouping.where is not None for grouping in groupings)
    return 1 + len(keys) + len(arguments) + is_filtered


def windows_per_partial(source: Slicing | Window, window: Window) -> float:
    """Returns how many windows read one partial of the source, on average."""
    if isinstance(source, Slicing):
        return window.overlap
    return source.multiplier(window) * source.slide / window.slide


def operations_per_partial(
    source: Slicing | Window, window: Window, aggregates: Collection[Aggregate]
) -> float:
    """Returns the combines for each partial read, for all aggregates.

    A partial is combined once for each window that holds it, but not more often than a queue does.
    Where overlap is harmless, it may be enough to read a few partials. A window that grows goes on
    from the one before it, so it needs each partial once.
    """
    if window.grows:
        return float(len(aggregates))
    times = windows_per_partial(source, window)
    spent = sum(min(times, steady_operations(aggregate.function)) for aggregate in aggregates)
    if isinstance(source, Window) and source.is_worth_picking_for(window) and harmless(aggregates):
        few = SEARCH_COMBINES * source.fewest_count(window) * source.slide / window.slide
        return few * len(aggregates)
    return spent


def combine_cost(
    source: Slicing | Window,
    window: Window,
    aggregates: Collection[Aggregate],
    workload: Workload,
) -> float:
    """Returns the cost of combining a source's partials into those of a window."""
    others = [aggregate for aggregate in aggregates if not aggregate.sets_of_values]
    read = partials_per_second(source, workload)
    combined = read * operations_per_partial(source, window, others) if others else 0.0
    swept = sum(
        values_per_second(source, component, workload) * representation.combines_per_value
        for aggregate in aggregates
        for component in aggregate.sets_of_values
        for representation in component.part.all_representations[:1]
    )
    return workload.prices.combine * (combined + swept)


def values_per_second(source: Slicing | Window, component: Component, workload: Workload) -> float:
    """Returns how many values the sets of a source's partials have per second.

    A value of a set is like a key of its own. If it is not known how many there are, each event may
    bring one that its interval does not have yet.
    """
    events = workload.rate * (1.0 if isinstance(source, Slicing) else source.overlap)
    pairs = workload.pairs_of(component.value_in_set)
    if pairs is None:
        return events
    per_second = source.rate if isinstance(source, Slicing) else SECOND / source.slide
    return live_pairs(per_second, rate=events, keys=pairs)


def node_cost(
    window: Window,
    aggregates: Collection[Aggregate],
    source: Slicing | Window,
    workload: Workload,
    *,
    queries: int,
) -> float:
    """Returns the cost of computing a window from a source, and of answering its queries."""
    prices = workload.prices
    made = partials_per_second(window, workload)
    given = made * (prices.answer * queries if queries else prices.kept)
    return combine_cost(source, window, aggregates, workload) + given


def alone_cost(
    window: Window, aggregates: Collection[Aggregate], workload: Workload
) -> tuple[float, float]:
    """Returns the costs of cutting and of answering one query whose windows are its slices."""
    prices = workload.prices
    read = prices.event + prices.counted * _counting(aggregates)
    return read * workload.rate, prices.group * partials_per_second(window, workload)


def plain_cost(window: Window, aggregates: Collection[Aggregate], workload: Workload) -> float:
    """Returns the cost of one query in plain Spark, which copies events into all their windows."""
    prices = workload.prices
    copied = prices.copy * max(0.0, window.overlap - 1) * max(1, len(aggregates))
    counted = prices.counted * window.overlap * _counting(aggregates)
    groups = prices.group * partials_per_second(window, workload)
    return workload.rate * (prices.event + copied + counted) + groups


def plain_queries_cost(workload: Workload) -> float:
    """Returns what Spark spends on the queries that it answers alone.

    One whose window is not known is counted as one reading of the events.
    """
    return sum(_plain_query_cost(query.window, workload) for query in workload.plain_queries)


def _plain_query_cost(window: Window | DataWindow | None, workload: Workload) -> float:
    prices = workload.prices
    if isinstance(window, Window):
        return plain_cost(window, (), workload)
    per_event = prices.event + (prices.group if isinstance(window, Session) else 0.0)
    return per_event * workload.rate


def _counting(aggregates: Collection[Aggregate]) -> int:
    """Returns for how many aggregates Spark puts values into sets."""
    return sum(bool(aggregate.sets_of_values) for aggregate in aggregates)
