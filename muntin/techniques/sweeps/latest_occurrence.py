"""Latest occurrence: of equal values, only the last one before a window's end counts.

needs      sets of values; overlap does no harm
time       one step for each entry and window query, however long windows are; sums of floats take
           the logarithm of the number of windows that an entry counts for
space      an integer for each entry, and one for each window
windows    one size and slide a sweep; what the sweep needs of the entries is found once for all
appeared   Patroumpas and Sellis, DBKDA 2011 (Subsumption, section 4: duplicate elimination)

Rows are slices. A value that occurs in row `r`, and next in row `n`, counts by its entry in `r` for
the windows `[low, high)` with `low <= r < high <= n`. Neither end of a window ever moves back, so
these are windows that follow each other: the answers of all are running sums of what begins and
ends with each of them.

```
rows       0    1    2    3    4    5
value      x         x              x
windows    [---------)                    x counts by row 0 for windows that end after it and before
                [---------)               row 2 has come, by row 2 for those that end up to row 5
                     [---------)
```
"""

from typing import Any

import numpy as np

from muntin.techniques.kernels.compile import compile_kernel


def find_next_rows(numbers: Any, offsets: Any, count: int) -> Any:
    """Returns, for each entry, the next row that has its value; the number of rows if none has.

    The entries of row `r` are `numbers[offsets[r] : offsets[r + 1]]`, all below `count`.
    """
    next_rows = np.empty(len(numbers), np.int32)
    latest = np.full(count, len(offsets) - 1, np.int32)
    _fill(numbers, offsets, latest, next_rows)
    return next_rows


def _fill_next_rows(numbers: Any, offsets: Any, latest: Any, next_rows: Any) -> None:
    for row in range(len(offsets) - 2, -1, -1):
        for entry in range(offsets[row], offsets[row + 1]):
            next_rows[entry] = latest[numbers[entry]]
            latest[numbers[entry]] = row


_fill = compile_kernel(_fill_next_rows)


def windows_of_rows(lows: Any, highs: Any, rows: int) -> tuple[Any, Any]:
    """Returns, for each row, the first window that ends after it, and the last window that begins
    at or before it.

    Window `i` has the rows `[lows[i], highs[i])`. Both arrays have one more element, for the row
    after the last one, whose first window is the number of windows.
    """
    firsts, lasts = np.empty(rows + 1, np.int32), np.empty(rows + 1, np.int32)
    _find_windows(lows, highs, firsts, lasts)
    return firsts, lasts


def _windows_of_rows(lows: Any, highs: Any, firsts: Any, lasts: Any) -> None:
    first = 0
    last = -1
    for row in range(len(firsts)):
        while first < len(highs) and highs[first] <= row:
            first += 1
        while last + 1 < len(lows) and lows[last + 1] <= row:
            last += 1
        firsts[row] = first
        lasts[row] = last


_find_windows = compile_kernel(_windows_of_rows)


def without_superseded(numbers: Any, offsets: Any, is_passed: Any, count: int) -> Any:
    """Returns which entries have no later occurrence of their value in a row of `is_passed`: once
    the watermark has passed a later occurrence, no window needs an earlier one."""
    stays = np.empty(len(numbers), np.bool_)
    _mark_latest(numbers, offsets, is_passed, np.zeros(count, np.bool_), stays)
    return stays


def _latest_entries(numbers: Any, offsets: Any, is_passed: Any, seen: Any, stays: Any) -> None:
    for row in range(len(offsets) - 2, -1, -1):
        for entry in range(offsets[row], offsets[row + 1]):
            stays[entry] = not seen[numbers[entry]]
            if is_passed[row]:
                seen[numbers[entry]] = True


_mark_latest = compile_kernel(_latest_entries)


def count_values(offsets: Any, next_rows: Any, lows: Any, highs: Any) -> Any:
    """Returns the number of distinct values of each window; windows are not empty, and advance."""
    steps = np.zeros(len(lows) + 1, np.int64)
    if len(lows):
        firsts, lasts = windows_of_rows(lows, highs, len(offsets) - 1)
        _count(offsets, next_rows, firsts, lasts, lows[0], highs[-1], steps)
    return np.cumsum(steps[:-1])


def _count_values(
    offsets: Any, next_rows: Any, firsts: Any, lasts: Any, low: int, high: int, steps: Any
) -> None:
    for row in range(low, high):
        first = firsts[row]
        if first > lasts[row]:
            continue
        for entry in range(offsets[row], offsets[row + 1]):
            behind = min(lasts[row] + 1, firsts[next_rows[entry]])
            if behind > first:
                steps[first] += 1
                steps[behind] -= 1


_count = compile_kernel(_count_values)


def sum_integers(offsets: Any, next_rows: Any, values: Any, lows: Any, highs: Any) -> Any:
    """Returns the sum of each window's distinct integers, in halves that cannot overflow.

    The sum is `(upper << 32) + lower`; there are fewer than 2^31 entries.
    """
    steps = np.zeros((2, len(lows) + 1), np.int64)
    if len(lows):
        firsts, lasts = windows_of_rows(lows, highs, len(offsets) - 1)
        _sum_halves(offsets, next_rows, values, firsts, lasts, lows[0], highs[-1], steps)
    lower, upper = np.cumsum(steps[:, :-1], axis=1)
    return lower, upper


def _sum_integers(
    offsets: Any,
    next_rows: Any,
    values: Any,
    firsts: Any,
    lasts: Any,
    low: int,
    high: int,
    steps: Any,
) -> None:
    for row in range(low, high):
        first = firsts[row]
        if first > lasts[row]:
            continue
        for entry in range(offsets[row], offsets[row + 1]):
            behind = min(lasts[row] + 1, firsts[next_rows[entry]])
            if behind > first:
                low_half = values[entry] & 0xFFFFFFFF
                high_half = values[entry] >> 32
                steps[0, first] += low_half
                steps[0, behind] -= low_half
                steps[1, first] += high_half
                steps[1, behind] -= high_half


_sum_halves = compile_kernel(_sum_integers)


def sum_floats(offsets: Any, next_rows: Any, values: Any, lows: Any, highs: Any) -> Any:
    """Returns the sum of each window's distinct floats.

    Nothing is subtracted, since that drifts, and an infinity would never leave. A value is added to
    the few nodes of a tree over the windows that make up those it counts for.
    """
    windows = len(lows)
    tree = np.zeros(2 * windows, np.float64)
    if windows:
        firsts, lasts = windows_of_rows(lows, highs, len(offsets) - 1)
        _add_to_tree(offsets, next_rows, values, firsts, lasts, lows[0], highs[-1], tree)
        _down(tree)
    return tree[windows:].copy()


def _sum_floats(
    offsets: Any,
    next_rows: Any,
    values: Any,
    firsts: Any,
    lasts: Any,
    low: int,
    high: int,
    tree: Any,
) -> None:
    windows = len(tree) // 2
    for row in range(low, high):
        first = firsts[row]
        if first > lasts[row]:
            continue
        for entry in range(offsets[row], offsets[row + 1]):
            left = first + windows
            right = min(lasts[row] + 1, firsts[next_rows[entry]]) + windows
            while left < right:
                if left & 1:
                    tree[left] += values[entry]
                    left += 1
                if right & 1:
                    right -= 1
                    tree[right] += values[entry]
                left >>= 1
                right >>= 1


def _hand_down(tree: Any) -> None:
    for node in range(2, len(tree)):
        tree[node] += tree[node >> 1]


_add_to_tree, _down = compile_kernel(_sum_floats), compile_kernel(_hand_down)


def unite(
    numbers: Any, counts: Any, offsets: Any, next_rows: Any, lows: Any, highs: Any, sizes: Any
) -> tuple[Any, Any]:
    """Returns the latest entry of each value of each window, window by window, and how often the
    value occurs, or None without `counts`.

    `sizes` has the number of distinct values of each window. Windows are not empty, and advance.
    """
    # A row of entries, and one of how often their values occur.
    chosen = np.empty((1 if counts is None else 2, int(sizes.sum())), np.int64)
    tally = np.zeros(0 if counts is None else int(numbers.max(initial=-1)) + 1, np.int64)
    _unite(numbers, counts, offsets, next_rows, lows, highs, chosen, tally)
    return chosen[0], None if counts is None else chosen[1]


def _unite_windows(
    numbers: Any,
    counts: Any,
    offsets: Any,
    next_rows: Any,
    lows: Any,
    highs: Any,
    chosen: Any,
    tally: Any,
) -> None:
    place = 0
    for window in range(len(lows)):
        for entry in range(offsets[lows[window]], offsets[highs[window]]):
            is_latest = next_rows[entry] >= highs[window]
            if counts is not None:
                tally[numbers[entry]] += counts[entry]
                if is_latest:
                    chosen[1, place] = tally[numbers[entry]]
                    tally[numbers[entry]] = 0
            if is_latest:
                chosen[0, place] = entry
                place += 1


_unite = compile_kernel(_unite_windows)
