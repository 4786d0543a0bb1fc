"""Aggregates as queries ask for them, and the components that a slice keeps for them.

An `Aggregate` is a call (`avg(temp)`) of a row of the table of functions. It is made of
`Component`s, the columns kept per slice (a sum and a count), each a part of the table.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from muntin.errors import ModelError, nearest
from muntin.model.aggregates.formula import Sql, merged
from muntin.model.aggregates.monoids import Monoid
from muntin.model.aggregates.parameters import checked, optional, parameter, percentages
from muntin.model.aggregates.parts import FLOAT, PARTS, Part
from muntin.model.aggregates.table import FUNCTIONS, ORDER, Function
from muntin.model.sql_text import only_where, uncommented


@dataclass(frozen=True, kw_only=True)
class Component:
    """One value kept per slice: a part of the table, applied to some arguments.

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
    def is_never_null(self) -> bool:
        """Whether its partial of no values is a value too, such as a count of zero."""
        return self.part.is_never_null

    def combines_by(self, storage: str, *, ansi: bool) -> Monoid:
        """Returns the monoid of its partials in a storage; `ansi` integer sums detect overflow."""
        return self.part.monoid(storage, ansi=ansi)

    @property
    def storage(self) -> str | None:
        """Whether it is kept as integers or floats; None if that depends on the data."""
        return self.part.storage

    @property
    def arguments(self) -> tuple[str, ...]:
        """Its arguments; without one, every row counts as the value 1."""
        return ("1",) if self.argument is None else (self.argument, *self.others)

    def under(self, where: str | None) -> "Component":
        """Returns the component over the events that a filter lets in.

        Its arguments are computed for no other event: a query's filter may guard them from errors.
        """
        if where is None:
            return self
        return replace(
            self,
            argument=only_where(where, self.arguments[0]),
            others=tuple(only_where(where, other) for other in self.others),
            where=self.where and only_where(where, self.where),
        )

    def values(self, cast: str | None = None) -> dict[str, str]:
        """Returns its arguments as Spark SQL, under the part's names, x and y.

        A part of floats casts them to doubles. Of two arguments, each is null where the other is,
        unless one chooses the other.
        """
        cast = "DOUBLE" if self.storage == FLOAT else cast
        texts = self.arguments
        values = [text if cast is None else f"CAST({text} AS {cast})" for text in texts]
        if len(texts) == 2 and not self.part.is_chosen:
            pairs = zip(values, reversed(texts), strict=True)
            values = [f"IF(({other}) IS NULL, NULL, {value})" for value, other in pairs]
        return dict(zip("xy", values, strict=False))

    @property
    def entry(self) -> str:
        """The value of a set of values, as Spark SQL: a struct of several arguments, and null if
        one of them is."""
        if not self.others:
            return self.arguments[0]
        texts = self.arguments
        missing = " OR ".join(f"({text}) IS NULL" for text in texts)
        fields = ", ".join(f"'f{index}', {text}" for index, text in enumerate(texts))
        return f"IF({missing}, NULL, named_struct({fields}))"

    @property
    def value_in_set(self) -> str:
        """The value of a set of values, null where the component's own filter leaves it out."""
        return self.entry if self.where is None else only_where(self.where, self.entry)

    def lifted(self) -> dict[str, str]:
        """Returns the scalars of its partial as Spark SQL over events, with its filter."""
        values = self.values()
        only = "" if self.where is None else f" FILTER (WHERE {self.where})"
        calls = {}
        for name, call in self.part.calls.items():
            given = ", ".join(values[argument] for argument in call.of)
            calls[name] = f"{call.function}({given}){only}"
        return {name: sql.format(**calls) for name, sql in self.part.scalars.items()}

    def combined(self, struct: str, finish: str | None = None) -> str:
        """Returns Spark SQL that combines a group's partials; see `formula.merged`."""
        if self.part.combined_by is not None:
            merge = self.part.combined_by
            return merge.format(p=struct) if "{" in merge else f"{merge}({struct})"
        (monoid,) = self.part.monoids.values()
        return merged(monoid.combine, struct, list(self.part.scalars), finish)


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
        is_enough = given > wanted and FUNCTIONS[self.function].takes_more
        if given != wanted and not is_enough and (given or self.function != "count"):
            raise ModelError(
                f"{self.function} needs an argument, such as {self.function}('temp')"
                if wanted == 1 and not given
                else f"{self.function} takes {wanted} arguments, not {given}"
            )
        for part in ("argument", "where"):
            text = getattr(self, part)
            object.__setattr__(self, part, text and uncommented(text))
        object.__setattr__(self, "others", tuple(uncommented(text) for text in self.others))
        row = self.definition
        if row.spelled is None:
            given_parameters = optional(self.function, row.parameters, self.parameters)
            reason = row.why_not and row.why_not(given_parameters)
            if reason:
                raise ModelError(reason)
        else:
            given_parameters = checked(self.function, row.parameters, self.parameters)
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
    def components_of_entries(self) -> tuple[Component, ...]:
        """Those of its components that are sets of values."""
        return tuple(each for each in self.components if each.part.is_of_entries)

    @cached_property
    def percentages(self) -> tuple[float, ...] | float:
        """The percentages that are asked for, or the only one."""
        named = dict(zip(self.definition.parameters, self.parameters, strict=False))
        return percentages(named.get("percentage", "0.5"))

    @property
    def is_descending(self) -> bool:
        """Whether values are in descending order."""
        return ORDER in self.definition.parameters and self.parameters[-1] == "DESC"

    def lowered(self, scalars: list[str]) -> str:
        """Returns the answer as Spark SQL over the scalars of all components."""
        row = self.definition
        if row.finish is not None:
            return row.finish.format(p=scalars[0])
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

    def finished(self, summary: str) -> str:
        """Returns the answer as Spark SQL over what a set of values was summed up to."""
        finish = self.definition.finish
        if finish is None:
            return summary
        named = zip(self.definition.parameters, self.parameters, strict=False)
        return finish.format(p=summary, **dict(named))

    def to_sql(self) -> str:
        """Returns the call as Spark SQL."""
        row = self.definition
        given = [*([] if self.argument is None else [self.argument]), *self.others]
        arguments = ", ".join(given if row.spelled else [*given, *self.parameters]) or "*"
        call = f"{self.function}({arguments})"
        if row.spelled is not None:
            named = dict(zip(row.parameters, self.parameters, strict=True))
            call = row.spelled.format(x=arguments, **named)
        return call if self.where is None else f"{call} FILTER (WHERE {self.where})"

    def __str__(self) -> str:
        return self.to_sql()


def function_call(function: str) -> Callable[..., Aggregate]:
    """Returns the Python function for a row of the table: `call("y", "x", where=...)`.

    Its parameters stand behind its arguments: `percentile("temp", 0.95)`.
    """
    row = FUNCTIONS[function]

    def call(*arguments: Any, where: str | None = None) -> Aggregate:
        first = row.arguments if row.parameters else len(arguments)
        argument, *others = arguments[:first] or (None,)
        # What is too many is told by the aggregate.
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
    """The variance of a Spark expression, of a sample unless told otherwise."""
    return Aggregate(
        function="var_pop" if population else "var_samp", argument=argument, where=where
    )


def stddev(argument: str, *, population: bool = False, where: str | None = None) -> Aggregate:
    """The standard deviation of a Spark expression, of a sample unless told otherwise."""
    return Aggregate(
        function="stddev_pop" if population else "stddev_samp", argument=argument, where=where
    )


def any_(condition: str, *, where: str | None = None) -> Aggregate:
    """Whether a condition holds in some row."""
    return Aggregate(function="bool_or", argument=condition, where=where)


def every(condition: str, *, where: str | None = None) -> Aggregate:
    """Whether a condition holds in all rows."""
    return Aggregate(function="bool_and", argument=condition, where=where)
