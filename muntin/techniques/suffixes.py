"""Suffixes: of older slices, the aggregate up to a common point; of newer ones, dyadic ranges.

needs      an associative combine; order is kept
time       4 combines per insert amortised; 2 per answer from an older slice, else 2 log n
space      a partial for every slice that a live window begins with, and one; 2n for newer slices
windows    any number; a store of Cutty's only, as it asks which slices still count

Answers always aggregate all slices from some slice on. When there are as many newer slices as older
ones, the point moves to the present: the aggregate of each older slice is combined with the total
since the old point, and newer slices get an aggregate of their own. An older slice whose windows
have all ended is dropped at once: unlike a tree, there is never more than one partial beyond those
of live windows.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from muntin.techniques.b_int import at as at_run
from muntin.techniques.b_int import insert as insert_run
from muntin.techniques.b_int import query as query_run
from muntin.techniques.cutty import FRONT, LIVE, OLDEST, POINT, SLICES
from muntin.techniques.kernels.ring import ring_length

if TYPE_CHECKING:
    from muntin.techniques.kernels.bound_names import blank, combine, load, store

# Memory: suffixes by number, dyadic ranges of the slices since the point, their total.
# A cursor is (low, high, mask, point).
_FEW = 16


def start(values: Any, sizes: Any) -> Any:
    """No slices."""
    length = ring_length(sizes[-1])
    memory = (blank(values, length), blank(values, 2 * length), blank(values, 1))
    return memory, (0, 0, length - 1, 0)


def insert(memory: Any, cursor: Any, partial: Any) -> Any:
    """Two combines: one into a range, amortised, and one into the total since the point."""
    low, high, mask, point = cursor
    insert_run((memory[1],), (0, high - point, mask), partial)
    if high > point:
        partial = combine(load(memory[2], 0), partial)
    store(memory[2], 0, partial)
    return low, high + 1, mask, point


def evict(memory: Any, cursor: Any) -> Any:
    """No combine."""
    low, high, mask, point = cursor
    return low + 1, high, mask, point


def query(memory: Any, cursor: Any, size: int, slot: int) -> Any:
    """One combine from before the point."""
    _, high, mask, point = cursor
    first = high - size
    if first >= point:
        return query_run((memory[1],), (0, high - point, mask), size, 0)
    if high == point:
        return load(memory[0], first & mask)
    return combine(load(memory[0], first & mask), load(memory[2], 0))


def stored_count(cursor: Any, state: Any) -> Any:
    """How many partials count: living suffixes, newer slices, and their total."""
    newer = cursor[1] - max(cursor[0], cursor[3])
    return state[FRONT] + newer + (1 if newer > 0 else 0)


def settle(memory: Any, cursor: Any, state: Any, leaves: Any, alive: Any) -> Any:
    """Move the point to now, if there are many newer slices, or more than live windows need."""
    low, high, mask, point = cursor
    first = max(low, point)
    newer = high - first
    if newer == 0 or (
        newer <= state[FRONT] + _FEW and stored_count(cursor, state) <= state[LIVE] + 1
    ):
        return cursor
    living = 0
    slice_ = state[SLICES] - 1
    running = at_run((memory[1],), (0, high - point, mask), high - 1 - point)
    for number in range(high - 1, first - 1, -1):
        if number < high - 1:
            older = at_run((memory[1],), (0, high - point, mask), number - point)
            running = combine(older, running)
        while leaves[slice_] > number:
            slice_ -= 1
        if leaves[slice_] == number and alive[slice_] > 0:
            store(memory[0], number & mask, running)
            living += 1
    while slice_ >= state[OLDEST] and state[FRONT] > 0:
        place = leaves[slice_] & mask
        if leaves[slice_] < point and alive[slice_] > 0:
            store(memory[0], place, combine(load(memory[0], place), load(memory[2], 0)))
            living += 1
        slice_ -= 1
    state[FRONT] = living
    state[POINT] = high
    return low, high, mask, high


def resize(memory: Any, cursor: Any, values: Any, length: int) -> Any:
    """The same partials in a store of another size, numbered from zero."""
    low, high, mask, point = cursor
    first = max(low, point)
    sizes = np.empty(1, np.int64)
    sizes[0] = length
    resized, _ = start(values, sizes)
    for number in range(low, first):
        store(resized[0], (number - low) & (length - 1), load(memory[0], number & mask))
    for number in range(first, high):
        partial = at_run((memory[1],), (0, high - point, mask), number - point)
        insert_run((resized[1],), (0, number - first, length - 1), partial)
    store(resized[2], 0, load(memory[2], 0))
    return resized, (0, high - low, length - 1, first - low)
