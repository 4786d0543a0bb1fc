"""Tells the arguments of an aggregate's call from its parameters: percentages and orders."""

from collections.abc import Sequence
from dataclasses import dataclass

from muntin.model.aggregates.table import FUNCTIONS, ORDER
from muntin.sql.functions import why_unshared
from muntin.sql.tokens import NotSharedError, Span, norms, render, split

_ORDER_BY = "order by"
# How nulls are ordered does not matter: they do not count.
_NULLS = (("nulls", "first"), ("nulls", "last"))


@dataclass(frozen=True, kw_only=True)
class WrittenCall:
    """What a call is of, and the constants that it is called with."""

    arguments: tuple[Span, ...]
    parameters: tuple[str, ...] = ()


def written_call(
    text: str, call: str, function: str, given: Sequence[Span], order: Span | None
) -> WrittenCall:
    """Returns the arguments and parameters of a call; `order` is what stands in WITHIN GROUP."""
    row = FUNCTIONS[function]
    if row.is_ordered_by_argument:
        return _ordered_by_argument(text, call, function, given, order)
    if ORDER in row.parameters:
        if order is not None:
            return _ordered(text, call, given, order, parameters=len(row.parameters) - 1)
        if [norms(each) for each in given[1:]] == [("true",)]:
            # Of the most frequent values, the least.
            return WrittenCall(arguments=tuple(given[:1]), parameters=("ASC",))
        if function == "mode" and len(given) in (1, 2):
            raise NotSharedError(
                f"{call} picks any of the most frequent values; mode(..., true) picks the least"
            )
    if function == "percentile" and [norms(each) for each in given[2:]] == [("1",)]:
        # Each value counts once, as it does if nothing is said.
        given = given[:2]
    count = len(given) if row.takes_more and given else row.arguments
    least = count + (len(row.parameters) if row.spelled else 0)
    if not least <= len(given) <= count + len(row.parameters):
        raise NotSharedError(f"{call} has {len(given) or 'no'} arguments")
    return WrittenCall(
        arguments=tuple(given[:count]),
        parameters=tuple(render(text, each) for each in given[count:]),
    )


def _ordered_by_argument(
    text: str, call: str, function: str, given: Sequence[Span], order: Span | None
) -> WrittenCall:
    if order is None:
        raise NotSharedError(f"{call} {why_unshared(function.removesuffix('_distinct'))}")
    ordered = _ordered(text, call, given[1:] or [()], order, parameters=1)
    if norms(ordered.arguments[0]) != norms(given[0]):
        raise NotSharedError(f"{call} is ordered by something else than its values, which may tie")
    delimiter, direction = ordered.parameters
    return WrittenCall(arguments=(given[0],), parameters=(delimiter or "NULL", direction))


def _ordered(
    text: str, call: str, given: Sequence[Span], order: Span, *, parameters: int
) -> WrittenCall:
    words = norms(order)
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
    if len(split(argument)) != 1:
        raise NotSharedError(f"{call} WITHIN GROUP is beyond the parser")
    texts = (render(text, each) for each in given)
    return WrittenCall(arguments=(argument,), parameters=(*texts, direction))
