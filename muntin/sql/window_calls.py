"""Reads `window(time, size, slide, offset)` and `session_window(time, gap)`.

A third function, `CUMULATE`, has the arguments of `window`. Spark has no such function; only
dialects use it, in `Statement.read_as`.
"""

import re
from dataclasses import dataclass

from muntin.errors import ModelError
from muntin.model.time import format_duration, parse_duration
from muntin.model.windows.cumulate import CumulateWindow
from muntin.model.windows.data_windows import Session, session
from muntin.model.windows.window import Window
from muntin.sql.statements import Statement
from muntin.sql.tokens import NotSharedError, Span, WrongSqlError, render

NAMES = ("window", "session_window")
CUMULATE = "_muntin_cumulate"
_PARTS = ("size", "slide", "offset")

# Durations that Spark reads and `parse_duration` does not: '.5 seconds', '1. seconds', '0 months'.
_ODD = re.compile(r"(?<!\d)\.\d|\d\.(?!\d)|(?<![\d.])0+\s+(?:month|year)", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class WindowCall:
    """A window over a time expression. Equal calls are one window."""

    window: Window | Session
    time: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of its column in Spark."""
        return "session_window" if isinstance(self.window, Session) else "window"


def is_window(tokens: Span) -> bool:
    """Whether the tokens start with a call of one of these functions."""
    is_named = len(tokens) > 1 and tokens[0].norm in (*NAMES, CUMULATE)
    return is_named and tokens[1].kind == "L_PAREN"


def read_window(text: str, tokens: Span) -> tuple[WindowCall, str]:
    """Returns the window of a call, and the text of its time.

    Raises `WrongSqlError` for arguments that Spark is certain to refuse. Spark's own error would
    only be that the column `window` cannot be resolved.
    """
    time, *durations = tokens[2:-1].split_at_commas() or [Span()]
    if tokens[0].norm == "session_window":
        return _session(text, time, durations)
    if not 1 <= len(durations) <= 3 or not time:
        raise NotSharedError(
            f"window takes a time, a size, a slide and an offset, not {len(durations) + 1} "
            f"arguments"
        )
    if any(token.norm in {"window", "session_window"} for token in time):
        raise NotSharedError("its time is itself a window")
    values = [_duration(text, part, piece) for part, piece in zip(_PARTS, durations, strict=False)]
    size = values[0]
    slide = values[1] if len(values) > 1 else size
    offset = values[2] if len(values) > 2 else 0
    is_cumulate = tokens[0].norm == CUMULATE
    within = size if is_cumulate else slide
    if abs(offset) >= within > 0:
        raise WrongSqlError(
            f"a window's offset must be within its {'size' if is_cumulate else 'slide'} "
            f"({format_duration(within)}) in either direction, not {format_duration(offset)}",
            tokens[0].start,
        )
    try:
        grows = is_cumulate and size != slide
        window = (CumulateWindow if grows else Window)(size=size, slide=slide, offset=offset)
    except ModelError as error:
        raise WrongSqlError(str(error), tokens[0].start) from None
    return WindowCall(window=window, time=time.norms()), render(text, time)


def first_window(statement: Statement) -> Window | Session | None:
    """Returns the first window in a statement that can be read; None if there is none."""
    tokens = statement.tokens
    for place in range(len(tokens)):
        if is_window(tokens[place : place + 2]):
            try:
                call = tokens[place : tokens.closing_position(place + 1) + 1]
                return read_window(statement.text, call)[0].window
            except (NotSharedError, WrongSqlError):
                continue
    return None


def _session(text: str, time: Span, gaps: list[Span]) -> tuple[WindowCall, str]:
    if (
        len(gaps) != 1
        or not time
        or [token.kind for token in gaps[0].strip_parentheses()] != ["STRING"]
    ):
        raise NotSharedError("a session window whose gap is not a text")
    if any(token.norm in NAMES for token in time):
        raise NotSharedError("its time is itself a window")
    written = render(text, gaps[0].strip_parentheses())
    try:
        window = session(written[1:-1])
    except ModelError:
        raise NotSharedError(
            f"its session's gap is spelled {written}, which only Spark reads"
        ) from None
    return WindowCall(window=window, time=time.norms()), render(text, time)


def _duration(text: str, part: str, tokens: Span) -> int:
    """Returns the microseconds of an argument, which is a text in quotes or an integer."""
    tokens = tokens.strip_parentheses()
    written = render(text, tokens)
    kinds = [token.kind for token in tokens]
    if kinds in (["NUMBER"], ["DASH", "NUMBER"]) and re.fullmatch(r"(- ?)?\d+[lL]?", written):
        return int(written.rstrip("lL").replace(" ", ""))
    if "PLACEHOLDER" in kinds or "COLON" in kinds or "PARAMETER" in kinds:
        raise NotSharedError(f"its window's {part} is a parameter")
    if kinds and set(kinds) <= {"STRING", "RAW_STRING"}:
        odd = f"its window's {part} is spelled {written}, which only Spark reads"
        if len(kinds) > 1 or "\\" in written:
            raise NotSharedError(odd)
        value = written.lstrip("rR")[1:-1]
        try:
            return parse_duration(value)
        except ModelError as error:
            if _ODD.search(value):
                raise NotSharedError(odd) from None
            raise WrongSqlError(f"its window's {part}: {error}", tokens[0].start) from None
    hint = "; write it in quotes" if "INTERVAL" in kinds else ""
    raise WrongSqlError(
        f"its window's {part} must be text such as '1 minute' or an integer of "
        f"microseconds, not {written or 'nothing'}{hint}",
        tokens[0].start if tokens else 0,
    )
