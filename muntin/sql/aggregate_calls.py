"""Reads calls of aggregate functions, and finds why some are not built from slices."""

from collections.abc import Sequence
from dataclasses import dataclass

from muntin.aggregates.aggregate import Aggregate
from muntin.aggregates.table import DISTINCT, FUNCTIONS, ORDER, SPELLINGS
from muntin.errors import ModelError
from muntin.sql.functions import AGGREGATES, UNSTABLE, is_orderless, why_unshared
from muntin.sql.tokens import NotSharedError, Span, calls, is_call, render

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
class Call:
    """A call of a shared aggregate, the index after its last token, and a key of equal calls."""

    aggregate: Aggregate
    stop: int
    identity: tuple[object, ...]


def is_shared(tokens: Span, place: int) -> bool:
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
    if FUNCTIONS[function].has_any_order and not _is_under_orderless(tokens, place, stop):
        raise NotSharedError(f"{call} {why_unshared(function)}")
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
    count = len(given) if row.takes_more and given else row.arguments
    least = count + (len(row.parameters) if row.spelled else 0)
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
        raise NotSharedError(f"{call} {why_unshared(function.removesuffix('_distinct'))}")
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
