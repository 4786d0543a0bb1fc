"""DABA lite: two stacks whose flip is spread over the slides between, in one ring.

needs      an associative combine; order is kept
time       4 combines per slide amortised, 6 at worst
space      n + 3 partials
windows    one
appeared   Tangwongsan, Hirzel and Schneider, VLDB Journal 2021 (DABA: DEBS 2017)
"""

from typing import TYPE_CHECKING, Any

from muntin.techniques.kernels.ring import ring_length

if TYPE_CHECKING:
    from muntin.techniques.kernels.bound_names import blank, combine, load, store

# The ring is cut at left ≤ right ≤ accumulated ≤ back. Place i holds the aggregate of:
#
#   low ....... left ........ right ........ accumulated ...... back ........ high
#     [i, back)   [i, right)    i alone        [i, back)          i alone
#
# `middle` aggregates [right, back) while left < right, `gathered` [accumulated, back) while that
# part grows, and `newer` [back, high).


def start(values: Any, sizes: Any) -> Any:
    """An empty window."""
    length = ring_length(sizes[-1])
    ring = blank(values, length)
    nothing = load(ring, 0)
    return (ring,), (0, 0, 0, 0, 0, 0, length - 1, nothing, nothing, nothing)


def insert(memory: Any, cursor: Any, partial: Any) -> Any:
    """One combine for the back, then a step of the flip."""
    low, high, _, _, _, back, mask, _, _, newer = cursor
    store(memory[0], high & mask, partial)
    newer = combine(newer, partial) if high > back else partial
    return _step(memory[0], cursor, low, high + 1, newer)


def evict(memory: Any, cursor: Any) -> Any:
    """A step of the flip."""
    low, high, _, _, _, _, _, _, _, newer = cursor
    return _step(memory[0], cursor, low + 1, high, newer)


def query(memory: Any, cursor: Any, size: int, slot: int) -> Any:
    """One combine of the front's suffix with the back."""
    low, high, _, _, _, back, mask, _, _, newer = cursor
    older = load(memory[0], low & mask)
    return combine(older, newer) if high > back else older


def _step(ring: Any, cursor: Any, low: int, high: int, newer: Any) -> Any:
    """Brings two places of the ring to the aggregate that they have when they are oldest; `low`,
    `high` and `newer` are the new ones."""
    _, _, left, right, accumulated, back, mask, middle, gathered, _ = cursor
    if left == back:
        # The back becomes the part [right, accumulated) of a new front.
        left = low
        right = back
        accumulated = high
        back = high
        middle = newer
    if low < back:
        if accumulated > right:
            accumulated -= 1
            partial = load(ring, accumulated & mask)
            gathered = combine(partial, gathered) if accumulated + 1 < back else partial
            store(ring, accumulated & mask, gathered)
        if left < right:
            store(ring, left & mask, combine(load(ring, left & mask), middle))
            left += 1
        else:
            left += 1
            right += 1
            accumulated += 1
    return low, high, left, right, accumulated, back, mask, middle, gathered, newer
