"""DABA: two stacks whose flip is spread over the slides between (de-amortised banker's aggregator).

needs      an associative combine; order is kept
time       5 combines per slide amortised, 8 at worst
space      2n partials
windows    one
appeared   Tangwongsan, Hirzel and Schneider, DEBS 2017
"""

from typing import TYPE_CHECKING, Any

from muntin.techniques.kernels.ring import ring_length

if TYPE_CHECKING:
    from muntin.techniques.kernels.bound_names import blank, combine, load, store

# The window is cut at left ≤ right ≤ accumulated ≤ back. The aggregate at place i reaches over:
#
#   low ....... left ........ right ........ accumulated ...... back ........ high
#     [i, back)   [i, right)    [right, i]     [i, back)          [back, i]


def start(values: Any, sizes: Any) -> Any:
    """An empty window."""
    length = ring_length(sizes[-1])
    return (blank(values, length), blank(values, length)), (0, 0, 0, 0, 0, 0, length - 1)


def insert(memory: Any, cursor: Any, partial: Any) -> Any:
    """One combine for the back, then a step of the flip."""
    low, high, left, right, accumulated, back, mask = cursor
    store(memory[0], high & mask, partial)
    if high > back:
        partial = combine(load(memory[1], (high - 1) & mask), partial)
    store(memory[1], high & mask, partial)
    return _step(memory, low, high + 1, left, right, accumulated, back, mask)


def evict(memory: Any, cursor: Any) -> Any:
    """A step of the flip."""
    low, high, left, right, accumulated, back, mask = cursor
    return _step(memory, low + 1, high, left, right, accumulated, back, mask)


def query(memory: Any, cursor: Any, size: int, slot: int) -> Any:
    """One combine of the front's suffix with the back's prefix."""
    low, high, _, _, _, back, mask = cursor
    older = load(memory[1], low & mask)
    return combine(older, load(memory[1], (high - 1) & mask)) if high > back else older


def _step(
    memory: Any,
    low: int,
    high: int,
    left: int,
    right: int,
    accumulated: int,
    back: int,
    mask: int,
) -> Any:
    """Brings two places to the aggregate that they need when they are the oldest."""
    partials, aggregates = memory
    if left == back:
        # The back becomes the part [right, accumulated) of a new front, still the wrong way round.
        left = low
        right = back
        accumulated = high
        back = high
    if low < back:
        if accumulated > right:
            accumulated -= 1
            partial = load(partials, accumulated & mask)
            if accumulated + 1 < back:
                partial = combine(partial, load(aggregates, (accumulated + 1) & mask))
            store(aggregates, accumulated & mask, partial)
        if left < right:
            # [right, back) is the wrong way round up to `accumulated` and the right way after it.
            middle = load(aggregates, accumulated & mask)
            if accumulated > right:
                middle = combine(load(aggregates, (accumulated - 1) & mask), middle)
            store(aggregates, left & mask, combine(load(aggregates, left & mask), middle))
            left += 1
        else:
            left += 1
            right += 1
            accumulated += 1
    return low, high, left, right, accumulated, back, mask
