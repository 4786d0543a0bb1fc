"""Aggregates as algebra: what is kept per slice, how two partials combine, what that permits.

An `Aggregate` is what a query asks for (`avg(temp)`). It is made of `Component`s, the columns kept
per slice (a sum and a count). A component combines by a `Monoid`. Combines are plain functions of
scalars or tuples, so that the same source runs in Python and compiled.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from muntin.errors import ModelError, nearest
from muntin.model.sql_text import uncommented


@dataclass(frozen=True, kw_only=True)
class Monoid:
    """An associative `combine` with an identity; what else it permits is said by its fields."""

    name: str
    combine: Callable[[Any, Any], Any]
    # `inverse(combine(a, b), a) == b`, exactly; never for floats, where subtraction drifts.
    inverse: Callable[[Any, Any], Any] | None = None
    # `combine(a, b)` is always `a` or `b`: a deque of candidates can answer it.
    selective: bool = False
    # `combine(a, a) == a`: overlapping parents do no harm.
    idempotent: bool = False
    # Scalars in one partial; more than one travel as a tuple.
    width: int = 1


def add(a: Any, b: Any) -> Any:
    """Sum of two partials; integers wrap, as Spark's do with ANSI off."""
    return a + b


def subtract(a: Any, b: Any) -> Any:
    """Inverse of `add`, for integers."""
    return a - b


def add_wide(a: Any, b: Any) -> Any:
    """Sum of (low word, times it went round): an int64 sum that knows whether it overflowed."""
    low = a[0] + b[0]
    turns = a[1] + b[1]
    if (a[0] >= 0) == (b[0] >= 0) and (low >= 0) != (a[0] >= 0):
        turns += 1 if a[0] >= 0 else -1
    return (low, turns)


def subtract_wide(a: Any, b: Any) -> Any:
    """Inverse of `add_wide`."""
    low = a[0] - b[0]
    turns = a[1] - b[1]
    if (a[0] >= 0) != (b[0] >= 0) and (low >= 0) != (a[0] >= 0):
        turns += 1 if a[0] >= 0 else -1
    return (low, turns)


def smaller(a: Any, b: Any) -> Any:
    """Minimum in Spark's order, in which NaN is above everything; `x != x` asks for NaN."""
    if a != a:
        return b
    if b != b:
        return a
    return a if a <= b else b


def larger(a: Any, b: Any) -> Any:
    """Maximum in Spark's order, in which NaN is above everything."""
    if a != a:
        return a
    if b != b:
        return b
    return a if a >= b else b


def merge_moments(a: Any, b: Any) -> Any:
    """Chan's merge of (count, mean, sum of squared deviations)."""
    if a[0] == 0.0:
        return b
    if b[0] == 0.0:
        return a
    count = a[0] + b[0]
    delta = b[1] - a[1]
    share = delta / count
    return (count, a[1] + share * b[0], a[2] + b[2] + delta * share * a[0] * b[0])


ADD = Monoid(name="add", combine=add, inverse=subtract)
ADD_WIDE = Monoid(name="add_wide", combine=add_wide, inverse=subtract_wide, width=2)
ADD_FLOAT = Monoid(name="add_float", combine=add)
MIN = Monoid(name="min", combine=smaller, selective=True, idempotent=True)
MAX = Monoid(name="max", combine=larger, selective=True, idempotent=True)
MOMENTS = Monoid(name="moments", combine=merge_moments, width=3)


@dataclass(frozen=True, kw_only=True)
class Component:
    """One thing kept per slice: a kind (how it is lifted and combined) of an argument.

    `argument` and `where` are Spark SQL; `where` is the aggregate's own FILTER clause.
    """

    kind: str
    argument: str | None = None
    where: str | None = None


@dataclass(frozen=True, kw_only=True)
class Function:
    """An aggregate function that can be built from slices."""

    name: str
    kinds: tuple[str, ...]
    # Every monoid it is made of, taken over the types it may meet.
    idempotent: bool = False
    selective: bool = False
    aliases: tuple[str, ...] = ()
    # DISTINCT changes nothing: min and max.
    ignores_distinct: bool = False


FUNCTIONS: dict[str, Function] = {
    function.name: function
    for function in (
        Function(name="count", kinds=("count",)),
        Function(name="count_if", kinds=("count_if",)),
        Function(name="sum", kinds=("sum",)),
        Function(name="avg", kinds=("float_sum", "count"), aliases=("mean",)),
        Function(
            name="min", kinds=("min",), idempotent=True, selective=True, ignores_distinct=True
        ),
        Function(
            name="max", kinds=("max",), idempotent=True, selective=True, ignores_distinct=True
        ),
        Function(name="var_samp", kinds=("moments",), aliases=("variance",)),
        Function(name="var_pop", kinds=("moments",)),
        Function(name="stddev_samp", kinds=("moments",), aliases=("stddev", "std")),
        Function(name="stddev_pop", kinds=("moments",)),
        Function(
            name="bool_or",
            kinds=("max",),
            idempotent=True,
            selective=True,
            aliases=("any", "some"),
            ignores_distinct=True,
        ),
        Function(
            name="bool_and",
            kinds=("min",),
            idempotent=True,
            selective=True,
            aliases=("every",),
            ignores_distinct=True,
        ),
    )
}

# Every spelling of a shared function, in lower case, to its canonical name.
SPELLINGS: dict[str, str] = {
    spelling: function.name
    for function in FUNCTIONS.values()
    for spelling in (function.name, *function.aliases)
}


@dataclass(frozen=True, kw_only=True, order=True)
class Aggregate:
    """`function(argument) FILTER (WHERE where)`; no argument means `count(*)`."""

    function: str
    argument: str | None = None
    where: str | None = None

    def __post_init__(self) -> None:
        if self.function not in FUNCTIONS:
            raise ModelError(
                f"{self.function!r} is not an aggregate that is built from slices; "
                + nearest(self.function, list(FUNCTIONS))
            )
        if self.argument is None and self.function != "count":
            raise ModelError(f"{self.function} needs an argument, such as {self.function}('temp')")
        for part in ("argument", "where"):
            text = getattr(self, part)
            object.__setattr__(self, part, text and uncommented(text))

    @property
    def definition(self) -> Function:
        """The function's entry in `FUNCTIONS`."""
        return FUNCTIONS[self.function]

    @property
    def components(self) -> tuple[Component, ...]:
        """What a slice keeps for this aggregate."""
        return tuple(
            Component(kind=kind, argument=self.argument, where=self.where)
            for kind in self.definition.kinds
        )

    def to_sql(self) -> str:
        """The call as Spark SQL."""
        call = f"{self.function}({'*' if self.argument is None else self.argument})"
        return call if self.where is None else f"{call} FILTER (WHERE {self.where})"

    def __str__(self) -> str:
        return self.to_sql()


def count(argument: str | None = None) -> Aggregate:
    """`count(*)`, or the rows where `argument` is not null."""
    return Aggregate(function="count", argument=argument)


def count_if(condition: str) -> Aggregate:
    """The rows where `condition` is true."""
    return Aggregate(function="count_if", argument=condition)


def sum_(argument: str) -> Aggregate:
    """The sum of a Spark expression."""
    return Aggregate(function="sum", argument=argument)


def avg(argument: str) -> Aggregate:
    """The mean of a Spark expression."""
    return Aggregate(function="avg", argument=argument)


def min_(argument: str) -> Aggregate:
    """The least value of a Spark expression."""
    return Aggregate(function="min", argument=argument)


def max_(argument: str) -> Aggregate:
    """The greatest value of a Spark expression."""
    return Aggregate(function="max", argument=argument)


def variance(argument: str, *, population: bool = False) -> Aggregate:
    """The variance of a Spark expression, of a sample unless told otherwise."""
    return Aggregate(function="var_pop" if population else "var_samp", argument=argument)


def stddev(argument: str, *, population: bool = False) -> Aggregate:
    """The standard deviation of a Spark expression, of a sample unless told otherwise."""
    return Aggregate(function="stddev_pop" if population else "stddev_samp", argument=argument)


def any_(condition: str) -> Aggregate:
    """Whether a condition holds in some row."""
    return Aggregate(function="bool_or", argument=condition)


def every(condition: str) -> Aggregate:
    """Whether a condition holds in all rows."""
    return Aggregate(function="bool_and", argument=condition)
