"""Drivers that run any algorithm, or a monoid alone, over many partials in one call.

A driver and an algorithm are compiled into one piece of machine code, so that a slide costs a few
nanoseconds instead of the 700 of a call.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from muntin.techniques.kernels.bound_names import (
        combine,
        evict,
        insert,
        load,
        query,
        start,
        store,
    )


def fold(values: Any, lows: Any, highs: Any, answers: Any) -> None:
    """`answers[i] = values[lows[i]] ⊕ ... ⊕ values[highs[i] - 1]`; ranges not empty, advancing."""
    if len(lows) == 0:
        return
    widest = np.empty(1, np.int64)
    widest[0] = 1
    for index in range(len(lows)):
        widest[0] = max(widest[0], highs[index] - lows[index])
    memory, cursor = start(values, widest)
    _advance(memory, cursor, values, lows, highs, answers)


def _advance(memory: Any, cursor: Any, values: Any, lows: Any, highs: Any, answers: Any) -> None:
    """Slides the window from range to range and stores the answers."""
    low = lows[0]
    high = low
    for index in range(len(lows)):
        while low < lows[index] and low < high:
            cursor = evict(memory, cursor)
            low += 1
        if low < lows[index]:
            # A gap: what lies between two windows is in neither.
            low = lows[index]
            high = low
        while high < highs[index]:
            cursor = insert(memory, cursor, load(values, high))
            high += 1
        store(answers, index, query(memory, cursor, high - low, 0))


def push(memory: Any, cursor: Any, partial: Any, sizes: Any) -> Any:
    """Inserts a partial, and evicts the oldest one first if the longest window is full; returns the
    cursor."""
    if cursor[1] - cursor[0] == sizes[-1]:
        cursor = evict(memory, cursor)
    return insert(memory, cursor, partial)


def slide(memory: Any, cursor: Any, values: Any, count: int, sizes: Any, answers: Any) -> Any:
    """Inserts `count` partials and answers every size after each of them; returns the cursor.

    `answers[i * len(sizes) + s]` is the aggregate of the latest `sizes[s]` partials after partial
    `i`, or of all while there are fewer.
    """
    for index in range(count):
        cursor = push(memory, cursor, load(values, index), sizes)
        held = cursor[1] - cursor[0]
        for slot in range(len(sizes)):
            partial = query(memory, cursor, min(sizes[slot], held), slot)
            store(answers, index * len(sizes) + slot, partial)
    return cursor


def scatter(values: Any, rows: Any, groups: Any, totals: Any) -> None:
    """`totals[groups[i]] ⊕= values[rows[i]]` for each i in order; without `rows`, `values[i]`.

    The caller fills `totals` with the identity.
    """
    for index in range(len(groups)):
        row = index if rows is None else rows[index]
        group = groups[index]
        store(totals, group, combine(load(totals, group), load(values, row)))
