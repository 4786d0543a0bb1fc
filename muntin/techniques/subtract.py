"""Subtract on evict: one running aggregate, from which the oldest partial is taken away.

needs      an exact inverse, so integers; order is kept
time       2 operations per slide, amortised and worst
space      n + 1 partials
windows    one
appeared   Li et al., SIGMOD Record 2005 (Panes for differential aggregates); R-Int, VLDB 2004
"""

from typing import TYPE_CHECKING, Any

from muntin.techniques.kernels.ring import ring_length

if TYPE_CHECKING:
    from muntin.techniques.kernels.bound_names import blank, combine, inverse, load, store


def start(values: Any, sizes: Any) -> Any:
    """An empty window."""
    length = ring_length(sizes[-1])
    ring = blank(values, length)
    return (ring,), (0, 0, length - 1, load(ring, 0))


def insert(memory: Any, cursor: Any, partial: Any) -> Any:
    """One combine."""
    low, high, mask, running = cursor
    store(memory[0], high & mask, partial)
    return low, high + 1, mask, combine(running, partial) if low < high else partial


def evict(memory: Any, cursor: Any) -> Any:
    """One inverse."""
    low, high, mask, running = cursor
    return low + 1, high, mask, inverse(running, load(memory[0], low & mask))


def query(memory: Any, cursor: Any, size: int, slot: int) -> Any:
    """No operation."""
    return cursor[3]


def fold(values: Any, lows: Any, highs: Any, answers: Any) -> None:
    """`answers[i] = values[lows[i]] ⊕ ... ⊕ values[highs[i] - 1]`; ranges not empty, advancing.

    The values themselves are the ring.
    """
    if len(lows) == 0:
        return
    running = load(values, lows[0])
    low = 0
    high = 0
    for index in range(len(lows)):
        if lows[index] >= high:
            low = lows[index]
            running = load(values, low)
            high = low + 1
        while high < highs[index]:
            running = combine(running, load(values, high))
            high += 1
        while low < lows[index]:
            running = inverse(running, load(values, low))
            low += 1
        store(answers, index, running)
