"""Which windows hold which partials: ranges of rows for every window that has closed."""

from typing import Any, NamedTuple

from muntin.techniques.kernels.compile import compile_kernel, inline


class Position(NamedTuple):
    """A place in the order (key, time). As a frontier: everything before it has arrived."""

    key: int
    time: int


class WindowShape(NamedTuple):
    """A window that begins at `a ≡ offset (mod slide)` reads the rows whose start is in
    `[a, a + span)`; with a `period`, only those from the last `t ≡ phase (mod period)` up to
    `a + lead` on."""

    span: int
    slide: int
    offset: int
    period: int
    phase: int
    lead: int


def _begin_after(instant: Any, shape: WindowShape) -> int:
    """The first window begin after an instant."""
    begin: int = instant + 1 + (shape.offset - instant - 1) % shape.slide
    return begin


def _first_start(begin: int, shape: WindowShape) -> int:
    """The first start that a window reads."""
    if shape.period:
        return begin + shape.lead - (begin + shape.lead - shape.phase) % shape.period
    return begin


def _skip_below(values: Any, row: int, stop: int, limit: int) -> int:
    """The first row from `row` on whose value is not below the limit, or `stop`."""
    while row < stop and values[row] < limit:
        row += 1
    return row


_begin_after, _first_start = inline(_begin_after), inline(_first_start)
_skip_below = inline(_skip_below)


def _close(
    keys: Any, starts: Any, shape: Any, given: Any, until: Any, asked: Any, ranges: Any
) -> tuple[int, int, int, int, bool]:
    """Fill `ranges` with the windows that have closed, up to their length: the first row of each,
    the row after its last, and its begin.

    Rows are ordered by (key, start). Every row before `until` has arrived, so a window of that key
    closes when its span ends up to that time, and all windows of earlier keys close. Windows before
    `given` were given out already. Windows without rows are stepped over, however long the gap. For
    every key, only windows that begin within `asked`, its two ends included, are filled in.

    Returns how many windows were filled in, the first row still needed, the (key, begin) from which
    to go on, and whether all closed windows found room.
    """
    lows, highs, begins = ranges
    at_key, at_begin = given.key, given.time
    count = row = 0
    while row < len(keys):
        key = keys[row]
        end = _skip_below(keys, row, len(keys), key + 1)
        begin = at_begin if key == at_key else _begin_after(starts[row] - shape.span, shape)
        if begin < asked[0]:
            begin = _begin_after(asked[0] - 1, shape)
        low = high = row
        while True:
            low = _skip_below(starts, low, end, _first_start(begin, shape))
            if low == end:
                break
            if starts[low] >= begin + shape.span:
                begin = _begin_after(starts[low] - shape.span, shape)
                continue
            if begin > asked[1] or (key == until.key and begin + shape.span > until.time):
                break
            if count == len(lows):
                return count, low, key, begin, False
            high = _skip_below(starts, max(high, low), end, begin + shape.span)
            lows[count], highs[count], begins[count] = low, high, begin
            count += 1
            begin += shape.slide
        at_key, at_begin = key, begin
        row = low if key == until.key else end
        if key == until.key:
            break
    return count, row, at_key, at_begin, True


close = compile_kernel(_close)


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


pick = compile_kernel(_pick)
