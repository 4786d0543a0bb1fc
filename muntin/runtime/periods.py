"""Periodic windows over any growing measure: the rows at which they begin and end."""

from typing import Any

import numpy as np

from muntin.techniques.compile import compiled


def _more(array: Any) -> Any:
    """Twice the room."""
    larger = np.empty(2 * len(array), array.dtype)
    larger[: len(array)] = array
    return larger


def _reach(values: Any, row: int, stop: int, target: Any) -> int:
    """The first row from `row` on whose value is at least `target`, or `stop`; values grow."""
    step = 1
    low = row
    while row < stop and values[row] < target:
        low = row + 1
        row += step
        step *= 2
    high = min(row, stop)
    while low < high:
        middle = (low + high) // 2
        if values[middle] < target:
            low = middle + 1
        else:
            high = middle
    return low


def _first(value: Any, size: Any, slide: Any, offset: Any, least: int) -> int:
    """The number of the first window that holds a value; number k begins at `offset + k slide`."""
    number = int((value - size - offset) // slide) + 1
    # A quotient of floats may have been rounded to the other side.
    while offset + number * slide + size <= value:
        number += 1
    while offset + (number - 1) * slide + size > value:
        number -= 1
    return max(number, least)


_more, _reach, _first = compiled(_more), compiled(_reach), compiled(_first)


def _find(
    values: Any,
    missing: Any,
    firsts: Any,
    size: Any,
    slide: Any,
    offset: Any,
    least: int,
    state: Any,
) -> Any:
    """(rows and numbers of the windows that begin, rows of those that end, whether a value did it).

    `values` grow within a key; a key begins with those that are `missing`, if it has some. The
    `state` between batches is the number of the oldest open window, that of the next to begin, and
    whether the key has had a value. No window has a number below `least`.
    """
    old, new, known = state[0], state[1], state[2]
    begins, numbers = np.empty(16, np.int64), np.empty(16, np.int64)
    ends, ended = np.empty(16, np.int64), np.empty(16, np.bool_)
    begun = over = row = key = 0
    while True:
        stop = firsts[key] if key < len(firsts) else len(values)
        while row < stop:
            if not known:
                if values[row] == missing:
                    row += 1
                    continue
                old = new = _first(values[row], size, slide, offset, least)
                known = 1
            target = offset + new * slide
            if old < new:
                target = min(target, offset + old * slide + size)
            row = _reach(values, row, stop, target)
            if row == stop:
                break
            while old < new and offset + old * slide + size <= values[row]:
                if over == len(ends):
                    ends, ended = _more(ends), _more(ended)
                ends[over], ended[over] = row, True
                over += 1
                old += 1
            if old == new and offset + new * slide + size <= values[row]:
                # A jump over windows that hold nothing.
                old = new = _first(values[row], size, slide, offset, least)
            while offset + new * slide <= values[row]:
                if begun == len(begins):
                    begins, numbers = _more(begins), _more(numbers)
                begins[begun], numbers[begun] = row, new
                begun += 1
                new += 1
        if key == len(firsts):
            break
        while old < new:
            if over == len(ends):
                ends, ended = _more(ends), _more(ended)
            ends[over], ended[over] = stop, False
            over += 1
            old += 1
        known = 0
        row = stop
        key += 1
    state[0], state[1], state[2] = old, new, known
    return begins[:begun], numbers[:begun], ends[:over], ended[:over]


find = compiled(_find)


def _grow(values: Any, present: Any, firsts: Any, missing: Any, highest: Any) -> None:
    """Make each value the highest that its key has had; `highest` has it between batches."""
    key = 0
    for row in range(len(values)):
        if key < len(firsts) and firsts[key] == row:
            highest[0] = missing
            key += 1
        if present[row] and values[row] > highest[0]:
            highest[0] = values[row]
        values[row] = highest[0]


grow = compiled(_grow)


def _number_rows(rows: Any, firsts: Any, state: Any) -> None:
    """Count the rows of each key from zero; `state` has how many there were in batches before."""
    key = 0
    for row in range(len(rows)):
        if key < len(firsts) and firsts[key] == row:
            state[0] = 0
            key += 1
        rows[row] = state[0]
        state[0] += 1


number_rows = compiled(_number_rows)


def _last_until(times: Any, firsts: Any, begins: Any, limits: Any, first: int) -> Any:
    """(row, whether time did it) at which each window ends whose limit is known, up to the first
    that is still open. Windows from number `first` on begin in this batch, in `begins`."""
    rows = np.empty(len(limits), np.int64)
    timed = np.empty(len(limits), np.bool_)
    row = key = 0
    for window in range(len(limits)):
        if window >= first:
            row = max(row, begins[window - first])
            while key < len(firsts) and firsts[key] <= begins[window - first]:
                key += 1
        stop = firsts[key] if key < len(firsts) else len(times)
        if row < stop:
            row = _reach(times, row, stop, limits[window])
        if row >= stop and key == len(firsts):
            return rows[:window], timed[:window]
        rows[window] = min(row, stop)
        timed[window] = row < stop
    return rows, timed


last_until = compiled(_last_until)
