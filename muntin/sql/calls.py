"""Reads calls in SQL: of windows, and of aggregate functions that are built from slices.

Windows are `window(time, size, slide, offset)` and `session_window(time, gap)`. A third function,
`CUMULATE`, has the arguments of `window`. Spark has no such function; only dialects use it, in
`Statement.query_text`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from muntin.aggregates.aggregate import Aggregate
from muntin.aggregates.parameters import ORDER
from muntin.aggregates.table import DISTINCT, FUNCTIONS, SPELLINGS
from muntin.errors import ModelError
from muntin.model.data_windows import Session, session
from muntin.model.time import format_duration, parse_duration
from muntin.model.windows import CumulateWindow, Window
from muntin.sql.functions import AGGREGATES, UNSTABLE, is_orderless, reason_not_shared
from muntin.sql.statements import Statement
from muntin.sql.tokens import NotSharedError, Span, WrongSqlError, calls, is_call, render

NAMES = ("window", "session_window")
CUMULATE = "_muntin_cumulate"
_PARTS = ("size", "slide", "offset")

# Durations that Spark reads and `parse_duration` does not: '.5 seconds', '1. seconds', '0 months'.
_ODD = re.compile(r"(?<!\d)\.\d|\d\.(?!\d)|(?<![\d.])0+\s+(?:month|year)", re.IGNORECASE)


# Words after a call that change its meaning.
FOLLOWERS = {
    "over": "OVER",
    "filter": "FILTER",
    "ignore": "IGNORE NULLS",
    "respect": "RESPECT NULLS",
    "within": "WITHIN GROUP",
    "within group": "WITHIN GROUP",
}
_ORDER_BY = "order by"
# The order of nulls does not matter, because nulls do not count.
_NULLS = (("nulls", "first"), ("nulls", "last"))


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


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call of a shared aggregate, the index after its last token, and a key of equal calls."""

    aggregate: Aggregate
    stop: int
    identity: tuple[object, ...]


def is_aggregate_call(tokens: Span, place: int) -> bool:
    """Whether a call of a shared aggregate function starts at an index."""
    return (
        tokens[place].norm in SPELLINGS
        and is_call(tokens, place)
        and tokens.kind_at(place - 1) != "DOT"
    )


def read_call(text: str, tokens: Span, place: int) -> Call:
    """Returns the call that starts at an index, with its WITHIN GROUP and FILTER."""
    function = SPELLINGS[tokens[place].norm]
    end = tokens.closing_position(place + 1)
    call = render(text, tokens[place : end + 1])
    order, stop = _read_within_group(tokens, end + 1, function, call)
    condition, stop = _read_filter(tokens, stop, call)
    follower = tokens[stop].norm if stop < len(tokens) else ""
    if follower in FOLLOWERS:
        raise NotSharedError(f"{call} {FOLLOWERS[follower]} is not built from slices")
    if FUNCTIONS[function].has_undefined_order and not _is_under_orderless(tokens, place, stop):
        raise NotSharedError(f"{call} {reason_not_shared(function)}")
    function, inside = _read_quantifier(tokens[place + 2 : end], function, call)
    parts = split_call(text, call, function, inside.split_at_commas(), order)
    for part in (*parts.arguments, condition):
        check_row_expression(part, call)
    counts_rows = function == "count" and (
        [token.kind for token in inside] in (["STAR"], ["NUMBER"])
    )
    if not counts_rows and any(map(star_places, parts.arguments)):
        raise NotSharedError(f"{call} reads every column")
    arguments = () if counts_rows else parts.arguments
    texts = [render(text, argument) for argument in arguments]
    try:
        aggregate = Aggregate(
            function=function,
            argument=texts[0] if texts else None,
            where=render(text, condition) if condition else None,
            others=tuple(texts[1:]),
            parameters=parts.parameters,
        )
    except ModelError as error:
        raise NotSharedError(f"{call}: {error}") from None
    identity = (
        function,
        tuple(map(Span.norms, arguments)),
        aggregate.parameters,
        condition.norms(),
    )
    return Call(aggregate=aggregate, stop=stop, identity=identity)


def _read_within_group(
    tokens: Span, stop: int, function: str, call: str
) -> tuple[Span | None, int]:
    """Returns the content of WITHIN GROUP at `stop`, if it is there, and the index after it."""
    words = " ".join(tokens[stop : stop + 2].norms())
    if not words.startswith("within group"):
        return None, stop
    stop += 2 if words == "within group" else 1
    if ORDER not in FUNCTIONS[function].parameters or tokens.kind_at(stop) != "L_PAREN":
        raise NotSharedError(f"{call} WITHIN GROUP is not built from slices")
    end = tokens.closing_position(stop)
    return tokens[stop + 1 : end], end + 1


def _read_filter(tokens: Span, stop: int, call: str) -> tuple[Span, int]:
    """Returns the condition of FILTER at `stop`, if it is there, and the index after it."""
    if tokens.kind_at(stop) != "FILTER" or tokens.kind_at(stop + 1) != "L_PAREN":
        return Span(), stop
    end = tokens.closing_position(stop + 1)
    condition = tokens[stop + 3 : end]
    if tokens.kind_at(stop + 2) != "WHERE" or not condition:
        raise NotSharedError(f"the FILTER of {call} is beyond the parser")
    return condition, end + 1


def _read_quantifier(inside: Span, function: str, call: str) -> tuple[str, Span]:
    """Returns the function and its arguments without DISTINCT or ALL."""
    quantifier = inside.kind_at(0)
    if quantifier not in {"DISTINCT", "ALL"} or len(inside) < 2:
        return function, inside
    if quantifier == "DISTINCT" and not FUNCTIONS[function].idempotent:
        if function not in DISTINCT:
            raise NotSharedError(f"{call} needs every distinct value")
        function = DISTINCT[function]
    return function, inside[1:]


def _is_under_orderless(tokens: Span, place: int, stop: int) -> bool:
    """Whether the tokens `[place, stop)` are the list argument of a function whose result does not
    depend on the order of the list."""
    if tokens.kind_at(place - 1) != "L_PAREN" or place < 2 or not is_call(tokens, place - 2):
        return False
    follower = tokens.kind_at(stop)
    return follower in {"R_PAREN", "COMMA"} and is_orderless(
        tokens[place - 2].norm, has_more=follower == "COMMA"
    )


def check_row_expression(tokens: Span, where: str) -> None:
    """Refuses what cannot be evaluated row by row: aggregates, windows, random values."""
    for place, name in calls(tokens):
        if name in AGGREGATES and tokens.kind_at(place - 1) != "DOT":
            raise NotSharedError(f"the aggregate {name} inside {where}")
        if name in UNSTABLE:
            raise NotSharedError(f"{name}() gives other values each time")
    for place, token in enumerate(tokens):
        if token.norm in {"window", "session_window"} and tokens.kind_at(place - 1) != "DOT":
            raise NotSharedError(f"a window inside {where}")


def star_places(tokens: Span) -> set[int]:
    """Returns the indexes at which `*` means all columns rather than a product."""
    return {
        place
        for place, token in enumerate(tokens)
        if token.kind == "STAR" and tokens.kind_at(place - 1) in {"", "DOT", "COMMA", "L_PAREN"}
    }


@dataclass(frozen=True, kw_only=True)
class CallParts:
    """The arguments of a call, and its parameters: constants such as percentages and orders."""

    arguments: tuple[Span, ...]
    parameters: tuple[str, ...] = ()


def split_call(
    text: str, call: str, function: str, given: Sequence[Span], order: Span | None
) -> CallParts:
    """Returns the arguments and parameters of a call; `order` is the content of WITHIN GROUP."""
    row = FUNCTIONS[function]
    if row.is_ordered_by_argument:
        return _read_order_by_argument(text, call, function, given, order)
    if ORDER in row.parameters:
        if order is not None:
            return _read_order(text, call, given, order, parameters=len(row.parameters) - 1)
        if [each.norms() for each in given[1:]] == [("true",)]:
            # The least of the most frequent values.
            return CallParts(arguments=tuple(given[:1]), parameters=("ASC",))
        if function == "mode" and len(given) in (1, 2):
            raise NotSharedError(
                f"{call} picks any of the most frequent values; mode(..., true) picks the least"
            )
    if function == "percentile" and [each.norms() for each in given[2:]] == [("1",)]:
        # A frequency of one is the default.
        given = given[:2]
    count = len(given) if row.is_variadic and given else row.arguments
    least = count + (len(row.parameters) if row.call_template else 0)
    if not least <= len(given) <= count + len(row.parameters):
        raise NotSharedError(f"{call} has {len(given) or 'no'} arguments")
    return CallParts(
        arguments=tuple(given[:count]),
        parameters=tuple(render(text, each) for each in given[count:]),
    )


def _read_order_by_argument(
    text: str, call: str, function: str, given: Sequence[Span], order: Span | None
) -> CallParts:
    if order is None:
        raise NotSharedError(f"{call} {reason_not_shared(function.removesuffix('_distinct'))}")
    ordered = _read_order(text, call, given[1:] or [Span()], order, parameters=1)
    if ordered.arguments[0].norms() != given[0].norms():
        raise NotSharedError(f"{call} is ordered by something else than its values, which may tie")
    delimiter, direction = ordered.parameters
    return CallParts(arguments=(given[0],), parameters=(delimiter or "NULL", direction))


def _read_order(
    text: str, call: str, given: Sequence[Span], order: Span, *, parameters: int
) -> CallParts:
    words = order.norms()
    if len(given) != parameters or words[:1] != (_ORDER_BY,):
        raise NotSharedError(f"{call} WITHIN GROUP is beyond the parser")
    end = len(words)
    if words[-2:] in _NULLS:
        end -= 2
    direction = "ASC"
    if words[end - 1] in ("asc", "desc"):
        direction = words[end - 1].upper()
        end -= 1
    argument = order[1:end]
    if len(argument.split_at_commas()) != 1:
        raise NotSharedError(f"{call} WITHIN GROUP is beyond the parser")
    texts = (render(text, each) for each in given)
    return CallParts(arguments=(argument,), parameters=(*texts, direction))
