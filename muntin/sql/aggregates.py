"""Calls of aggregate functions: which are built from slices, and why others are not."""

from dataclasses import dataclass

from muntin.errors import ModelError
from muntin.model.aggregates.aggregate import Aggregate
from muntin.model.aggregates.table import DISTINCT, FUNCTIONS, ORDER, SPELLINGS
from muntin.sql.functions import AGGREGATES, UNSTABLE, calls, is_call, is_orderless, why_unshared
from muntin.sql.parameters_of_calls import written_call
from muntin.sql.tokens import NotSharedError, Span, closing, kind_at, norms, render, split

# What may follow a call and change its meaning.
FOLLOWERS = {
    "over": "OVER",
    "filter": "FILTER",
    "ignore": "IGNORE NULLS",
    "respect": "RESPECT NULLS",
    "within": "WITHIN GROUP",
    "within group": "WITHIN GROUP",
}


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call of a shared aggregate: what it computes, where it ends, and what equal calls share."""

    aggregate: Aggregate
    stop: int
    identity: tuple[object, ...]


def is_shared(tokens: Span, place: int) -> bool:
    """Whether a call of a shared aggregate function begins at a place."""
    return (
        tokens[place].norm in SPELLINGS
        and is_call(tokens, place)
        and kind_at(tokens, place - 1) != "DOT"
    )


def read_call(text: str, tokens: Span, place: int) -> Call:
    """The aggregate whose call begins at a place, WITHIN GROUP and FILTER included."""
    function = SPELLINGS[tokens[place].norm]
    end = closing(tokens, place + 1)
    call = render(text, tokens[place : end + 1])
    inside = tokens[place + 2 : end]
    stop = end + 1
    order: Span | None = None
    words = " ".join(norms(tokens[stop : stop + 2]))
    if words.startswith("within group"):
        stop += 2 if words == "within group" else 1
        if ORDER not in FUNCTIONS[function].parameters or kind_at(tokens, stop) != "L_PAREN":
            raise NotSharedError(f"{call} WITHIN GROUP is not built from slices")
        end = closing(tokens, stop)
        order = tokens[stop + 1 : end]
        stop = end + 1
    condition: Span = ()
    if kind_at(tokens, stop) == "FILTER" and kind_at(tokens, stop + 1) == "L_PAREN":
        end = closing(tokens, stop + 1)
        condition = tokens[stop + 3 : end]
        if kind_at(tokens, stop + 2) != "WHERE" or not condition:
            raise NotSharedError(f"the FILTER of {call} is beyond the parser")
        stop = end + 1
    follower = tokens[stop].norm if stop < len(tokens) else ""
    if follower in FOLLOWERS:
        raise NotSharedError(f"{call} {FOLLOWERS[follower]} is not built from slices")

    if FUNCTIONS[function].has_any_order and not _is_under_orderless(tokens, place, stop):
        raise NotSharedError(f"{call} {why_unshared(function)}")

    quantifier = kind_at(inside, 0)
    if quantifier in {"DISTINCT", "ALL"} and len(inside) > 1:
        if quantifier == "DISTINCT" and not FUNCTIONS[function].idempotent:
            if function not in DISTINCT:
                raise NotSharedError(f"{call} needs every distinct value")
            function = DISTINCT[function]
        inside = inside[1:]
    written = written_call(text, call, function, split(inside), order)
    for part in (*written.arguments, condition):
        check_row_expression(part, call)
    counts_rows = function == "count" and (
        [token.kind for token in inside] in (["STAR"], ["NUMBER"])
    )
    if not counts_rows and any(map(star_places, written.arguments)):
        raise NotSharedError(f"{call} reads every column")
    arguments = () if counts_rows else written.arguments
    texts = [render(text, argument) for argument in arguments]
    try:
        aggregate = Aggregate(
            function=function,
            argument=texts[0] if texts else None,
            where=render(text, condition) if condition else None,
            others=tuple(texts[1:]),
            parameters=written.parameters,
        )
    except ModelError as error:
        raise NotSharedError(f"{call}: {error}") from None
    named = tuple(map(norms, arguments))
    identity = (function, named, aggregate.parameters, norms(condition))
    return Call(aggregate=aggregate, stop=stop, identity=identity)


def _is_under_orderless(tokens: Span, place: int, stop: int) -> bool:
    """Whether the tokens at `[place, stop)` are the list of a function that does not heed its
    order."""
    if kind_at(tokens, place - 1) != "L_PAREN" or place < 2 or not is_call(tokens, place - 2):
        return False
    follower = kind_at(tokens, stop)
    return follower in {"R_PAREN", "COMMA"} and is_orderless(
        tokens[place - 2].norm, has_more=follower == "COMMA"
    )


def check_row_expression(tokens: Span, where: str) -> None:
    """Refuse what cannot be evaluated row by row: aggregates, windows, random values."""
    for place, name in calls(tokens):
        if name in AGGREGATES and kind_at(tokens, place - 1) != "DOT":
            raise NotSharedError(f"the aggregate {name} inside {where}")
        if name in UNSTABLE:
            raise NotSharedError(f"{name}() gives other values each time")
    for place, token in enumerate(tokens):
        if token.norm in {"window", "session_window"} and kind_at(tokens, place - 1) != "DOT":
            raise NotSharedError(f"a window inside {where}")


def star_places(tokens: Span) -> set[int]:
    """Returns the places where `*` means all columns rather than a product."""
    return {
        place
        for place, token in enumerate(tokens)
        if token.kind == "STAR" and kind_at(tokens, place - 1) in {"", "DOT", "COMMA", "L_PAREN"}
    }
