"""SlickDeque for selective combines: a deque of the partials that may still win, best first.

needs      a selective combine (its result is one of its operands); order is kept
time       2 combines per slide amortised, n at worst; none per answer
space      n partials and indices at worst, ln n expected on random data
windows    any number, each with the head it used last
appeared   Shein, Chrysanthis and Labrinidis, EDBT 2018 (the remembered heads are ours)
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from muntin.techniques.kernels.ring import ring_length

if TYPE_CHECKING:
    from muntin.techniques.kernels.bound_names import blank, combine, load, same, store

# The paper finds the heads of all windows in one walk along the deque, which is as long as the
# window on descending data. A window's head rarely moves by more than one place between two
# answers, so the search starts at the last one.


def start(values: Any, sizes: Any) -> Any:
    """An empty window."""
    length = ring_length(sizes[-1])
    positions = np.empty(length, np.int64)
    heads = np.zeros(len(sizes), np.int64)
    return (blank(values, length), positions, heads), (0, 0, length - 1, 0, 0)


def insert(memory: Any, cursor: Any, partial: Any) -> Any:
    """A combine for every candidate that loses against the newest, and one for that which wins."""
    low, high, mask, front, back = cursor
    candidates, positions, _ = memory
    while front < back and _loses(load(candidates, (back - 1) & mask), partial):
        back -= 1
    store(candidates, back & mask, partial)
    positions[back & mask] = high
    return low, high + 1, mask, front, back + 1


def evict(memory: Any, cursor: Any) -> Any:
    """No combine."""
    low, high, mask, front, back = cursor
    if memory[1][front & mask] == low:
        front += 1
    return low + 1, high, mask, front, back


def query(memory: Any, cursor: Any, size: int, slot: int) -> Any:
    """No combine: the first candidate that is among the latest `size`."""
    _, high, mask, front, back = cursor
    candidates, positions, heads = memory
    head = min(max(heads[slot], front), back - 1)
    while head > front and positions[(head - 1) & mask] >= high - size:
        head -= 1
    while positions[head & mask] < high - size:
        head += 1
    heads[slot] = head
    return load(candidates, head & mask)


def fold(values: Any, lows: Any, highs: Any, answers: Any) -> None:
    """`answers[i] = values[lows[i]] ⊕ ... ⊕ values[highs[i] - 1]`; ranges not empty, advancing."""
    if len(lows) == 0:
        return
    losses = np.empty(highs[-1], np.int64)
    find_losses(values, lows[0], highs[-1], losses)
    fold_by_losses(values, losses, lows, highs, answers)


def find_losses(values: Any, begin: int, end: int, losses: Any) -> None:
    """Fills `losses[i]`, for each i in [begin, end), with the place of the partial that removes
    partial i from the deque; `end` if none does.

    Any number of windows can be answered from the losses by `fold_by_losses`.
    """
    candidates = np.empty(end - begin, np.int64)
    count = 0
    for position in range(begin, end):
        partial = load(values, position)
        while count > 0 and _loses(load(values, candidates[count - 1]), partial):
            count -= 1
            losses[candidates[count]] = position
        candidates[count] = position
        count += 1
    for index in range(count):
        losses[candidates[index]] = end


def fold_by_losses(values: Any, losses: Any, lows: Any, highs: Any, answers: Any) -> None:
    """`fold`, given the losses: the head moves to the next place where it expires or loses."""
    head = 0
    for index in range(len(lows)):
        head = max(head, lows[index])
        while losses[head] < highs[index]:
            head = losses[head]
        store(answers, index, load(values, head))


def _loses(older: Any, newer: Any) -> bool:
    """Whether no later answer can be the older partial. Of equal ones the older is the answer."""
    return not same(combine(older, newer), older)
