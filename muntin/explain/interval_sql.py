"""Intervals of windows as arithmetic of Spark SQL, over `at`: microseconds since 1970.

`window(...)` may stand only once in a SELECT, and one statement for all queries has many windows.
"""

from muntin.model.windows.window import Window

_EPOCH_NTZ = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"


def bounds(window: Window, size: int) -> tuple[str, str]:
    """The first and the last interval of a window that hold `[at, at + size)` whole.

    Intervals are known as `Window` says.
    """
    before = window.size - size
    first = f"at - {before}L + pmod({window.offset + before}L - at, {window.slide}L)"
    return first, f"at - {_since(window.offset, window.begin_period)}"


def intervals(window: Window, size: int) -> str:
    """All intervals of a window that hold `[at, at + size)` whole, as an array."""
    first, last = bounds(window, size)
    return f"array({last})" if window.is_tumbling else f"sequence({first}, {last}, {window.slide}L)"


def begin_of(window: Window) -> str:
    """Where the interval that is known as `at` begins."""
    if not window.grows:
        return "at"
    lead = window.size - window.slide
    return f"at + {lead}L - {_since(window.offset - lead, window.size)}"


def _since(offset: int, period: int) -> str:
    """The time since the last `t ≡ offset (mod period)`."""
    offset %= period
    return f"pmod(at{f' - {offset}L' if offset else ''}, {period}L)"


def micros_of(instant: str) -> str:
    """Microseconds since 1970 of an instant, whichever type it has: a local one or not."""
    since = f"(CAST({instant} AS TIMESTAMP_NTZ) - {_EPOCH_NTZ})"
    seconds = f"CAST(CAST({since} AS INTERVAL SECOND) AS BIGINT)"
    rest = f"({since} - INTERVAL '1' SECOND * {seconds}) * 1000000"
    local = f"{seconds} * 1000000L + CAST(CAST({rest} AS INTERVAL SECOND) AS BIGINT)"
    micros = f"unix_micros(CAST({instant} AS TIMESTAMP))"
    return f"CASE WHEN typeof({instant}) = 'timestamp_ntz' THEN {local} ELSE {micros} END"


def later(instant: str, micros: str) -> str:
    """An instant and so many microseconds: no days, which have no fixed length."""
    seconds = f"CAST({micros} AS DECIMAL(20, 0)) / 1000000"
    return f"{instant} + make_interval(0, 0, 0, 0, 0, 0, {seconds})"
