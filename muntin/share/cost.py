"""The cost model: combine operations per second of event time, over all keys."""

from math import expm1

from muntin.model.plan import Node, Slicing
from muntin.model.query import Query
from muntin.model.time import SECOND
from muntin.model.window import Window

# Combines per partial read, amortised: two stacks need three, subtraction two
# (Incremental MQO, table 2). `best` may be either, so it is costed as the dearer.
OPERATIONS_PER_PARTIAL = 3.0


def occupied(per_second: float, *, rate: float, keys: float) -> float:
    """How many (key, interval) pairs per second hold an event, for `per_second` intervals a key.

    Events are taken to fall on keys and time evenly at random.
    """
    cells = per_second * keys
    return cells * -expm1(-rate / cells)


def cut_cost(*, rate: float) -> float:
    """Lifting every event into its slice: once per tree (λ in Weave Share, equation 1)."""
    return rate


def node_cost(window: Window, aggregates: int, reads: float, *, rate: float, keys: float) -> float:
    """Turning `reads` partials per second into answers, for each aggregate, and handing them out."""
    answers = occupied(SECOND / window.slide, rate=rate * window.overlap, keys=keys)
    return aggregates * OPERATIONS_PER_PARTIAL * reads + answers


def partials_per_second(source: Slicing | Node, *, rate: float, keys: float) -> float:
    """How many partials a node reads per second, from the slices or from another node."""
    if isinstance(source, Slicing):
        return occupied(source.rate, rate=rate, keys=keys)
    window = source.window
    return occupied(SECOND / window.slide, rate=rate * window.overlap, keys=keys)


def plain_cost(queries: tuple[Query, ...], *, rate: float) -> float:
    """What Spark does unaided: every event into every window that holds it, once per query."""
    return sum(rate * query.window.overlap * len(query.aggregates) for query in queries)
