"""B-Int: the aggregates of all dyadic intervals, each computed once, when its last partial arrives.

needs      an associative combine; order is kept
time       1 combine per insert amortised, log n at worst; up to 2 log n per answer
space      2n partials (n rounded up to a power of two)
windows    any number
appeared   Arasu and Widom, VLDB 2004 (base intervals)
"""

from typing import TYPE_CHECKING, Any

from muntin.techniques.kernels.ring import evict as evict
from muntin.techniques.kernels.ring import ring_length

if TYPE_CHECKING:
    from muntin.techniques.kernels.bound_names import blank, combine, load, store

# Interval k of level j reaches over the partials [k * 2^j, (k + 1) * 2^j) of the stream. A level
# is a ring of as many intervals as fit into the longest window.


def start(values: Any, sizes: Any) -> Any:
    """An empty window."""
    length = ring_length(sizes[-1])
    return (blank(values, 2 * length),), (0, 0, length - 1)


def insert(memory: Any, cursor: Any, partial: Any) -> Any:
    """A combine for every interval that ends here."""
    low, high, mask = cursor
    interval = high
    level = 0
    store(memory[0], _place(level, interval, mask), partial)
    while interval & 1 and mask >> level:
        partial = combine(load(memory[0], _place(level, interval - 1, mask)), partial)
        interval >>= 1
        level += 1
        store(memory[0], _place(level, interval, mask), partial)
    return low, high + 1, mask


def query(memory: Any, cursor: Any, size: int, slot: int) -> Any:
    """Up to `2 log size` combines: the widest intervals that together make the range."""
    _, high, mask = cursor
    first = high - size
    last = high - 1
    level = 0
    while first & 1 == 0 and last & 1 == 1 and first < last:
        first >>= 1
        last >>= 1
        level += 1
    older = load(memory[0], _place(level, first, mask))
    if first == last:
        return older
    newer = load(memory[0], _place(level, last, mask))
    while first ^ last != 1:
        if first & 1 == 0:
            older = combine(older, load(memory[0], _place(level, first + 1, mask)))
        if last & 1 == 1:
            newer = combine(load(memory[0], _place(level, last - 1, mask)), newer)
        first >>= 1
        last >>= 1
        level += 1
    return combine(older, newer)


def at(memory: Any, cursor: Any, number: int) -> Any:
    """The partial that came in as `number`, one of those that are held."""
    return load(memory[0], _place(0, number, cursor[2]))


def _place(level: int, interval: int, mask: int) -> int:
    """Returns the place of an interval: levels follow each other, each half as long as the last."""
    return 2 * (mask - (mask >> level)) + (interval & (mask >> level))
