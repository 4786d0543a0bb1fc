"""The cost model: what a plan spends per second of event time, in combine operations, all keys.

Four things are paid for: events cut into slices, once per tree; partials handed from Spark to the
runtime, one per live (key, slice) pair; combines; and answers handed back.
"""

from dataclasses import dataclass
from math import expm1

from muntin.model.plan import Slicing
from muntin.model.time import SECOND
from muntin.model.window import Window

# Combines per partial read, amortised: two stacks need three, subtraction two
# (Incremental MQO, table 2). `best` may be either, so it is costed as the dearer.
OPERATIONS_PER_PARTIAL = 3.0


@dataclass(frozen=True, kw_only=True)
class Prices:
    """What each thing costs, in compiled combines of some three nanoseconds.

    Measured on Spark 4.3: 10M events cut in 2.4 s on two cores, 1.7M partials and their answers
    in 1.9 s, and 0.2 microseconds for each copy of an event that a plain hopping window makes.
    """

    event: float = 150.0
    partial: float = 250.0
    combine: float = 1.0
    answer: float = 250.0
    # A partial of a factor window, which stays in the runtime.
    kept: float = 5.0
    # An event copied into one more window, by Spark unaided.
    copy: float = 60.0


PRICES = Prices()


def occupied(per_second: float, *, rate: float, keys: float) -> float:
    """How many (key, interval) pairs per second hold an event, for `per_second` intervals a key.

    Events are taken to fall on keys and time evenly at random.
    """
    cells = per_second * keys
    return cells * -expm1(-rate / cells)


def partials_per_second(source: Slicing | Window, *, rate: float, keys: float) -> float:
    """How many partials the slices, or the intervals of a window, give per second."""
    if isinstance(source, Slicing):
        return occupied(source.rate, rate=rate, keys=keys)
    return occupied(SECOND / source.slide, rate=rate * source.overlap, keys=keys)


def cut_cost(slicing: Slicing, *, rate: float, keys: float, prices: Prices = PRICES) -> float:
    """Lifting every event into its slice (λ in Weave Share, equation 1) and handing slices over."""
    handed = partials_per_second(slicing, rate=rate, keys=keys)
    return prices.event * rate + prices.partial * handed


def operations_per_partial(source: Slicing | Window, window: Window) -> float:
    """Combines for each partial read: as often as windows hold it, but never more than a queue."""
    if isinstance(source, Slicing):
        return min(OPERATIONS_PER_PARTIAL, window.overlap)
    held = source.multiplier(window) * source.slide / window.slide
    return min(OPERATIONS_PER_PARTIAL, held)


def node_cost(
    window: Window,
    aggregates: int,
    source: Slicing | Window,
    *,
    queries: int,
    rate: float,
    keys: float,
    prices: Prices = PRICES,
) -> float:
    """Turning the partials of a source into those of a window, and answering its queries."""
    read = partials_per_second(source, rate=rate, keys=keys)
    combines = aggregates * operations_per_partial(source, window) * read
    made = partials_per_second(window, rate=rate, keys=keys)
    return prices.combine * combines + made * (prices.answer * queries or prices.kept)


def plain_cost(
    window: Window, aggregates: int, *, rate: float, keys: float, prices: Prices = PRICES
) -> float:
    """What Spark does for one query unaided: every event into every window that holds it."""
    copied = prices.copy * window.overlap * aggregates
    answers = prices.answer * partials_per_second(window, rate=rate, keys=keys)
    return rate * (prices.event + copied) + answers
