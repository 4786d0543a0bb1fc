"""FlatFAT: a binary tree without pointers over a ring of leaves; every node aggregates its leaves.

needs      an associative combine; order is kept, also where the ring's end lies in the window
time       log n combines per insert and up to 2 log n per answer, amortised and worst
space      2n partials (n rounded up to a power of two)
windows    any number
appeared   Tangwongsan, Hirzel, Schneider and Wu, VLDB 2015; Cutty's eager store
"""

from typing import TYPE_CHECKING, Any

from muntin.techniques.kernels.ring import evict as evict
from muntin.techniques.kernels.ring import ring_length

if TYPE_CHECKING:
    from muntin.techniques.kernels.bound_names import blank, combine, load, store

# The root is node 1, the children of node k are 2k and 2k + 1, the leaves are the last half.


def start(values: Any, sizes: Any) -> Any:
    """An empty window."""
    length = ring_length(sizes[-1])
    return (blank(values, 2 * length),), (0, 0, length - 1)


def insert(memory: Any, cursor: Any, partial: Any) -> Any:
    """`log n` combines, from the leaf to the root."""
    low, high, mask = cursor
    if high == 0:
        # No node may hold what is not a partial: combine would see it.
        for node in range(2 * (mask + 1)):
            store(memory[0], node, partial)
    node = mask + 1 + (high & mask)
    store(memory[0], node, partial)
    while node > 1:
        sibling = load(memory[0], node ^ 1)
        partial = combine(sibling, partial) if node & 1 else combine(partial, sibling)
        node >>= 1
        store(memory[0], node, partial)
    return low, high + 1, mask


def query(memory: Any, cursor: Any, size: int, slot: int) -> Any:
    """Up to `2 log size` combines: the nodes between the paths of the first and the last leaf.

    Where the ring's end lies in between, the paths go past it up to the root: a suffix of all
    leaves, and then a prefix.
    """
    _, high, mask = cursor
    first = mask + 1 + ((high - size) & mask)
    last = mask + 1 + ((high - 1) & mask)
    while first & 1 == 0 and last & 1 == 1 and first < last:
        first >>= 1
        last >>= 1
    older = load(memory[0], first)
    if first == last:
        return older
    newer = load(memory[0], last)
    while first > 1 and not (first < last and first ^ last == 1):
        if first & 1 == 0:
            older = combine(older, load(memory[0], first + 1))
        if last & 1 == 1:
            newer = combine(load(memory[0], last - 1), newer)
        first >>= 1
        last >>= 1
    return combine(older, newer)


def at(memory: Any, cursor: Any, number: int) -> Any:
    """The partial that came in as `number`, one of those that are held."""
    return load(memory[0], cursor[2] + 1 + (number & cursor[2]))
