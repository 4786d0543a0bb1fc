"""Calls of aggregate functions: which are built from slices, and why others are not."""

from dataclasses import dataclass

from muntin.model.aggregates.aggregate import Aggregate
from muntin.model.aggregates.table import FUNCTIONS, SPELLINGS
from muntin.sql.functions import AGGREGATES, UNSTABLE, calls, is_call
from muntin.sql.tokens import NotSharedError, Span, closing, kind_at, norms, render, split

# What may follow a call and change its meaning.
_FOLLOWERS = {
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
    """The aggregate whose call begins at a place, FILTER included."""
    function = SPELLINGS[tokens[place].norm]
    end = closing(tokens, place + 1)
    call = render(text, tokens[place : end + 1])
    inside = tokens[place + 2 : end]
    stop = end + 1
    condition: Span = ()
    if kind_at(tokens, stop) == "FILTER" and kind_at(tokens, stop + 1) == "L_PAREN":
        end = closing(tokens, stop + 1)
        condition = tokens[stop + 3 : end]
        if kind_at(tokens, stop + 2) != "WHERE" or not condition:
            raise NotSharedError(f"the FILTER of {call} is beyond the parser")
        stop = end + 1
    follower = tokens[stop].norm if stop < len(tokens) else ""
    if follower in _FOLLOWERS:
        raise NotSharedError(f"{call} {_FOLLOWERS[follower]} is not built from slices")

    quantifier = kind_at(inside, 0)
    if quantifier in {"DISTINCT", "ALL"} and len(inside) > 1:
        if quantifier == "DISTINCT" and not FUNCTIONS[function].idempotent:
            raise NotSharedError(f"{call} needs every distinct value")
        inside = inside[1:]
    arguments = split(inside)
    if len(arguments) != FUNCTIONS[function].arguments:
        raise NotSharedError(f"{call} has {len(arguments) or 'no'} arguments")
    for part in (inside, condition):
        check_row_expression(part, call)
    counts_rows = function == "count" and (
        [token.kind for token in inside] in (["STAR"], ["NUMBER"])
    )
    if not counts_rows and star_places(inside):
        raise NotSharedError(f"{call} reads every column")
    if counts_rows:
        arguments = []
    texts = [render(text, argument) for argument in arguments]
    return Call(
        aggregate=Aggregate(
            function=function,
            argument=texts[0] if texts else None,
            where=render(text, condition) if condition else None,
            others=tuple(texts[1:]),
        ),
        stop=stop,
        identity=(function, norms(() if counts_rows else inside), norms(condition)),
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
