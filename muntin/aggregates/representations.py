"""How partials are represented: a class for each representation, with the facts for planning.

The running half of each class is in `runtime.storage`, where a table pairs the two: it reads and
writes Arrow, combines partials and lowers them to answers.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from muntin.aggregates.monoids import ADD_LIMBS, ADD_WIDE, Monoid

# The type of the values in partials is one of these, or the name of a type in Spark SQL.
INTEGER = "integer"
FLOAT = "float"

# The wraps of a sum that overflows inside one slice: more than other slices can undo.
OVERFLOWED = 1 << 32

_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_FLOATS = ("float", "double")
# The types in which Spark passes sets of numbers to compiled code, by the type of their values.
_WIDE_TYPES = {
    **dict.fromkeys((INTEGER, *_INTEGERS), "BIGINT"),
    **dict.fromkeys((FLOAT, *_FLOATS), "DOUBLE"),
}


def is_number(value_type: str) -> bool:
    """Whether values are integers or floats to the runtime, whatever Spark calls their type."""
    return value_type in (INTEGER, FLOAT)


def sql_type(value_type: str) -> str:
    """Returns the type of values in Spark SQL."""
    return {INTEGER: "BIGINT", FLOAT: "DOUBLE"}.get(value_type, value_type)


def cast(sql: str, to: str | None) -> str:
    """Returns Spark SQL cast to a type, or as it is for None."""
    return sql if to is None else f"CAST({sql} AS {to})"


def cast_pair(arguments: Sequence[str], to: str | None) -> tuple[str, ...]:
    """Returns arguments cast to a type; of two, each is null where the other is."""
    values = [cast(argument, to) for argument in arguments]
    if len(values) == 2:
        pairs = zip(values, reversed(arguments), strict=True)
        values = [f"IF(({other}) IS NULL, NULL, {value})" for value, other in pairs]
    return tuple(values)


def as_struct(arguments: Sequence[str]) -> str:
    """Returns several arguments as one value, a struct that is null if one of them is."""
    if len(arguments) == 1:
        return arguments[0]
    missing = " OR ".join(f"({argument}) IS NULL" for argument in arguments)
    fields = ", ".join(f"'f{index}', {argument}" for index, argument in enumerate(arguments))
    return f"IF({missing}, NULL, named_struct({fields}))"


@dataclass(frozen=True, kw_only=True)
class Representation:
    """How the partials of a component are represented, and the monoid by which they combine."""

    monoid: Monoid
    # Whether partials have the values themselves, and what a sweep spends on each, in combines.
    has_values: ClassVar[bool] = False
    combines_per_value: float = 0.0
    # Whether windows with such partials may join data windows that are running.
    joins_running_windows: ClassVar[bool] = True

    def value_type(self, spark_type: str) -> str:
        """Returns the type of values in partials, given Spark's name of the values' type."""
        if spark_type in _FLOATS:
            return FLOAT
        return INTEGER if spark_type in (*_INTEGERS, "boolean") else spark_type

    def columns(self, name: str) -> tuple[str, ...]:
        """Returns the columns of slices that partials take; `name` is the only one, or a stem."""
        width = self.monoid.width
        return (name,) if width == 1 else tuple(f"{name}_{index}" for index in range(width))

    def event_values(self, arguments: Sequence[str], value_type: str) -> tuple[str, ...]:
        """Returns the values that compiled code reads from an event, as Spark SQL."""
        return cast_pair(arguments, sql_type(value_type))

    def record_values(self, arguments: Sequence[str]) -> tuple[str, ...] | None:
        """Returns the values of a data window's record, as Spark SQL; None: those of an event."""
        return None

    def group_by_columns(
        self, name: str, scalars: Mapping[str, str], call: Callable[[str], str], to: str | None
    ) -> dict[str, str]:
        """Returns the columns of slices that Spark's GROUP BY makes, as Spark SQL by name.

        `scalars` are the partial's, `call` returns the call of one of Spark's functions on the
        component's arguments, and a single scalar is cast to the type `to`.
        """
        columns = self.columns(name)
        if len(columns) == 1:
            (value,) = scalars.values()
            return {name: cast(value, to)}
        return dict(zip(columns, scalars.values(), strict=True))


class Numbers(Representation):
    """Columns of integers or floats, one for each scalar of the monoid."""


@dataclass(frozen=True, kw_only=True)
class CheckedSums(Numbers):
    """Sums of integers that detect overflow, as Spark's do under ANSI: a word, and its wraps."""

    monoid: Monoid = ADD_WIDE

    def group_by_columns(
        self, name: str, scalars: Mapping[str, str], call: Callable[[str], str], to: str | None
    ) -> dict[str, str]:
        """Returns both words. An overflow is an error of the queries that ask for this sum, not of
        all in the tree."""
        total, count = call("try_sum"), call("count")
        lost = f"CASE WHEN {total} IS NULL AND {count} > 0 THEN {OVERFLOWED}L ELSE 0L END"
        # Null means that there was no value; a sum that overflowed had some.
        word = f"coalesce({total}, CASE WHEN {count} > 0 THEN 0L END)"
        return dict(zip(self.columns(name), (word, lost), strict=True))


class UserNumbers(Numbers):
    """Columns of floats that the user's own functions lift, combine and lower."""


class CodedValues(Representation):
    """A column of another type than numbers, combined as integers that stand for its values."""

    def columns(self, name: str) -> tuple[str, ...]:
        return (name,)


@dataclass(frozen=True, kw_only=True)
class DecimalSums(CodedValues):
    """A column of decimals, added as long integers."""

    monoid: Monoid = ADD_LIMBS


class ArgExtremes(CodedValues):
    """A column of structs: a value, and the value of another column that chooses it."""

    def value_type(self, spark_type: str) -> str:
        return "real" if spark_type == "float" else spark_type

    def record_values(self, arguments: Sequence[str]) -> tuple[str, ...]:
        value, by = arguments
        return by, value

    def group_by_columns(
        self, name: str, scalars: Mapping[str, str], call: Callable[[str], str], to: str | None
    ) -> dict[str, str]:
        return super().group_by_columns(name, scalars, call, None)


@dataclass(frozen=True, kw_only=True)
class SetsOfValues(Representation):
    """A list of distinct values, and a list of how often each occurs if the monoid counts them.

    Compiled code makes it from events, not Spark SQL.
    """

    has_values: ClassVar[bool] = True
    joins_running_windows: ClassVar[bool] = False
    # Whether -0.0 and 0.0 are two values, as Spark's percentiles have it.
    distinguishes_zeros: bool = False
    # Whether decimals are doubles, as in Spark's percentiles.
    decimals_as_doubles: bool = False
    # Whether answers depend on Spark's type of the values, not only on how they are stored.
    keeps_spark_type: bool = False

    def value_type(self, spark_type: str) -> str:
        if self.keeps_spark_type:
            return spark_type
        if self.decimals_as_doubles and re.match("decimal", spark_type):
            return FLOAT
        return super().value_type(spark_type)

    def event_values(self, arguments: Sequence[str], value_type: str) -> tuple[str, ...]:
        return (cast(as_struct(arguments), _WIDE_TYPES.get(value_type)),)


class Registers(Representation):
    """A column of bytes with the registers of HyperLogLog++."""

    joins_running_windows: ClassVar[bool] = False
