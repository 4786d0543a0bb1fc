"""SlickDeque for invertible combines: a running aggregate for every distinct size.

needs      an exact inverse, so integers; order is kept
time       2 operations per slide and distinct size, amortised and worst
space      n partials, and one for every distinct size
windows    any number, known at the start; those of equal size share
appeared   Shein, Chrysanthis and Labrinidis, EDBT 2018
"""

from typing import TYPE_CHECKING, Any

from muntin.techniques.kernels.ring import evict as evict
from muntin.techniques.kernels.ring import ring_length

# One window's running aggregate is `subtract`'s.
from muntin.techniques.subtract import fold as fold

if TYPE_CHECKING:
    from muntin.techniques.kernels.bound_names import blank, combine, inverse, load, store


def start(values: Any, sizes: Any) -> Any:
    """An empty window, and a running aggregate for each of `sizes`."""
    length = ring_length(sizes[-1])
    return (blank(values, length), blank(values, len(sizes)), sizes), (0, 0, length - 1)


def insert(memory: Any, cursor: Any, partial: Any) -> Any:
    """A combine for every running aggregate, and an inverse for those that were full."""
    low, high, mask = cursor
    ring, running, sizes = memory
    for slot in range(len(sizes)):
        total = combine(load(running, slot), partial) if high > 0 else partial
        if high >= sizes[slot]:
            total = inverse(total, load(ring, (high - sizes[slot]) & mask))
        store(running, slot, total)
    # Last, for the oldest partial of the longest window may lie in this very place.
    store(ring, high & mask, partial)
    return low, high + 1, mask


def query(memory: Any, cursor: Any, size: int, slot: int) -> Any:
    """No operation for the slot's size; for a smaller one, an inverse per partial it lacks."""
    _, high, mask = cursor
    ring, running, sizes = memory
    total = load(running, slot)
    for position in range(high - min(high, sizes[slot]), high - size):
        total = inverse(total, load(ring, position & mask))
    return total
