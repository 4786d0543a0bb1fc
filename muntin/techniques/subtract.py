"""Subtract on evict: one running aggregate, from which the oldest partial is taken away.

needs      an exact inverse, so integers; a commutative combine
time       2 operations per slide, amortised and worst
space      the partials themselves
windows    one running aggregate each
appeared   Li et al., SIGMOD Record 2005 (Panes for differential aggregates); R-Int; SlickDeque (Inv)
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muntin.techniques.bound import combine, inverse, load, store


def fold(values: Any, lows: Any, highs: Any, answers: Any) -> None:
    """`answers[i] = values[lows[i]] ⊕ ... ⊕ values[highs[i] - 1]`, for non-empty, advancing ranges."""
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
