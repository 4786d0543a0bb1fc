"""Finds the rows at which periodic windows over any growing measure begin and end."""

from typing import Any, NamedTuple

import numpy as np

from muntin.techniques.compiled.compile import compiled, inlined


class Periods(NamedTuple):
    """Windows over a measure: number k begins at `offset + k * slide`; none is below `least`."""

    size: Any
    slide: Any
    offset: Any
    least: int


class KeyMemory(NamedTuple):
    """For each stretch, how many windows are open before it, the number of the next to begin, and
    whether the key has had a value."""

    opened: Any
    following: Any
    knowing: Any


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


def _first(value: Any, periods: Periods) -> int:
    """Returns the number of the first window that has a value."""
    size, slide, offset, least = periods
    number = int((value - size - offset) // slide) + 1
    # A quotient of floats may have been rounded to the other side.
    while offset + number * slide + size <= value:
        number += 1
    while offset + (number - 1) * slide + size > value:
        number -= 1
    return max(number, least)


def _next_edge(old: int, new: int, periods: Any) -> Any:
    """Returns the value at which window `new` begins, or an open one, `old`, ends before that."""
    begin = periods.offset + new * periods.slide
    if old < new:
        return min(begin, periods.offset + old * periods.slide + periods.size)
    return begin


def _add_edges(
    edges: Any, count: int, numbers: Any, row: int, stretch: int, is_by_value: int
) -> Any:
    """Adds an edge at a row for each window from the first to before the last of two numbers;
    returns all edges, and how many there are."""
    first, last = numbers
    while count + last - first > edges.shape[1]:
        larger = np.empty((4, 2 * edges.shape[1]), np.int64)
        larger[:, :count] = edges[:, :count]
        edges = larger
    for number in range(first, last):
        edges[0, count], edges[1, count] = row, number
        edges[2, count], edges[3, count] = stretch, is_by_value
        count += 1
    return edges, count


_reach, _first, _add_edges = compiled(_reach), compiled(_first), compiled(_add_edges)
_next_edge = inlined(_next_edge)


def _find(values: Any, missing: Any, firsts: Any, periods: Any, memory: Any) -> Any:
    """Returns the begins and the ends of windows as two arrays of four rows: the records, the
    numbers of the windows, the stretches, and whether a value is there, or else the data has ended.

    `values` grow within a key; those that are `missing` come first. `following` and `knowing` of
    the memory are updated to what holds after each stretch.
    """
    size, slide, offset, _ = periods
    begins, ends = np.empty((4, 16), np.int64), np.empty((4, 16), np.int64)
    begun = over = row = 0
    for key in range(len(firsts) + 1):
        stop = firsts[key] if key < len(firsts) else len(values)
        new, known = memory.following[key], memory.knowing[key]
        old = new - memory.opened[key]
        while row < stop:
            if not known:
                if values[row] == missing:
                    row += 1
                    continue
                old = new = _first(values[row], periods)
                known = 1
            row = _reach(values, row, stop, _next_edge(old, new, periods))
            if row == stop:
                break
            last = old
            while last < new and offset + last * slide + size <= values[row]:
                last += 1
            ends, over = _add_edges(ends, over, (old, last), row, key, 1)
            old = last
            if old == new and offset + new * slide + size <= values[row]:
                # A jump over windows that hold nothing.
                old = new = _first(values[row], periods)
            last = new
            while offset + last * slide <= values[row]:
                last += 1
            begins, begun = _add_edges(begins, begun, (new, last), row, key, 1)
            new = last
        memory.following[key], memory.knowing[key] = new, known
        if key < len(firsts):
            ends, over = _add_edges(ends, over, (old, new), stop, key, 0)
        row = stop
    return begins[:, :begun], ends[:, :over]


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


def _rows_reaching(times: Any, rows: Any, stops: Any, limits: Any) -> Any:
    """Returns each window's first row, from `rows` on, whose time reaches its limit, or its stop.

    Rows and stops grow, and so do the limits of one stop.
    """
    ends = np.empty(len(limits), np.int64)
    row = 0
    for window in range(len(limits)):
        row = _reach(times, max(row, rows[window]), stops[window], limits[window])
        ends[window] = row
    return ends


rows_reaching = compiled(_rows_reaching)
