"""Recalculation: every window from all of its partials. The oracle of the other techniques.

needs      an associative combine; order is kept
time       n - 1 combines per slide
space      the partials themselves
windows    any number
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muntin.techniques.compiled.bound import combine, load, store


def fold(values: Any, lows: Any, highs: Any, answers: Any) -> None:
    """`answers[i] = values[lows[i]] ⊕ ... ⊕ values[highs[i] - 1]`, for non-empty ranges."""
    for index in range(len(lows)):
        total = load(values, lows[index])
        for position in range(lows[index] + 1, highs[index]):
            total = combine(total, load(values, position))
        store(answers, index, total)
