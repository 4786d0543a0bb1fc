"""Cutty's aggregator: slices start only where a window begins; an end reads the open partial.

needs      an associative combine; order is kept
time       a combine per record, an insert into the store per slice, an answer of it per window
space      a partial per slice in the store, from the oldest window that is still open
windows    any number, of any kind, nested too
appeared   Carbone, Traub, Katsifodimos, Haridi and Markl, CIKM 2016 (algorithm 1)

The store is a technique of many windows: `flat_fat` or `b_int` (eager), `panes` (lazy), or
`suffixes`, which knows of live windows. It grows when it is full, and shrinks when two thirds of it
are empty.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from muntin.techniques.kernels.bound_names import (
        at,
        combine,
        evict,
        insert,
        load,
        query,
        start,
        store,
    )

LEAST_ROOM = 16
# What `state` counts, by position.
FILLED = 0  # whether the open partial holds a record
OLDEST = 1  # the oldest slice that a live window begins with, or else the newest slice
SLICES = 2  # slices that were ever begun, as `leaves` counts them
LIVE = 3  # windows that are open
MOST_STORED = 4  # partials in the store, at most
MOST_BEYOND = 5  # partials in the store beyond the live windows, at most
INSERTS = 6  # partials put into the store
FOLDS = 7  # combines that took a record into the open partial
FRONT = 8  # living slices whose number in the store is below the next: `suffixes` sets both
POINT = 9
STATE = 10


def new_store(values: Any) -> Any:
    """(memory, cursor) of a store without slices, for partials like `values`."""
    room = np.empty(1, np.int64)
    room[0] = LEAST_ROOM
    return start(values, room)


def cut(  # noqa: PLR0913 - a kernel takes flat arrays
    memory: Any,
    cursor: Any,
    opened: Any,
    state: Any,
    leaves: Any,
    alive: Any,
    values: Any,
    rows: int,
    cuts: Any,
    begun: Any,
    reads: Any,
    slices: Any,
    closes: Any,
    asks: Any,
    answers: Any,
) -> Any:
    """Run a batch of `rows` records; returns (memory, cursor).

    `begun[i]` windows begin with the record `cuts[i]`, in ascending order. Read `i` happens before
    the record `reads[i]`, in order: it aggregates from the slice number `slices[i]` on, if it
    `asks`, and takes `closes[i]` windows (none or one) from those that begin with that slice.
    `leaves` and `alive` have a place for every slice, old and new: its number in the store, and how
    many windows that begin with it are open. `opened` has room for the open partial.
    """
    row = 0
    new = 0
    read = 0
    while True:
        here = cuts[new] if new < len(cuts) else rows
        if read < len(reads) and reads[read] <= here:
            here = reads[read]
        _fold(opened, state, values, row, here)
        row = here
        if new == len(cuts) and read == len(reads):
            return memory, cursor
        while read < len(reads) and reads[read] == row:
            if asks[read]:
                store(answers, read, _answer(memory, cursor, opened, leaves[slices[read]]))
            _end(state, leaves, alive, slices[read], closes[read])
            read += 1
        cursor = _collect(memory, cursor, state, leaves, alive)
        is_cut = new < len(cuts) and cuts[new] == row
        if is_cut:
            memory, cursor = _with_capacity(memory, cursor, state, leaves, values)
            cursor = _close(memory, cursor, opened, state)
        cursor = settle(memory, cursor, state, leaves, alive)
        stored = stored_count(cursor, state)
        state[MOST_STORED] = max(state[MOST_STORED], stored)
        state[MOST_BEYOND] = max(state[MOST_BEYOND], stored - state[LIVE])
        if is_cut:
            leaves[state[SLICES]] = cursor[1]
            alive[state[SLICES]] = begun[new]
            if state[LIVE] == 0:
                state[OLDEST] = state[SLICES]
            state[LIVE] += begun[new]
            state[SLICES] += 1
            new += 1


def stored_count(cursor: Any, state: Any) -> Any:
    """How many partials the store holds; a store may know better."""
    return cursor[1] - cursor[0]


def settle(memory: Any, cursor: Any, state: Any, leaves: Any, alive: Any) -> Any:
    """The cursor after a store has put itself in order; most have nothing to do."""
    return cursor


def resize(memory: Any, cursor: Any, values: Any, length: int) -> Any:
    """The same partials in a store of another size, numbered from zero."""
    sizes = np.empty(1, np.int64)
    sizes[0] = length
    resized, fresh = start(values, sizes)
    for number in range(cursor[0], cursor[1]):
        fresh = insert(resized, fresh, at(memory, cursor, number))
    return resized, fresh


def _end(state: Any, leaves: Any, alive: Any, slice_: int, closed: int) -> None:
    """Counts a closed window, or none, off those that begin with a slice."""
    if closed == 0:
        return
    alive[slice_] -= 1
    state[LIVE] -= 1
    if alive[slice_] == 0 and leaves[slice_] < state[POINT]:
        state[FRONT] -= 1


def _fold(opened: Any, state: Any, values: Any, low: int, high: int) -> None:
    """Combines records into the open partial, if any window is open."""
    if low >= high or state[LIVE] == 0:
        return
    if state[FILLED] == 0:
        partial = load(values, low)
        low += 1
    else:
        partial = load(opened, 0)
    state[FOLDS] += high - low
    for row in range(low, high):
        partial = combine(partial, load(values, row))
    store(opened, 0, partial)
    state[FILLED] = 1


def _answer(memory: Any, cursor: Any, opened: Any, leaf: int) -> Any:
    """The aggregate from a slice on: what the store has of it, and the open partial."""
    partial = load(opened, 0)
    if leaf < cursor[1]:
        partial = combine(query(memory, cursor, cursor[1] - leaf, 0), partial)
    return partial


def _collect(memory: Any, cursor: Any, state: Any, leaves: Any, alive: Any) -> Any:
    """Evicts the slices before the oldest one that a live window begins with."""
    needed = cursor[1]
    if state[LIVE] == 0:
        state[FILLED] = 0
        state[OLDEST] = max(state[SLICES] - 1, 0)
    else:
        while alive[state[OLDEST]] == 0:
            state[OLDEST] += 1
        needed = leaves[state[OLDEST]]
    while cursor[0] < needed:
        cursor = evict(memory, cursor)
    return cursor


def _close(memory: Any, cursor: Any, opened: Any, state: Any) -> Any:
    """Inserts the open partial into the store, if a window is live, and starts a new one."""
    if state[FILLED] != 0 and state[LIVE] != 0:
        cursor = insert(memory, cursor, load(opened, 0))
        state[INSERTS] += 1
    state[FILLED] = 0
    return cursor


def _with_capacity(memory: Any, cursor: Any, state: Any, leaves: Any, values: Any) -> Any:
    """Returns the store with room for one more partial: twice as large if it is full, half as large
    if it is nearly empty."""
    room = cursor[2] + 1
    held = cursor[1] - cursor[0]
    length = room
    if held == room:
        length = 2 * room
    elif room > LEAST_ROOM and 3 * held <= room:
        length = room // 2
    if length == room:
        return memory, cursor
    for slice_ in range(state[OLDEST], state[SLICES]):
        leaves[slice_] -= cursor[0]
    state[POINT] = max(state[POINT] - cursor[0], 0)
    return resize(memory, cursor, values, length)
