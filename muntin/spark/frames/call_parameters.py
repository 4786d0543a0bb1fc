"""Tells the arguments of a resolved call from its parameters: percentages and orders."""

import re

from muntin.model.aggregates.table import FUNCTIONS, ORDER
from muntin.spark.engine.catalyst import Expression, children, kind, relative_error
from muntin.spark.frames.chain import NotSharedError
from muntin.sql.functions import why_unshared

# How often a value of `percentile` counts, unless it is said.
_ONCE = {"1", "1L"}
_CAST = re.compile(r"CAST\(([^()]*) AS DOUBLE\)")


def arguments_and_parameters(
    function: Expression, spelled: str
) -> tuple[list[Expression], tuple[str, ...]]:
    """Returns what a function of the table is called with, and its parameters as Spark SQL."""
    given = list(children(function))
    row = FUNCTIONS[spelled]
    if not row.parameters:
        return given, ()
    if row.spelled is None:
        return _optional(function, given, row.arguments)
    if row.is_ordered_by_argument:
        return _ordered_by_argument(function)
    if spelled == "mode":
        order = function.reverseOpt()
        if not order.isDefined():
            raise NotSharedError(f"{function.sql()} picks any of the most frequent values")
        # Spark looks for the greatest, in reverse order for the least.
        return given, ("ASC" if order.get() else "DESC",)
    if any(each.sql() not in _ONCE for each in given[2:]):
        raise NotSharedError(f"{function.sql()} has a frequency")
    # Spark casts constants of other types.
    parameters = [_CAST.sub(r"\1", given[1].sql())]
    if ORDER in row.parameters:
        parameters.append("DESC" if function.reverse() else "ASC")
    return given[:1], tuple(parameters)


def _ordered_by_argument(function: Expression) -> tuple[list[Expression], tuple[str, ...]]:
    """Returns the argument of a call that is ordered by it, and its delimiter and order."""
    argument, delimiter, *orders = children(function)
    if not orders:
        raise NotSharedError(f"{function.sql()} {why_unshared(function.prettyName())}")
    if len(orders) > 1 or not children(orders[0])[0].semanticEquals(argument):
        raise NotSharedError(f"{function.sql()} is ordered by something else than its values")
    return [argument], (delimiter.sql(), orders[0].direction().sql())


def _optional(
    function: Expression, given: list[Expression], arguments: int
) -> tuple[list[Expression], tuple[str, ...]]:
    """Returns the arguments, and the constants behind them."""
    error = relative_error(function)
    if error is not None:
        return given, (f"{error!r}D",)
    constants = given[arguments:]
    if not all(kind(each) == "Literal" for each in constants):
        raise NotSharedError(f"{function.sql()} has a parameter that is not written out")
    return given[:arguments], tuple(each.sql() for each in constants)
