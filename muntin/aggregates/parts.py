"""Parts: the values that a slice can keep for an aggregate, one row of the table for each.

A row has the Spark SQL that computes the part from events, and the monoid that combines two
partials.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from muntin.aggregates.formula import Formula
from muntin.aggregates.monoids import (
    ADD,
    ADD_FLOAT,
    BAG,
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    FOUR_MOMENTS,
    MAX,
    MIN,
    MOMENTS,
    PAIR_MOMENTS,
    REGISTERS,
    SET,
    Monoid,
)
from muntin.aggregates.representations import (
    FLOAT,
    INTEGER,
    ArgExtremes,
    CheckedSums,
    CodedValues,
    DecimalSums,
    Numbers,
    Registers,
    Representation,
    SetsOfValues,
    is_number,
)
from muntin.errors import PlanError

# Stands for every type of values but `INTEGER` and `FLOAT`.
TYPED = "typed"


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call of one of Spark's aggregate functions on some of a part's arguments."""

    function: str
    of: tuple[str, ...] = ("x",)


@dataclass(frozen=True, kw_only=True)
class Part:
    """A value that a slice can keep for an aggregate.

    Its arguments are x and y. Of two arguments, both must be non-null for a row to count.
    """

    name: str
    # How partials are represented, by the type of their values: `INTEGER`, `FLOAT` or `TYPED`;
    # `ansi` is for integers that must detect overflow.
    representations: Mapping[str, Representation]
    ansi: Representation | None = None
    # The type of the values, if it does not depend on the data.
    value_type: str | None = None
    # The calls of Spark's aggregates that it is made of, and its scalars as Spark SQL over them.
    calls: Mapping[str, Call]
    scalars: Mapping[str, str] = field(default_factory=lambda: {"value": "{value}"})
    # Its scalars of one record, computed from whether the record counts and from its arguments.
    lift_record: Formula
    # Whether it depends on the values, not only on whether they are null.
    needs_values: bool = True
    # The aggregate of Spark that combines partials, if they have one scalar: its name, or a call
    # over `{p}`, with `{parameters}` behind it.
    spark_combine: str | None = None
    # Whether the partial of no values is a value, such as a count of zero, not null.
    is_never_null: bool = False
    # Spark SQL over the arguments that compiled code reads of an event; None: the arguments.
    event_sql: str | None = None
    # The part that Spark's GROUP BY makes of floats instead, and shares with other aggregates.
    float_part: str | None = None
    # Whether partials, not only answers, depend on the parameters of a call.
    takes_parameters: bool = False
    # Whether it is a struct of the extreme y and the x of the same row. Then x may be null.
    is_arg_extreme: bool = False

    def representation(self, value_type: str, *, ansi: bool) -> Representation:
        """Returns how partials of such values are represented; `ansi` integer sums detect
        overflow."""
        if ansi and self.ansi is not None and value_type == INTEGER:
            return self.ansi
        kind = value_type if is_number(value_type) else TYPED
        if kind not in self.representations:
            raise PlanError(f"a {self.name} of {value_type}s is not kept in slices")
        return self.representations[kind]

    @cached_property
    def all_representations(self) -> tuple[Representation, ...]:
        """Every representation it may have, over all types of values."""
        return (*self.representations.values(), *([] if self.ansi is None else [self.ansi]))

    @property
    def is_native(self) -> bool:
        """Whether Spark's own aggregates make it of events, or compiled code alone."""
        return bool(self.calls)


def _numbers(**monoids: Monoid) -> dict[str, Representation]:
    """Returns the representations of a part whose partials are numbers."""
    return {value_type: Numbers(monoid=monoid) for value_type, monoid in monoids.items()}


def _simple(name: str, representations: Mapping[str, Representation]) -> Part:
    """Returns a part that one of Spark's functions both computes and combines."""
    return Part(
        name=name,
        representations=representations,
        calls={"value": Call(function=name)},
        lift_record=lambda there, x: (x,),
        spark_combine=name,
    )


def _float_sum(name: str, of_record: Formula, *, of: str = "x") -> Part:
    """Returns a part that sums an argument as doubles; of two, over the rows that have both."""
    return Part(
        name=name,
        representations=_numbers(float=ADD_FLOAT),
        value_type=FLOAT,
        calls={"value": Call(function="sum", of=(of,))},
        lift_record=of_record,
        spark_combine="sum",
    )


def _extreme(name: str, monoid: Monoid) -> Part:
    """Returns the least or the greatest value of any type that has an order."""
    coded = CodedValues(monoid=monoid)
    return _simple(name, {**_numbers(integer=monoid, float=monoid), TYPED: coded})


def _set_of_values(name: str, sets: SetsOfValues) -> Part:
    """Returns a part that is a set of values: compiled code makes it of events, not Spark's SQL."""
    return Part(
        name=name,
        representations=dict.fromkeys((INTEGER, FLOAT, TYPED), sets),
        calls={},
        scalars={},
        lift_record=lambda there, x: (x,),
        is_never_null=True,
    )


def _arg_extreme(name: str, extreme: str, monoid: Monoid) -> Part:
    """Returns the part of `max_by` and `min_by`: the extreme y, and the x of the same row."""
    return Part(
        name=name,
        representations={TYPED: ArgExtremes(monoid=monoid)},
        calls={
            "y": Call(function=extreme, of=("y",)),
            "x": Call(function=name, of=("x", "y")),
        },
        scalars={"value": "IF({y} IS NULL, NULL, named_struct('y', {y}, 'x', {x}))"},
        lift_record=lambda there, x, y: (x, y),
        spark_combine=f"{name}({{p}}, {{p}}.y)",
        event_sql="IF(({y}) IS NULL, NULL, named_struct('y', {y}, 'x', {x}))",
        is_arg_extreme=True,
    )


# The mean of equal values must be exactly that value: a sum divided by a count may be off by one
# bit, and Spark answers null where values do not vary.
_MEAN = "CASE WHEN {%(var)s} = 0 THEN {%(max)s} ELSE try_divide({%(sum)s}, {n}) END"
# Values with how often each occurs. What a value costs was measured on a million of 100 keys.
_BAGS = SetsOfValues(monoid=BAG, combines_per_value=15.0)

PARTS: dict[str, Part] = {
    part.name: part
    for part in (
        Part(
            name="count",
            representations=_numbers(integer=ADD),
            value_type=INTEGER,
            calls={"value": Call(function="count")},
            lift_record=lambda there: (there,),
            needs_values=False,
            spark_combine="sum",
            is_never_null=True,
        ),
        Part(
            name="count_if",
            representations=_numbers(integer=ADD),
            value_type=INTEGER,
            calls={"value": Call(function="count_if")},
            lift_record=lambda there, x: (x,),
            spark_combine="sum",
            is_never_null=True,
            event_sql="IF({x}, 1L, 0L)",
        ),
        Part(
            name="sum",
            representations={**_numbers(integer=ADD, float=ADD_FLOAT), TYPED: DecimalSums()},
            ansi=CheckedSums(),
            calls={"value": Call(function="sum")},
            lift_record=lambda there, x: (x,),
            spark_combine="sum",
            float_part="float_sum",
        ),
        _float_sum("float_sum", lambda there, x: (x,)),
        _float_sum("sum_of_first", lambda there, x, y: (x,)),
        _float_sum("sum_of_second", lambda there, x, y: (y,), of="y"),
        _extreme("min", MIN),
        _extreme("max", MAX),
        _simple("bit_and", _numbers(integer=BIT_AND)),
        _simple("bit_or", _numbers(integer=BIT_OR)),
        _simple("bit_xor", _numbers(integer=BIT_XOR)),
        Part(
            name="moments",
            representations=_numbers(float=MOMENTS),
            value_type=FLOAT,
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
            lift_record=lambda there, x: (there, x, x - x),
            is_never_null=True,
        ),
        Part(
            name="four_moments",
            representations=_numbers(float=FOUR_MOMENTS),
            value_type=FLOAT,
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
            lift_record=lambda there, x: (there, x, x - x, x - x, x - x),
            is_never_null=True,
        ),
        Part(
            name="pair_moments",
            representations=_numbers(float=PAIR_MOMENTS),
            value_type=FLOAT,
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
            lift_record=lambda there, x, y: (there, x, y, x - x, y - y, (x - x) * (y - y)),
            is_never_null=True,
        ),
        _set_of_values("distinct", SetsOfValues(monoid=SET, combines_per_value=2.0)),
        _set_of_values("frequencies", _BAGS),
        _set_of_values(
            "values", replace(_BAGS, distinguishes_zeros=True, decimals_as_doubles=True)
        ),
        _set_of_values("occurrences", replace(_BAGS, distinguishes_zeros=True)),
        _set_of_values("items", replace(_BAGS, distinguishes_zeros=True, keeps_spark_type=True)),
        Part(
            name="nulls",
            representations=_numbers(integer=ADD),
            value_type=INTEGER,
            calls={},
            scalars={},
            lift_record=lambda there, x: (x,),
            is_never_null=True,
            event_sql="IF(({x}) IS NULL, 1L, 0L)",
        ),
        Part(
            name="registers",
            representations={TYPED: Registers(monoid=REGISTERS)},
            value_type="binary",
            calls={},
            scalars={},
            lift_record=lambda there, x: (x,),
            is_never_null=True,
            event_sql="IF(({x}) IS NULL, NULL, xxhash64({x}))",
            takes_parameters=True,
        ),
        _arg_extreme("max_by", "max", MAX),
        _arg_extreme("min_by", "min", MIN),
    )
}
