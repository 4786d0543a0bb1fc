"""Aggregates of queries, and the components that a slice keeps for them.

An `Aggregate` is a call (`avg(temp)`) of a row of the table of functions. It is made of
`Component`s, the columns kept per slice (a sum and a count), each a part of the table.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from muntin.aggregates.formula import Sql, merge_sql
from muntin.aggregates.parameters import (
    ORDER,
    check_optional,
    check_parameters,
    parameter,
    percentages,
)
from muntin.aggregates.parts import PARTS, Part
from muntin.aggregates.representations import (
    FLOAT,
    as_struct,
    cast,
    cast_pair,
    sql_type,
)
from muntin.aggregates.table import FUNCTIONS, Function
from muntin.errors import ModelError, nearest
from muntin.sql_text import case_when, strip_comments


@dataclass(frozen=True, kw_only=True)
class Component:
    """A value that each slice keeps: a part of the table, applied to some arguments.

    Arguments and `where` are Spark SQL; `where` is the aggregate's own FILTER clause.
    """

    kind: str
    argument: str | None = None
    where: str | None = None
    # Arguments behind the first.
    others: tuple[str, ...] = ()
    # The parameters of the call, if the part depends on them.
    parameters: tuple[str, ...] = ()

    @property
    def part(self) -> Part:
        """Its row of the table."""
        return PARTS[self.kind]

    @property
    def is_set_of_values(self) -> bool:
        """Whether its partials have the values themselves."""
        return any(each.has_values for each in self.part.all_representations)

    @property
    def arguments(self) -> tuple[str, ...]:
        """Its arguments, or the value 1 if it has none and counts rows."""
        return ("1",) if self.argument is None else (self.argument, *self.others)

    @property
    def state_name(self) -> str:
        """Its name in the state of data windows, which checkpoints keep."""
        others = [self.others] if self.others else []
        parameters = [self.parameters] if self.parameters else []
        return json.dumps([self.kind, self.argument, self.where, *others, *parameters])

    def filtered_by(self, where: str | None) -> "Component":
        """Returns the component over the events that a filter lets in.

        Its arguments are computed for no other event: a query's filter may guard them from errors.
        """
        if where is None:
            return self
        return replace(
            self,
            argument=case_when(where, self.arguments[0]),
            others=tuple(case_when(where, other) for other in self.others),
            where=self.where and case_when(where, self.where),
        )

    def values(self, to: str | None = None) -> dict[str, str]:
        """Returns its arguments as Spark SQL, under the part's names, x and y.

        A part of floats casts them to doubles. Of two arguments, each is null where the other is,
        except for `max_by` and `min_by`.
        """
        to = "DOUBLE" if self.part.value_type == FLOAT else to
        if self.part.is_arg_extreme:
            values = tuple(cast(argument, to) for argument in self.arguments)
        else:
            values = cast_pair(self.arguments, to)
        return dict(zip("xy", values, strict=False))

    @property
    def value(self) -> str:
        """Its arguments as one value, as Spark SQL: a struct if there are several."""
        return as_struct(self.arguments)

    @property
    def value_in_set(self) -> str:
        """The value of a set of values, null where the component's own filter leaves it out."""
        return self.value if self.where is None else case_when(self.where, self.value)

    def event_values(self, value_type: str) -> tuple[str, ...]:
        """Returns the values that compiled code reads from an event, as Spark SQL; empty if the
        component counts every row."""
        if self.argument is None and self.where is None:
            return ()
        if not self.part.needs_values:
            present = self.values().values()
            return self._apply_filter(f"IF(({value}) IS NULL, NULL, 1L)" for value in present)
        if self.part.event_sql is not None:
            named = dict(zip("xy", self.arguments, strict=False))
            return self._apply_filter([self.part.event_sql.format(**named)])
        representation = self.part.representation(value_type, ansi=False)
        return self._apply_filter(representation.event_values(self.arguments, value_type))

    def record_values(self, value_type: str) -> tuple[str, ...]:
        """Returns the values that a record of a data window has for it, as Spark SQL."""
        values = self.part.representation(value_type, ansi=False).record_values(self.arguments)
        return self.event_values(value_type) if values is None else self._apply_filter(values)

    def _apply_filter(self, values: Iterable[str]) -> tuple[str, ...]:
        where = self.where
        return tuple(values) if where is None else tuple(case_when(where, sql) for sql in values)

    def call(self, function: str) -> str:
        """Returns a call of an aggregate function of Spark's on its arguments, with its filter."""
        only = "" if self.where is None else f" FILTER (WHERE {self.where})"
        return f"{function}({', '.join(self.arguments)}){only}"

    def group_by_columns(self, name: str, value_type: str, *, ansi: bool) -> dict[str, str]:
        """Returns the columns of its partials that Spark's GROUP BY makes for the compiled runtime,
        as Spark SQL by name: all integers and booleans are one type to it, and all floats are."""
        if self.part.float_part is not None and value_type == FLOAT:
            other = replace(self, kind=self.part.float_part)
            return other.group_by_columns(name, value_type, ansi=ansi)
        to = sql_type(value_type) if self.part.value_type is None else None
        representation = self.part.representation(value_type, ansi=ansi)
        return representation.group_by_columns(name, self.partial_sql(), self.call, to)

    def partial_sql(self) -> dict[str, str]:
        """Returns the scalars of its partial as Spark SQL over events, with its filter."""
        values = self.values()
        only = "" if self.where is None else f" FILTER (WHERE {self.where})"
        calls = {}
        for name, call in self.part.calls.items():
            given = ", ".join(values[argument] for argument in call.of)
            calls[name] = f"{call.function}({given}){only}"
        return {name: sql.format(**calls) for name, sql in self.part.scalars.items()}

    def combine_sql(self, struct: str, finish: str | None = None) -> str:
        """Returns Spark SQL that combines a group's partials; see `formula.merge_sql`."""
        if self.part.spark_combine is not None:
            merge = self.part.spark_combine
            return merge.format(p=struct) if "{" in merge else f"{merge}({struct})"
        (representation,) = self.part.all_representations
        return merge_sql(representation.monoid.combine, struct, list(self.part.scalars), finish)


@dataclass(frozen=True, kw_only=True, order=True)
class Aggregate:
    """`function(arguments) FILTER (WHERE where)`; no argument means `count(*)`."""

    function: str
    argument: str | None = None
    where: str | None = None
    # Arguments behind the first.
    others: tuple[str, ...] = ()
    # The constants behind the arguments, as Spark SQL; see `Function.parameters`.
    parameters: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.function not in FUNCTIONS:
            raise ModelError(
                f"{self.function!r} is not an aggregate that is built from slices; "
                + nearest(self.function, list(FUNCTIONS))
            )
        wanted = FUNCTIONS[self.function].arguments
        given = len(self.others) + (self.argument is not None)
        is_enough = given > wanted and FUNCTIONS[self.function].is_variadic
        if given != wanted and not is_enough and (given or self.function != "count"):
            raise ModelError(
                f"{self.function} needs an argument, such as {self.function}('temp')"
                if wanted == 1 and not given
                else f"{self.function} takes {wanted} arguments, not {given}"
            )
        for part in ("argument", "where"):
            text = getattr(self, part)
            object.__setattr__(self, part, text and strip_comments(text))
        object.__setattr__(self, "others", tuple(strip_comments(text) for text in self.others))
        row = self.definition
        if row.call_template is None:
            given_parameters = check_optional(self.function, row.parameters, self.parameters)
            if row.check_parameters is not None:
                row.check_parameters(given_parameters)
        else:
            given_parameters = check_parameters(self.function, row.parameters, self.parameters)
        object.__setattr__(self, "parameters", given_parameters)

    @property
    def definition(self) -> Function:
        """The function's row of the table."""
        return FUNCTIONS[self.function]

    @cached_property
    def components(self) -> tuple[Component, ...]:
        """The components that a slice keeps for this aggregate."""
        return tuple(
            Component(
                kind=part,
                argument=self.argument,
                where=self.where,
                others=self.others,
                parameters=self.parameters if PARTS[part].takes_parameters else (),
            )
            for part in self.definition.parts
        )

    @property
    def has_user_code(self) -> bool:
        """Whether its functions are the user's own."""
        return False

    @property
    def sets_of_values(self) -> tuple[Component, ...]:
        """Those of its components that are sets of values."""
        return tuple(each for each in self.components if each.is_set_of_values)

    @cached_property
    def percentages(self) -> tuple[float, ...] | float:
        """The percentages of the call: a tuple for an array, else a number."""
        named = dict(zip(self.definition.parameters, self.parameters, strict=False))
        return percentages(named.get("percentage", "0.5"))

    @property
    def is_descending(self) -> bool:
        """Whether values are in descending order."""
        return ORDER in self.definition.parameters and self.parameters[-1] == "DESC"

    def answer_sql(self, scalars: list[str]) -> str:
        """Returns the answer as Spark SQL over the scalars of all components."""
        row = self.definition
        if row.answer_template is not None:
            return row.answer_template.format(p=scalars[0])
        if row.answer is None:
            return scalars[0]
        values = [Sql(scalar) for scalar in scalars]
        text = str(row.answer(*values))
        if row.constant is not None:
            condition, constant = row.constant
            text = f"CASE WHEN {condition(*values)} THEN {constant}D ELSE {text} END"
        if row.has_answer is None:
            return text
        return f"CASE WHEN {row.has_answer(*values)} THEN {text} END"

    def summary_sql(self, summary: str) -> str:
        """Returns the answer as Spark SQL over the value that the compiled runtime returns."""
        finish = self.definition.summary_template
        if finish is None:
            return summary
        named = zip(self.definition.parameters, self.parameters, strict=False)
        return finish.format(p=summary, **dict(named))

    def to_sql(self) -> str:
        """Returns the call as Spark SQL."""
        row = self.definition
        given = [*([] if self.argument is None else [self.argument]), *self.others]
        arguments = ", ".join(given if row.call_template else [*given, *self.parameters]) or "*"
        call = f"{self.function}({arguments})"
        if row.call_template is not None:
            named = dict(zip(row.parameters, self.parameters, strict=True))
            call = row.call_template.format(x=arguments, **named)
        return call if self.where is None else f"{call} FILTER (WHERE {self.where})"

    def __str__(self) -> str:
        return self.to_sql()


def function_call(function: str) -> Callable[..., Aggregate]:
    """Returns the Python function for a row of the table: `call("y", "x", where=...)`.

    Parameters come after the arguments: `percentile("temp", 0.95)`.
    """
    row = FUNCTIONS[function]

    def call(*arguments: Any, where: str | None = None) -> Aggregate:
        first = row.arguments if row.parameters else len(arguments)
        argument, *others = arguments[:first] or (None,)
        # `Aggregate` refuses arguments that are too many.
        names = (*row.parameters, *[""] * len(arguments))
        return Aggregate(
            function=function,
            argument=argument,
            where=where,
            others=tuple(map(str, others)),
            parameters=tuple(map(parameter, names, arguments[first:])),
        )

    call.__name__ = call.__qualname__ = function
    call.__doc__ = f"Spark's `{function}`, over the rows where `where` holds."
    return call


def count(argument: str | None = None, *, where: str | None = None) -> Aggregate:
    """`count(*)`, or the rows where `argument` is not null."""
    return Aggregate(function="count", argument=argument, where=where)


def count_if(condition: str, *, where: str | None = None) -> Aggregate:
    """The rows where `condition` is true."""
    return Aggregate(function="count_if", argument=condition, where=where)


def sum_(argument: str, *, where: str | None = None) -> Aggregate:
    """The sum of a Spark expression."""
    return Aggregate(function="sum", argument=argument, where=where)


def avg(argument: str, *, where: str | None = None) -> Aggregate:
    """The mean of a Spark expression."""
    return Aggregate(function="avg", argument=argument, where=where)


def min_(argument: str, *, where: str | None = None) -> Aggregate:
    """The least value of a Spark expression."""
    return Aggregate(function="min", argument=argument, where=where)


def max_(argument: str, *, where: str | None = None) -> Aggregate:
    """The greatest value of a Spark expression."""
    return Aggregate(function="max", argument=argument, where=where)


def variance(argument: str, *, population: bool = False, where: str | None = None) -> Aggregate:
    """The sample variance of a Spark expression, or with `population` that of the population."""
    return Aggregate(
        function="var_pop" if population else "var_samp", argument=argument, where=where
    )


def stddev(argument: str, *, population: bool = False, where: str | None = None) -> Aggregate:
    """The standard deviation of a Spark expression, of a sample or with `population` of all."""
    return Aggregate(
        function="stddev_pop" if population else "stddev_samp", argument=argument, where=where
    )


def any_(condition: str, *, where: str | None = None) -> Aggregate:
    """Whether a condition holds in some row."""
    return Aggregate(function="bool_or", argument=condition, where=where)


def every(condition: str, *, where: str | None = None) -> Aggregate:
    """Whether a condition holds in all rows."""
    return Aggregate(function="bool_and", argument=condition, where=where)
