"""Recalculation: every window from all of its partials. The oracle of the other techniques.

needs      an associative combine; order is kept
time       n - 1 combines per slide; a range that begins where the one before it did goes on from it
space      the partials themselves
windows    any number
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muntin.techniques.kernels.bound_names import combine, load, store


def fold(values: Any, lows: Any, highs: Any, answers: Any) -> None:
    """`answers[i] = values[lows[i]] ⊕ ... ⊕ values[highs[i] - 1]`, for non-empty ranges."""
    index = 0
    while index < len(lows):
        low = lows[index]
        total = load(values, low)
        position = low + 1
        while index < len(lows) and lows[index] == low:
            while position < highs[index]:
                total = combine(total, load(values, position))
                position += 1
            store(answers, index, total)
            index += 1
