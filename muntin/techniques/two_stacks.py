"""Two stacks, lite: suffixes of the older part, one running aggregate of the newer part.

needs      an associative combine; order is kept
time       3 combines per slide amortised, n at worst (the flip)
space      n + 2 partials
windows    one
appeared   Tangwongsan, Hirzel and Schneider, DEBS 2017 (lite: VLDB Journal 2021)
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muntin.techniques.bound import blank, combine, load, store


def fold(values: Any, lows: Any, highs: Any, answers: Any) -> None:
    """`answers[i] = values[lows[i]] ⊕ ... ⊕ values[highs[i] - 1]`, for non-empty, advancing ranges.

    The array itself is both stacks: `suffixes[i]` aggregates `[i, middle)`, the front, and `newer`
    aggregates `[middle, high)`, the back.
    """
    if len(lows) == 0:
        return
    suffixes = blank(values, highs[-1])
    newer = load(values, lows[0])
    middle = 0
    high = 0
    for index in range(len(lows)):
        low = lows[index]
        if low >= high:
            high = low
            middle = low
        while high < highs[index]:
            partial = load(values, high)
            newer = combine(newer, partial) if high > middle else partial
            high += 1
        if low >= middle:
            older = load(values, high - 1)
            store(suffixes, high - 1, older)
            for position in range(high - 2, low - 1, -1):
                older = combine(load(values, position), older)
                store(suffixes, position, older)
            middle = high
            store(answers, index, older)
        elif high > middle:
            store(answers, index, combine(load(suffixes, low), newer))
        else:
            store(answers, index, load(suffixes, low))
