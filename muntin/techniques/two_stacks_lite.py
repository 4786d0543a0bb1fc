"""Two stacks, lite: suffixes of the older part, one running aggregate of the newer part.

needs      an associative combine; order is kept
time       3 combines per slide amortised, n at worst (the flip)
space      n + 1 partials
windows    one
appeared   Tangwongsan, Hirzel and Schneider, VLDB Journal 2021 (two stacks: DEBS 2017)
"""

from typing import TYPE_CHECKING, Any

from muntin.techniques.kernels.ring import ring_length

if TYPE_CHECKING:
    from muntin.techniques.kernels.bound_names import blank, combine, load, store

# Before `middle` a place holds the aggregate of [itself, middle), from there on its own partial.
# `newer` aggregates [middle, high).


def start(values: Any, sizes: Any) -> Any:
    """An empty window."""
    length = ring_length(sizes[-1])
    ring = blank(values, length)
    return (ring,), (0, 0, 0, length - 1, load(ring, 0))


def insert(memory: Any, cursor: Any, partial: Any) -> Any:
    """One combine, onto the back."""
    low, high, middle, mask, newer = cursor
    store(memory[0], high & mask, partial)
    return low, high + 1, middle, mask, combine(newer, partial) if high > middle else partial


def evict(memory: Any, cursor: Any) -> Any:
    """No combine, or the flip of the whole back where the front is empty."""
    low, high, middle, mask, newer = cursor
    if low == middle:
        older = load(memory[0], (high - 1) & mask)
        for position in range(high - 2, low - 1, -1):
            older = combine(load(memory[0], position & mask), older)
            store(memory[0], position & mask, older)
        middle = high
    return low + 1, high, middle, mask, newer


def query(memory: Any, cursor: Any, size: int, slot: int) -> Any:
    """One combine of front and back, where both hold something."""
    low, high, middle, mask, newer = cursor
    if low == middle:
        return newer
    older = load(memory[0], low & mask)
    return combine(older, newer) if high > middle else older


def fold(values: Any, lows: Any, highs: Any, answers: Any) -> None:
    """`answers[i] = values[lows[i]] ⊕ ... ⊕ values[highs[i] - 1]`; ranges not empty, advancing.

    The values themselves are the back, and `front[i]` aggregates `[flipped + i, middle)`.
    """
    if len(lows) == 0:
        return
    widest = 0
    for index in range(len(lows)):
        widest = max(widest, highs[index] - lows[index])
    front = blank(values, widest)
    newer = load(values, lows[0])
    flipped = 0
    middle = 0
    high = 0
    for index in range(len(lows)):
        low = lows[index]
        if low >= middle:
            # Flip only now, when a window begins in the back: a gap or a leap costs nothing.
            flipped = low
            middle = highs[index]
            high = middle
            older = load(values, middle - 1)
            store(front, middle - 1 - flipped, older)
            for position in range(middle - 2, flipped - 1, -1):
                older = combine(load(values, position), older)
                store(front, position - flipped, older)
        older = load(front, low - flipped)
        # The first partial of a slide outside the loop: most slides bring just one.
        if high < highs[index]:
            partial = load(values, high)
            newer = combine(newer, partial) if high > middle else partial
            high += 1
            while high < highs[index]:
                newer = combine(newer, load(values, high))
                high += 1
        store(answers, index, combine(older, newer) if high > middle else older)
