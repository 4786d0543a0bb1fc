"""The table of aggregates: one row for each function, one for each part that a slice keeps of it.

A function that is built from parts that are there is one row of `FUNCTIONS`. A part says how Spark
makes it from events, and how two of it combine. Nothing outside this file knows a function by name:
slices, the compiled runtime, Spark's own combine, streams, SQL and costs all read the rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from muntin.errors import PlanError
from muntin.model.aggregates.formula import Formula
from muntin.model.aggregates.monoids import (
    ADD,
    ADD_FLOAT,
    ADD_WIDE,
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    FOUR_MOMENTS,
    MAX,
    MIN,
    MOMENTS,
    PAIR_MOMENTS,
    Monoid,
)

# How the scalars of a partial are stored. What is stored as bytes would be a storage of its own.
INTEGER = "integer"
FLOAT = "float"

# What the answer of a function is: of the type of its values, a count that is never null, a double.
VALUE = "value"
COUNT = "count"
DOUBLE = "double"


@dataclass(frozen=True, kw_only=True)
class Call:
    """One of Spark's aggregate functions, of some of a part's arguments."""

    function: str
    of: tuple[str, ...] = ("x",)


@dataclass(frozen=True, kw_only=True)
class Part:
    """What a slice may keep of an aggregate.

    Arguments are called x and y. Where `storage` is given they are numbers of that kind; otherwise
    the data decides. With two arguments a row counts if both are there.
    """

    name: str
    # How partials combine, by their storage; `ansi` where integers must notice overflow.
    monoids: Mapping[str, Monoid]
    ansi: Monoid | None = None
    storage: str | None = None
    # Spark's aggregates that it is made of, and its scalars as Spark SQL over these.
    calls: Mapping[str, Call]
    scalars: Mapping[str, str] = field(default_factory=lambda: {"value": "{value}"})
    # Its scalars of one record: of whether it counts, and its arguments.
    of_record: Formula
    # Whether the values matter, and not only whether they are there.
    is_of_values: bool = True
    # Spark's aggregate that combines partials of one scalar.
    combined_by: str | None = None
    # Whether a partial of no values is a partial, too: a count of zero, not null.
    is_never_null: bool = False

    def monoid(self, storage: str, *, ansi: bool) -> Monoid:
        """How partials in a storage combine; `ansi` integer sums know whether they overflowed."""
        if storage not in self.monoids:
            raise PlanError(f"a {self.name} of {storage}s is not kept in slices")
        if ansi and self.ansi is not None and storage == INTEGER:
            return self.ansi
        return self.monoids[storage]

    @property
    def all_monoids(self) -> tuple[Monoid, ...]:
        """Every monoid it may combine by, over all types that it may meet."""
        return (*self.monoids.values(), *([] if self.ansi is None else [self.ansi]))


def _simple(name: str, monoids: Mapping[str, Monoid]) -> Part:
    """A part that one of Spark's functions both makes and combines."""
    return Part(
        name=name,
        monoids=monoids,
        calls={"value": Call(function=name)},
        of_record=lambda there, x: (x,),
        combined_by=name,
    )


def _of_pairs(name: str, call: Call, of_record: Formula) -> Part:
    """A sum of one of two arguments, over rows that have both."""
    return Part(
        name=name,
        monoids={FLOAT: ADD_FLOAT},
        storage=FLOAT,
        calls={"value": call},
        of_record=of_record,
        combined_by="sum",
    )


# The mean of values that are all equal is that value, which a sum divided by a count may miss by a
# bit; what follows from it, that they do not vary, Spark's answers are null for.
_MEAN = "CASE WHEN {%(var)s} = 0 THEN {%(max)s} ELSE try_divide({%(sum)s}, {n}) END"

PARTS: dict[str, Part] = {
    part.name: part
    for part in (
        Part(
            name="count",
            monoids={INTEGER: ADD},
            storage=INTEGER,
            calls={"value": Call(function="count")},
            of_record=lambda there: (there,),
            is_of_values=False,
            combined_by="sum",
            is_never_null=True,
        ),
        Part(
            name="count_if",
            monoids={INTEGER: ADD},
            storage=INTEGER,
            calls={"value": Call(function="count_if")},
            of_record=lambda there, x: (x,),
            combined_by="sum",
            is_never_null=True,
        ),
        Part(
            name="sum",
            monoids={INTEGER: ADD, FLOAT: ADD_FLOAT},
            ansi=ADD_WIDE,
            calls={"value": Call(function="sum")},
            of_record=lambda there, x: (x,),
            combined_by="sum",
        ),
        Part(
            name="float_sum",
            monoids={FLOAT: ADD_FLOAT},
            storage=FLOAT,
            calls={"value": Call(function="sum")},
            of_record=lambda there, x: (x,),
            combined_by="sum",
        ),
        _of_pairs("sum_of_first", Call(function="sum"), lambda there, x, y: (x,)),
        _of_pairs("sum_of_second", Call(function="sum", of=("y",)), lambda there, x, y: (y,)),
        _simple("min", {INTEGER: MIN, FLOAT: MIN}),
        _simple("max", {INTEGER: MAX, FLOAT: MAX}),
        _simple("bit_and", {INTEGER: BIT_AND}),
        _simple("bit_or", {INTEGER: BIT_OR}),
        _simple("bit_xor", {INTEGER: BIT_XOR}),
        Part(
            name="moments",
            monoids={FLOAT: MOMENTS},
            storage=FLOAT,
            calls={
                "var": Call(function="var_pop"),
                "sum": Call(function="sum"),
                "n": Call(function="count"),
            },
            scalars={
                "n": "CAST({n} AS DOUBLE)",
                "mean": "try_divide({sum}, {n})",
                "m2": "{var} * {n}",
            },
            of_record=lambda there, x: (there, x, x - x),
            is_never_null=True,
        ),
        Part(
            name="four_moments",
            monoids={FLOAT: FOUR_MOMENTS},
            storage=FLOAT,
            calls={
                "var": Call(function="var_pop"),
                "skew": Call(function="skewness"),
                "kurt": Call(function="kurtosis"),
                "sum": Call(function="sum"),
                "max": Call(function="max"),
                "n": Call(function="count"),
            },
            scalars={
                "n": "CAST({n} AS DOUBLE)",
                "mean": _MEAN % {"var": "var", "max": "max", "sum": "sum"},
                "m2": "{var} * {n}",
                "m3": "coalesce({skew} * {var} * sqrt({var}) * {n}, 0D)",
                "m4": "coalesce(({kurt} + 3D) * {var} * {var} * {n}, 0D)",
            },
            of_record=lambda there, x: (there, x, x - x, x - x, x - x),
            is_never_null=True,
        ),
        Part(
            name="pair_moments",
            monoids={FLOAT: PAIR_MOMENTS},
            storage=FLOAT,
            calls={
                "var_x": Call(function="var_pop"),
                "var_y": Call(function="var_pop", of=("y",)),
                "covar": Call(function="covar_pop", of=("x", "y")),
                "sum_x": Call(function="sum"),
                "max_x": Call(function="max"),
                "sum_y": Call(function="sum", of=("y",)),
                "max_y": Call(function="max", of=("y",)),
                "n": Call(function="count"),
            },
            scalars={
                "n": "CAST({n} AS DOUBLE)",
                "mx": _MEAN % {"var": "var_x", "max": "max_x", "sum": "sum_x"},
                "my": _MEAN % {"var": "var_y", "max": "max_y", "sum": "sum_y"},
                "xx": "{var_x} * {n}",
                "yy": "{var_y} * {n}",
                "xy": "{covar} * {n}",
            },
            of_record=lambda there, x, y: (there, x, y, x - x, y - y, (x - x) * (y - y)),
            is_never_null=True,
        ),
    )
}


@dataclass(frozen=True, kw_only=True)
class Function:
    """An aggregate function that can be built from slices."""

    name: str
    # The parts that a slice keeps for it, by name.
    parts: tuple[str, ...]
    arguments: int = 1
    result: str = VALUE
    # The answer from the scalars of all parts, where it is not the only scalar itself; whether
    # there is one; and a condition under which it is a constant.
    answer: Formula | None = None
    has_answer: Formula | None = None
    constant: tuple[Formula, float] | None = None
    aliases: tuple[str, ...] = ()
    # Whether `spark.sql.legacy.statisticalAggregate` makes NaN of nulls.
    has_legacy: bool = False

    @cached_property
    def monoids(self) -> tuple[Monoid, ...]:
        """Every monoid it may combine by, over all types that it may meet."""
        return tuple(monoid for part in self.parts for monoid in PARTS[part].all_monoids)

    @cached_property
    def idempotent(self) -> bool:
        """Whether overlapping parents do no harm, and DISTINCT changes nothing."""
        return bool(self.monoids) and all(monoid.idempotent for monoid in self.monoids)

    @cached_property
    def selective(self) -> bool:
        """Whether its answer is one of the values."""
        return bool(self.monoids) and all(monoid.selective for monoid in self.monoids)

    @cached_property
    def casts(self) -> bool:
        """Whether Spark casts its values to doubles, one by one."""
        return any(PARTS[part].storage == FLOAT for part in self.parts)


def _spread(name: str, formula: Formula, *aliases: str, least: int) -> Function:
    """A measure of spread, of at least so many values."""
    return Function(
        name=name,
        parts=("moments",),
        result=DOUBLE,
        answer=formula,
        has_answer=lambda n, mean, m2: n > least,
        aliases=aliases,
        has_legacy=least > 0,
    )


def _pair(name: str, answer: Formula, has_answer: Formula, *, legacy: bool = False) -> Function:
    """A function of pairs; those of regression take y first, others do not tell."""
    return Function(
        name=name,
        parts=("pair_moments",),
        arguments=2,
        result=DOUBLE,
        answer=answer,
        has_answer=has_answer,
        has_legacy=legacy,
    )


# Of pairs the first argument is called x here, as the parts have it; Spark's regr_* call it y.
FUNCTIONS: dict[str, Function] = {
    function.name: function
    for function in (
        Function(name="count", parts=("count",), result=COUNT),
        Function(name="count_if", parts=("count_if",), result=COUNT),
        Function(name="sum", parts=("sum",)),
        Function(
            name="avg",
            parts=("float_sum", "count"),
            result=DOUBLE,
            answer=lambda total, n: total / n,
            has_answer=lambda total, n: n > 0,
            aliases=("mean",),
        ),
        Function(name="min", parts=("min",)),
        Function(name="max", parts=("max",)),
        Function(name="bool_or", parts=("max",), aliases=("any", "some")),
        Function(name="bool_and", parts=("min",), aliases=("every",)),
        Function(name="bit_and", parts=("bit_and",)),
        Function(name="bit_or", parts=("bit_or",)),
        Function(name="bit_xor", parts=("bit_xor",)),
        _spread("var_samp", lambda n, mean, m2: m2 / (n - 1), "variance", least=1),
        _spread("var_pop", lambda n, mean, m2: m2 / n, least=0),
        _spread("stddev_samp", lambda n, mean, m2: (m2 / (n - 1)) ** 0.5, "stddev", "std", least=1),
        _spread("stddev_pop", lambda n, mean, m2: (m2 / n) ** 0.5, least=0),
        Function(
            name="skewness",
            parts=("four_moments",),
            result=DOUBLE,
            answer=lambda n, mean, m2, m3, m4: n**0.5 * m3 / (m2 * m2 * m2) ** 0.5,
            has_answer=lambda n, mean, m2, m3, m4: (n > 0) & (m2 != 0),
            has_legacy=True,
        ),
        Function(
            name="kurtosis",
            parts=("four_moments",),
            result=DOUBLE,
            answer=lambda n, mean, m2, m3, m4: n * m4 / (m2 * m2) - 3.0,
            has_answer=lambda n, mean, m2, m3, m4: (n > 0) & (m2 != 0),
            has_legacy=True,
        ),
        _pair("covar_pop", lambda n, mx, my, xx, yy, xy: xy / n, lambda n, *_: n > 0),
        _pair(
            "covar_samp",
            lambda n, mx, my, xx, yy, xy: xy / (n - 1),
            lambda n, *_: n > 1,
            legacy=True,
        ),
        _pair(
            "corr",
            lambda n, mx, my, xx, yy, xy: xy / (xx * yy) ** 0.5,
            lambda n, mx, my, xx, yy, xy: (n > 1) & (xx != 0) & (yy != 0),
            legacy=True,
        ),
        Function(name="regr_count", parts=("count",), arguments=2, result=COUNT),
        *(
            Function(
                name=name,
                parts=(part, "count"),
                arguments=2,
                result=DOUBLE,
                answer=lambda total, n: total / n,
                has_answer=lambda total, n: n > 0,
            )
            for name, part in (("regr_avgy", "sum_of_first"), ("regr_avgx", "sum_of_second"))
        ),
        _pair("regr_syy", lambda n, mx, my, xx, *_: xx, lambda n, *_: n > 0),
        _pair("regr_sxx", lambda n, mx, my, xx, yy, xy: yy, lambda n, *_: n > 0),
        _pair("regr_sxy", lambda n, mx, my, xx, yy, xy: xy, lambda n, *_: n > 0),
        _pair(
            "regr_slope",
            lambda n, mx, my, xx, yy, xy: xy / yy,
            lambda n, mx, my, xx, yy, xy: (n > 0) & (yy != 0),
        ),
        _pair(
            "regr_intercept",
            lambda n, mx, my, xx, yy, xy: mx - xy / yy * my,
            lambda n, mx, my, xx, yy, xy: (n > 0) & (yy != 0),
        ),
        Function(
            name="regr_r2",
            parts=("pair_moments",),
            arguments=2,
            result=DOUBLE,
            answer=lambda n, mx, my, xx, yy, xy: xy * xy / (xx * yy),
            has_answer=lambda n, mx, my, xx, yy, xy: (n > 0) & (yy != 0),
            constant=(lambda n, mx, my, xx, yy, xy: xx == 0, 1.0),
        ),
    )
}

# Every spelling of a shared function, in lower case, to its canonical name.
SPELLINGS: dict[str, str] = {
    spelling: function.name
    for function in FUNCTIONS.values()
    for spelling in (function.name, *function.aliases)
}
