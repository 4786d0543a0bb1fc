"""Parts: what a slice can keep for an aggregate, a row for each.

A part says how Spark computes it from events, and how two partials combine.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from muntin.errors import PlanError
from muntin.model.aggregates.formula import Formula
from muntin.model.aggregates.monoids import (
    ADD,
    ADD_FLOAT,
    ADD_LIMBS,
    ADD_WIDE,
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

# How a partial is stored: as columns of integers or floats, or as one column of another type. Then
# its storage is that type's name, and `TYPED` stands for all of these.
INTEGER = "integer"
FLOAT = "float"
TYPED = "typed"


def is_typed(storage: str) -> bool:
    """Whether partials are a column of another type than integers or floats."""
    return storage not in (INTEGER, FLOAT)


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call of one of Spark's aggregate functions on some of a part's arguments."""

    function: str
    of: tuple[str, ...] = ("x",)


@dataclass(frozen=True, kw_only=True)
class Part:
    """A value that a slice can keep for an aggregate.

    Its arguments are x and y. `storage` fixes how they are stored; without it, the data decides. Of
    two arguments, both must be non-null for a row to count.
    """

    name: str
    # How partials combine, by their storage; `ansi` is for integers that must detect overflow.
    monoids: Mapping[str, Monoid]
    ansi: Monoid | None = None
    storage: str | None = None
    # The calls of Spark's aggregates that it is made of, and its scalars as Spark SQL over them.
    calls: Mapping[str, Call]
    scalars: Mapping[str, str] = field(default_factory=lambda: {"value": "{value}"})
    # Its scalars of one record, computed from whether the record counts and from its arguments.
    of_record: Formula
    # Whether the values matter, or only whether they are null.
    is_of_values: bool = True
    # The aggregate of Spark that combines partials, if they have one scalar: its name, or a call
    # over `{p}`, with `{parameters}` behind it.
    combined_by: str | None = None
    # Whether the partial of no values is a value, such as a count of zero, not null.
    is_never_null: bool = False
    # Of a set of values, whether -0.0 and 0.0 are two of them, as Spark's percentiles have it.
    tells_zeros_apart: bool = False
    # Of a set of values, whether it has decimals as doubles, as Spark's percentiles have them.
    has_doubles: bool = False
    # Of a set of values, whether what is made of it depends on their type in Spark, not only on how
    # they are stored.
    names_types: bool = False
    # What compiled code reads of an event, as Spark SQL over the arguments, if not the arguments.
    reads: str | None = None
    # Whether the parameters of a call say what is kept, and not only what is answered from it.
    takes_parameters: bool = False
    # Whether it is a struct of a value, x, and of what it is chosen by, y. Then x may be null.
    is_chosen: bool = False

    def monoid(self, storage: str, *, ansi: bool) -> Monoid:
        """Returns the monoid for a storage; `ansi` integer sums detect overflow."""
        kind = TYPED if is_typed(storage) else storage
        if kind not in self.monoids:
            raise PlanError(f"a {self.name} of {storage}s is not kept in slices")
        if ansi and self.ansi is not None and storage == INTEGER:
            return self.ansi
        return self.monoids[kind]

    @cached_property
    def is_of_entries(self) -> bool:
        """Whether its partials are sets of values, an entry for each."""
        return any(monoid.sweep is not None for monoid in self.monoids.values())

    @property
    def is_native(self) -> bool:
        """Whether Spark's own aggregates make it of events, or compiled code alone."""
        return bool(self.calls)

    @property
    def all_monoids(self) -> tuple[Monoid, ...]:
        """Every monoid it may combine by, over all types of values."""
        return (*self.monoids.values(), *([] if self.ansi is None else [self.ansi]))


def _simple(name: str, monoids: Mapping[str, Monoid]) -> Part:
    """Returns a part that one of Spark's functions both computes and combines."""
    return Part(
        name=name,
        monoids=monoids,
        calls={"value": Call(function=name)},
        of_record=lambda there, x: (x,),
        combined_by=name,
    )


def _float_sum(name: str, of_record: Formula, *, of: str = "x") -> Part:
    """Returns a part that sums an argument as doubles; of two, over the rows that have both."""
    return Part(
        name=name,
        monoids={FLOAT: ADD_FLOAT},
        storage=FLOAT,
        calls={"value": Call(function="sum", of=(of,))},
        of_record=of_record,
        combined_by="sum",
    )


def _entries(name: str, monoid: Monoid) -> Part:
    """Returns a part that is a set of values: compiled code makes it of events, not Spark's SQL."""
    return Part(
        name=name,
        monoids={INTEGER: monoid, FLOAT: monoid, TYPED: monoid},
        calls={},
        scalars={},
        of_record=lambda there, x: (x,),
        is_never_null=True,
    )


def _chosen(name: str, extreme: str, monoid: Monoid) -> Part:
    """Returns the value beside the extreme of another one, and that extreme."""
    return Part(
        name=name,
        monoids={TYPED: monoid},
        calls={
            "y": Call(function=extreme, of=("y",)),
            "x": Call(function=name, of=("x", "y")),
        },
        scalars={"value": "IF({y} IS NULL, NULL, named_struct('y', {y}, 'x', {x}))"},
        of_record=lambda there, x, y: (x, y),
        combined_by=f"{name}({{p}}, {{p}}.y)",
        reads="IF(({y}) IS NULL, NULL, named_struct('y', {y}, 'x', {x}))",
        is_chosen=True,
    )


# The mean of equal values must be exactly that value: a sum divided by a count may be off by one
# bit, and Spark answers null where values do not vary.
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
            monoids={INTEGER: ADD, FLOAT: ADD_FLOAT, TYPED: ADD_LIMBS},
            ansi=ADD_WIDE,
            calls={"value": Call(function="sum")},
            of_record=lambda there, x: (x,),
            combined_by="sum",
        ),
        _float_sum("float_sum", lambda there, x: (x,)),
        _float_sum("sum_of_first", lambda there, x, y: (x,)),
        _float_sum("sum_of_second", lambda there, x, y: (y,), of="y"),
        _simple("min", {INTEGER: MIN, FLOAT: MIN, TYPED: MIN}),
        _simple("max", {INTEGER: MAX, FLOAT: MAX, TYPED: MAX}),
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
        _entries("distinct", SET),
        _entries("frequencies", BAG),
        replace(_entries("values", BAG), tells_zeros_apart=True, has_doubles=True),
        replace(_entries("occurrences", BAG), tells_zeros_apart=True),
        replace(_entries("items", BAG), tells_zeros_apart=True, names_types=True),
        Part(
            name="nulls",
            monoids={INTEGER: ADD},
            storage=INTEGER,
            calls={},
            scalars={},
            of_record=lambda there, x: (x,),
            is_never_null=True,
            reads="IF(({x}) IS NULL, 1L, 0L)",
        ),
        Part(
            name="registers",
            monoids={TYPED: REGISTERS},
            storage="binary",
            calls={},
            scalars={},
            of_record=lambda there, x: (x,),
            is_never_null=True,
            reads="IF(({x}) IS NULL, NULL, xxhash64({x}))",
            takes_parameters=True,
        ),
        _chosen("max_by", "max", MAX),
        _chosen("min_by", "min", MIN),
    )
}
