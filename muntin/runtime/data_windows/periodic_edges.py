"""Finds the rows at which periodic windows over any growing measure begin and end."""

from typing import Any

import numpy as np

from muntin.techniques.compiled.compile import compiled


def _more(array: Any) -> Any:
    """Returns a copy with twice the length."""
    larger = np.empty(2 * len(array), array.dtype)
    larger[: len(array)] = array
    return larger


def _reach(values: Any, row: int, stop: int, target: Any) -> int:
    """Returns the first row from `row` on whose value reaches `target`, or `stop`; values grow."""
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
    """Returns the number of the first window that has a value; k begins at `offset + k slide`."""
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
    opened: Any,
    following: Any,
    knowing: Any,
) -> Any:
    """Returns (rows and numbers of the windows that begin; rows, numbers and stretches of those
    that end, and whether a value ended them).

    `values` grow within a key; those that are `missing` come first. For each stretch, `opened` has
    how many windows are open before it, `following` the number of the next to begin, and `knowing`
    whether the key has had a value; the last two are updated to what holds after the stretch. No
    window has a number below `least`.
    """
    begins, numbers = np.empty(16, np.int64), np.empty(16, np.int64)
    ends, over_numbers = np.empty(16, np.int64), np.empty(16, np.int64)
    homes, ended = np.empty(16, np.int64), np.empty(16, np.bool_)
    begun = over = row = 0
    for key in range(len(firsts) + 1):
        stop = firsts[key] if key < len(firsts) else len(values)
        new, known = following[key], knowing[key]
        old = new - opened[key]
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
                    ends, over_numbers = _more(ends), _more(over_numbers)
                    homes, ended = _more(homes), _more(ended)
                ends[over], over_numbers[over] = row, old
                homes[over], ended[over] = key, True
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
        following[key], knowing[key] = new, known
        while key < len(firsts) and old < new:
            if over == len(ends):
                ends, over_numbers = _more(ends), _more(over_numbers)
                homes, ended = _more(homes), _more(ended)
            ends[over], over_numbers[over] = stop, old
            homes[over], ended[over] = key, False
            over += 1
            old += 1
        row = stop
    return (
        begins[:begun],
        numbers[:begun],
        ends[:over],
        over_numbers[:over],
        homes[:over],
        ended[:over],
    )


find = compiled(_find)


def _grow(values: Any, present: Any, firsts: Any, highest: Any) -> None:
    """Make each value the highest that its key has had; `highest` has it before each stretch, and
    is updated to the one after."""
    row = 0
    for key in range(len(highest)):
        stop = firsts[key] if key < len(firsts) else len(values)
        most = highest[key]
        while row < stop:
            if present[row] and values[row] > most:
                most = values[row]
            values[row] = most
            row += 1
        highest[key] = most


grow = compiled(_grow)


def _number_rows(rows: Any, firsts: Any, seen: Any) -> None:
    """Count the rows of each key from zero; `seen` has how many there were before each stretch, and
    is updated to those after."""
    row = 0
    for key in range(len(seen)):
        stop = firsts[key] if key < len(firsts) else len(rows)
        count = seen[key]
        while row < stop:
            rows[row] = count
            count += 1
            row += 1
        seen[key] = count


number_rows = compiled(_number_rows)


def _reached(times: Any, rows: Any, stops: Any, limits: Any) -> Any:
    """Returns each window's first row, from `rows` on, whose time reaches its limit, or its stop.

    Rows and stops grow, and so do the limits of one stop.
    """
    ends = np.empty(len(limits), np.int64)
    row = 0
    for window in range(len(limits)):
        row = _reach(times, max(row, rows[window]), stops[window], limits[window])
        ends[window] = row
    return ends


reached = compiled(_reached)
