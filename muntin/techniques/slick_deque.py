"""SlickDeque for what selects: a deque of the partials that may still win, best first.

needs      a selective combine (its result is one of its operands); order is kept
time       2 combines per slide amortised, n at worst; none per answer
space      n partials and indices at worst, ln n expected on random data
windows    any number, each with the head it used last
appeared   Shein, Chrysanthis and Labrinidis, EDBT 2018 (the remembered heads are ours)
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from muntin.techniques.ring import ring_length

if TYPE_CHECKING:
    from muntin.techniques.bound import blank, combine, load, same, store

# The paper finds the heads of all windows in one walk along the deque, which descending data
# makes as long as the window. A window's head rarely moves by more than a place between two
# answers, so each looks near the one that it had.


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
    bounds = np.empty(2, np.int64)
    bounds[0] = 0
    bounds[1] = len(lows)
    fold_many(values, lows, highs, bounds, answers)


def fold_many(values: Any, lows: Any, highs: Any, bounds: Any, answers: Any) -> None:
    """Several windows' ranges over the same values, from one deque.

    The ranges of window w stand in `[bounds[w], bounds[w + 1])`: non-empty, advancing within it.
    """
    windows = len(bounds) - 1
    following = bounds[:-1].copy()
    begin = np.int64(2**62)
    end = np.int64(0)
    for window in range(windows):
        if bounds[window] < bounds[window + 1]:
            begin = min(begin, lows[bounds[window]])
            end = max(end, highs[bounds[window + 1] - 1])
    if begin >= end:
        return
    heads = np.zeros(windows, np.int64)
    # Positions in `values`; nothing is evicted, as each window knows where it begins.
    candidates = np.empty(end - begin, np.int64)
    back = 0
    # The nearest end of a range still to be answered.
    due = begin
    for position in range(begin, end):
        partial = load(values, position)
        while back > 0 and _loses(load(values, candidates[back - 1]), partial):
            back -= 1
        candidates[back] = position
        back += 1
        if position + 1 < due:
            continue
        due = end
        for window in range(windows):
            index = following[window]
            while index < bounds[window + 1] and highs[index] == position + 1:
                head = min(heads[window], back - 1)
                while head > 0 and candidates[head - 1] >= lows[index]:
                    head -= 1
                while candidates[head] < lows[index]:
                    head += 1
                heads[window] = head
                store(answers, index, load(values, candidates[head]))
                index += 1
            following[window] = index
            if index < bounds[window + 1]:
                due = min(due, highs[index])


def _loses(older: Any, newer: Any) -> bool:
    """Whether the older partial can be forgotten; of equals it is kept, as it would be chosen."""
    return not same(combine(older, newer), older)
