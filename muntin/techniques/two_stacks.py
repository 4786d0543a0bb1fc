"""Two stacks: a queue made of a front and a back, each partial with the aggregate up to it.

needs      an associative combine; order is kept
time       3 combines per slide amortised, n at worst (the flip)
space      2n partials
windows    one
appeared   Tangwongsan, Hirzel and Schneider, DEBS 2017
"""

from typing import TYPE_CHECKING, Any

from muntin.techniques.kernels.ring import ring_length

if TYPE_CHECKING:
    from muntin.techniques.kernels.bound_names import blank, combine, load, store

# Both stacks lie in one pair of rings: the front is [low, middle), its top at low, and the back
# [middle, high), its top at high - 1. An aggregate reaches from its place to the stack's bottom.


def start(values: Any, sizes: Any) -> Any:
    """An empty window."""
    length = ring_length(sizes[-1])
    return (blank(values, length), blank(values, length)), (0, 0, 0, length - 1)


def insert(memory: Any, cursor: Any, partial: Any) -> Any:
    """One combine, onto the back."""
    low, high, middle, mask = cursor
    partials, aggregates = memory
    store(partials, high & mask, partial)
    if high > middle:
        partial = combine(load(aggregates, (high - 1) & mask), partial)
    store(aggregates, high & mask, partial)
    return low, high + 1, middle, mask


def evict(memory: Any, cursor: Any) -> Any:
    """No combine, or the flip of the whole back where the front is empty."""
    low, high, middle, mask = cursor
    if low == middle:
        partials, aggregates = memory
        older = load(partials, (high - 1) & mask)
        store(aggregates, (high - 1) & mask, older)
        for position in range(high - 2, low - 1, -1):
            older = combine(load(partials, position & mask), older)
            store(aggregates, position & mask, older)
        middle = high
    return low + 1, high, middle, mask


def query(memory: Any, cursor: Any, size: int, slot: int) -> Any:
    """One combine of the two tops, where both stacks hold something."""
    low, high, middle, mask = cursor
    newer = load(memory[1], (high - 1) & mask)
    if low == middle:
        return newer
    older = load(memory[1], low & mask)
    return combine(older, newer) if high > middle else older
