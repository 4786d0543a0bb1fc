"""The cost model: combine operations of a plan per second of event time, for all keys.

A plan pays for four things: events cut into slices, once per tree; partials handed from Spark to
the runtime, one per live (key, slice) pair; combines; and answers handed back. The workload has the
rate, the live keys, the prices and the name of the cost functions. At a fixed ratio of rate to
keys, costs are proportional to the keys.
"""

from collections.abc import Collection, Iterable

from muntin.aggregates.aggregate import Aggregate, Component
from muntin.model.data_windows import DataWindow, Session
from muntin.model.prices import Prices
from muntin.model.query import Grouping
from muntin.model.time import SECOND
from muntin.model.windows import Slicing, Window
from muntin.model.workload import Workload
from muntin.optimizer.cost_models import model_of


def pairs(per_second: float, workload: Workload, *, rate: float, keys: float) -> float:
    """Returns how many (key, interval) pairs per second hold an event, of `per_second` a key."""
    return model_of(workload).pairs(per_second, rate=rate, keys=keys)


def partials_per_second(source: Slicing | Window, workload: Workload) -> float:
    """Returns how many partials the slices, or the intervals of a window, give per second."""
    return model_of(workload).partials_per_second(source, workload)


def cut_cost(slicing: Slicing, workload: Workload, *, columns: int) -> float:
    """Returns the cost of cutting events into slices (λ in Weave Share) and handing these over.

    Spark's GROUP BY makes them, or the compiled slicer where that is cheaper, which needs so many
    `columns` of an event.
    """
    prices, rate = workload.prices, workload.rate
    handed = partials_per_second(slicing, workload)
    found = slicing.further_progressions * prices.progression * rate
    return found + cutting_cost(handed, prices, rate, columns=columns)


def cutting_cost(handed: float, prices: Prices, rate: float, *, columns: int) -> float:
    """Returns the cost of reading events and of handing over `handed` partials per second."""
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


def combine_cost(
    source: Slicing | Window,
    window: Window,
    aggregates: Collection[Aggregate],
    workload: Workload,
) -> float:
    """Returns the cost of combining a source's partials into those of a window."""
    others = [aggregate for aggregate in aggregates if not aggregate.sets_of_values]
    model = model_of(workload)
    combined = model.combines_per_second(source, window, others, workload) if others else 0.0
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
    live = workload.pairs_of(component.value_in_set)
    if live is None:
        return events
    per_second = source.rate if isinstance(source, Slicing) else SECOND / source.slide
    return model_of(workload).pairs(per_second, rate=events, keys=live)


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
    read = prices.event + prices.counted * _sets_counted(aggregates)
    return read * workload.rate, prices.group * partials_per_second(window, workload)


def plain_cost(window: Window, aggregates: Collection[Aggregate], workload: Workload) -> float:
    """Returns the cost of one query in plain Spark, which copies events into all their windows."""
    prices = workload.prices
    copied = prices.copy * max(0.0, window.overlap - 1) * max(1, len(aggregates))
    counted = prices.counted * window.overlap * _sets_counted(aggregates)
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


def _sets_counted(aggregates: Collection[Aggregate]) -> int:
    """Returns for how many aggregates Spark puts values into sets."""
    return sum(bool(aggregate.sets_of_values) for aggregate in aggregates)
