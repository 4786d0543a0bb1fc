"""Which windows hold which partials: ranges of rows for every window that has closed."""

from typing import Any

from muntin.techniques.compiled.compile import compiled


def _next_begin(instant: int, slide: int, offset: int) -> int:
    """The first window begin after an instant."""
    return instant + 1 + (offset - instant - 1) % slide


_next_begin = compiled(_next_begin)


def _close(
    keys: Any,
    starts: Any,
    span: int,
    slide: int,
    offset: int,
    period: int,
    phase: int,
    lead: int,
    at_key: int,
    at_begin: int,
    until_key: int,
    until_time: int,
    first_begin: int,
    last_begin: int,
    lows: Any,
    highs: Any,
    begins: Any,
) -> tuple[int, int, int, int, bool]:
    """Fill `lows, highs, begins` with the windows that have closed, up to their length.

    Rows are ordered by (key, start). A window that begins at `a` reads the rows whose start is in
    `[a, a + span)`; with a `period`, only those from the last `t ≡ phase (mod period)` up to
    `a + lead` on. Every row before (`until_key`, `until_time`) has arrived, so a window of that
    key closes when `a + span` is not after `until_time`, and all windows of earlier keys close.
    Windows before (`at_key`, `at_begin`) were given out already. Windows without rows are stepped
    over, however long the gap. Of every key, only windows that begin from `first_begin` up to
    `last_begin` are asked for.

    Returns how many windows were filled in, the first row still needed, the (key, begin) from which
    to go on, and whether all closed windows found room.
    """
    count = 0
    row = 0
    while row < len(keys):
        key = keys[row]
        end = row + 1
        while end < len(keys) and keys[end] == key:
            end += 1
        begin = at_begin if key == at_key else _next_begin(starts[row] - span, slide, offset)
        if begin < first_begin:
            begin = _next_begin(first_begin - 1, slide, offset)
        low = row
        high = row
        while True:
            first = begin
            if period:
                first = begin + lead - (begin + lead - phase) % period
            while low < end and starts[low] < first:
                low += 1
            if low == end:
                break
            if starts[low] >= begin + span:
                begin = _next_begin(starts[low] - span, slide, offset)
                continue
            if begin > last_begin:
                break
            if key == until_key and begin + span > until_time:
                break
            if count == len(lows):
                return count, low, key, begin, False
            high = max(high, low)
            while high < end and starts[high] < begin + span:
                high += 1
            lows[count] = low
            highs[count] = high
            begins[count] = begin
            count += 1
            begin += slide
        at_key = key
        at_begin = begin
        row = low if key == until_key else end
        if key == until_key:
            break
    return count, row, at_key, at_begin, True


close = compiled(_close)


def _pick(
    starts: Any, lows: Any, highs: Any, begins: Any, offsets: Any, picked: Any, firsts: Any
) -> int:
    """Of each window's rows `[lows[i], highs[i])`, those that start at its begin plus an offset.

    Offsets ascend. Fills `picked` with the rows' numbers and `firsts[i + 1]` with how many there
    are up to window `i`; returns how many there are in all. A row that is not there held no event.
    """
    count = 0
    for index in range(len(lows)):
        low = lows[index]
        for offset in offsets:
            wanted = begins[index] + offset
            high = highs[index]
            while low < high:
                middle = (low + high) // 2
                if starts[middle] < wanted:
                    low = middle + 1
                else:
                    high = middle
            if low < highs[index] and starts[low] == wanted:
                picked[count] = low
                count += 1
        firsts[index + 1] = count
    return count


pick = compiled(_pick)
