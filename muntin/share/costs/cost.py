"""The cost model: what a plan spends per second of event time, in combine operations, all keys.

Four things are paid for: events cut into slices, once per tree; partials handed from Spark to the
runtime, one per live (key, slice) pair; combines; and answers handed back. Rate, live keys and
prices are the workload's. Costs at one ratio of rate to keys are proportional to the keys.
"""

from collections.abc import Collection
from math import expm1

from muntin.model.aggregates.aggregate import Aggregate
from muntin.model.plan import Slicing
from muntin.model.query import Workload
from muntin.model.time import SECOND
from muntin.model.windows.window import SEARCH, Window
from muntin.share.costs.operations import steady_operations


def harmless(aggregates: Collection[Aggregate]) -> bool:
    """Whether overlap harms none of these: they may be built from intervals that share events."""
    return all(aggregate.definition.idempotent for aggregate in aggregates)


def occupied(per_second: float, *, rate: float, keys: float) -> float:
    """How many (key, interval) pairs per second hold an event, for `per_second` intervals a key.

    Events are taken to fall on keys and time evenly at random.
    """
    cells = per_second * keys
    return cells * -expm1(-rate / cells)


def partials_per_second(source: Slicing | Window, workload: Workload) -> float:
    """How many partials the slices, or the intervals of a window, give per second."""
    rate, keys = workload.rate, workload.keys
    if isinstance(source, Slicing):
        return occupied(source.rate, rate=rate, keys=keys)
    return occupied(SECOND / source.slide, rate=rate * source.overlap, keys=keys)


def cut_cost(slicing: Slicing, workload: Workload, *, may_move: bool = True) -> float:
    """Lifting every event into its slice (λ in Weave Share, equation 1) and handing slices over.

    In a stream events are never moved.
    """
    prices = workload.prices
    handed = partials_per_second(slicing, workload)
    handing = handing_cost(handed, workload) if may_move else prices.partial * handed
    return prices.event * workload.rate + handing


def handing_cost(handed: float, workload: Workload) -> float:
    """Getting so many slices per second to the runtime, the cheaper way."""
    prices = workload.prices
    return min(
        prices.partial * handed, prices.moved * workload.rate + prices.moved_partial * handed
    )


def moves_events(slicing: Slicing, workload: Workload) -> bool:
    """Whether it is cheaper to bring events to their keys' places before they are cut."""
    handed = partials_per_second(slicing, workload)
    return handing_cost(handed, workload) < workload.prices.partial * handed


def held(source: Slicing | Window, window: Window) -> float:
    """How many windows read one partial of the source, on average."""
    if isinstance(source, Slicing):
        return window.overlap
    return source.multiplier(window) * source.slide / window.slide


def operations_per_partial(
    source: Slicing | Window, window: Window, aggregates: Collection[Aggregate]
) -> float:
    """Combines for each partial read, for all aggregates.

    Each is combined as often as windows hold it, but never more than a queue does it; and where
    overlap is harmless, it may be enough to pick a few.
    """
    times = held(source, window)
    spent = sum(min(times, steady_operations(one.function)) for one in aggregates)
    if isinstance(source, Window) and source.is_worth_picking_for(window) and harmless(aggregates):
        few = SEARCH * source.fewest(window) * source.slide / window.slide
        return few * len(aggregates)
    return spent


def combine_cost(
    source: Slicing | Window,
    window: Window,
    aggregates: Collection[Aggregate],
    workload: Workload,
) -> float:
    """Combining a source's partials into those of a window."""
    read = partials_per_second(source, workload)
    return workload.prices.combine * read * operations_per_partial(source, window, aggregates)


def node_cost(
    window: Window,
    aggregates: Collection[Aggregate],
    source: Slicing | Window,
    workload: Workload,
    *,
    queries: int,
) -> float:
    """Turning the partials of a source into those of a window, and answering its queries."""
    prices = workload.prices
    made = partials_per_second(window, workload)
    given = made * (prices.answer * queries if queries else prices.kept)
    return combine_cost(source, window, aggregates, workload) + given


def alone_cost(window: Window, workload: Workload) -> tuple[float, float]:
    """Cutting and answering one query whose windows are its slices: Spark does it unaided."""
    prices = workload.prices
    return prices.event * workload.rate, prices.group * partials_per_second(window, workload)


def plain_cost(window: Window, aggregates: int, workload: Workload) -> float:
    """What Spark does for one query unaided: every event into every window that holds it."""
    prices = workload.prices
    copied = prices.copy * max(0.0, window.overlap - 1) * aggregates
    groups = prices.group * partials_per_second(window, workload)
    return workload.rate * (prices.event + copied) + groups
