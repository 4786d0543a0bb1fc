"""Finds the rows at which periodic windows over any growing measure begin and end."""

from typing import Any, NamedTuple

import numpy as np

from muntin.techniques.kernels.compile import compile_kernel, inline


class Periods(NamedTuple):
    """Windows over a measure: number k begins at `offset + k * slide`; none is below `least`."""

    size: Any
    slide: Any
    offset: Any
    least: int


class KeyMemory(NamedTuple):
    """The state of each stretch's key before the stretch: how many windows are open, the number of
    the next window to begin, and whether the key has had a value."""

    open_counts: Any
    next_numbers: Any
    has_value: Any


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
    """Returns the number of the first window that contains a value."""
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
    """Appends an edge at a row for each window number in `[numbers[0], numbers[1])`; returns the
    edges, which may be a larger array, and how many there are."""
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


_reach, _first, _add_edges = (
    compile_kernel(_reach),
    compile_kernel(_first),
    compile_kernel(_add_edges),
)
_next_edge = inline(_next_edge)


def _find(values: Any, missing: Any, firsts: Any, periods: Any, memory: Any) -> Any:
    """Returns where windows begin and where they end, as two arrays of shape (4, count), in the
    order of the records.

    The rows of each array are: the record, the number of the window, the stretch, and 1 if the
    value of that record is the cause, or 0 if the data of the key has ended. `values` grow within a
    key, and those equal to `missing` come first. `next_numbers` and `has_value` of the memory are
    replaced by those after each stretch.
    """
    size, slide, offset, _ = periods
    begins, ends = np.empty((4, 16), np.int64), np.empty((4, 16), np.int64)
    begun = over = row = 0
    for key in range(len(firsts) + 1):
        stop = firsts[key] if key < len(firsts) else len(values)
        new, known = memory.next_numbers[key], memory.has_value[key]
        old = new - memory.open_counts[key]
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
                # Skip the windows without records.
                old = new = _first(values[row], periods)
            last = new
            while offset + last * slide <= values[row]:
                last += 1
            begins, begun = _add_edges(begins, begun, (new, last), row, key, 1)
            new = last
        memory.next_numbers[key], memory.has_value[key] = new, known
        if key < len(firsts):
            ends, over = _add_edges(ends, over, (old, new), stop, key, 0)
        row = stop
    return begins[:, :begun], ends[:, :over]


find = compile_kernel(_find)


def _grow(values: Any, present: Any, firsts: Any, highest: Any) -> None:
    """Replaces each value by the highest that its key has had so far.

    `highest` has a key's highest value before each stretch, and is replaced by the one after it.
    """
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


grow = compile_kernel(_grow)


def _number_rows(rows: Any, firsts: Any, seen: Any) -> None:
    """Fills `rows` with the number of each row among the rows of its key, from zero.

    `seen` has how many rows the key had before each stretch, and is replaced by the count after it.
    """
    row = 0
    for key in range(len(seen)):
        stop = firsts[key] if key < len(firsts) else len(rows)
        count = seen[key]
        while row < stop:
            rows[row] = count
            count += 1
            row += 1
        seen[key] = count


number_rows = compile_kernel(_number_rows)


def _rows_reaching(times: Any, rows: Any, stops: Any, limits: Any) -> Any:
    """Returns, for each window, the first row from `rows[i]` on whose time is at least `limits[i]`;
    `stops[i]` if there is none.

    Rows and stops ascend, and so do the limits of windows with the same stop.
    """
    ends = np.empty(len(limits), np.int64)
    row = 0
    for window in range(len(limits)):
        row = _reach(times, max(row, rows[window]), stops[window], limits[window])
        ends[window] = row
    return ends


rows_reaching = compile_kernel(_rows_reaching)
