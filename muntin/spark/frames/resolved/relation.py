"""One relation for all DataFrames over a base: a column for each expression that some query needs.

Spark's own expressions are put into a projection, so that nothing is written as text and read
again. An expression that could fail is computed only for the rows that its query's filter lets in.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha1

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import when

from muntin.spark.engine.catalyst import (
    ATTRIBUTE,
    Expression,
    Plan,
    column_of,
    conjunction,
    frame_of,
    is_safe,
    node_name,
    substitute_columns,
)

# Longer names are cut: they are only read in plans.
_LONGEST_NAME = 80
# What queries call their window.
_RESERVED = ("window",)


@dataclass(kw_only=True)
class _Entry:
    expression: Expression
    guard: Expression | None
    name: str


@dataclass(kw_only=True)
class Relation:
    """Collects the columns that queries need of a base."""

    base: Plan
    session: SparkSession
    # What columns of the base are computed from, by their ids, if a query must have the same names
    # and guards beside every other query, as in a stream; None if it need not.
    meanings: Mapping[int, Expression] | None = None
    _entries: list[_Entry] = field(default_factory=list)

    def column(self, expression: Expression, guards: Sequence[Expression] = ()) -> str:
        """Returns the name of the column for an expression, which is added if it is new.

        In rows that the guards leave out, its value does not matter.
        """
        guard = None
        if guards and not is_safe(self._over_source_columns(expression)):
            guard = conjunction(guards, self.session)
        for entry in self._entries:
            if entry.expression.semanticEquals(expression) and _is_same_condition(
                entry.guard, guard
            ):
                return entry.name
        name = self._unused_name(self._column_name(expression, guard))
        self._entries.append(_Entry(expression=expression, guard=guard, name=name))
        return name

    def time(self, expression: Expression, guards: Sequence[Expression]) -> str:
        """Returns the name of the column for the time of a query's windows.

        The watermark of a stream follows its time on all rows, so there it has no guards.
        """
        return self.column(expression, guards if self.meanings is None else ())

    def condition(self, filters: Sequence[Expression]) -> str:
        """Returns the name of the boolean column of all filters."""
        return self.column(conjunction(filters, self.session))

    def frame(self) -> DataFrame:
        """Returns the DataFrame with these columns."""
        frame = frame_of(self.base, self.session)
        return frame.select(*(self._column(entry).alias(entry.name) for entry in self._entries))

    def _column(self, entry: _Entry) -> Column:
        column = column_of(entry.expression, self.session)
        if entry.guard is None:
            return column
        return when(column_of(entry.guard, self.session), column)

    def _column_name(self, expression: Expression, guard: Expression | None) -> str:
        """Returns a name that is the same in each run, for a checkpoint has it."""
        expression = self._over_source_columns(expression)
        if node_name(expression) == ATTRIBUTE:
            name: str = expression.name()
            return name
        text: str = expression.sql()
        if guard is not None:
            text += f" if {self._over_source_columns(guard).sql()}"
        if len(text) <= _LONGEST_NAME:
            return text
        return f"{text[:_LONGEST_NAME]}... {sha1(text.encode()).hexdigest()[:8]}"

    def _over_source_columns(self, expression: Expression) -> Expression:
        """Returns an expression with the definitions of the base's columns in their places."""
        return substitute_columns(expression, self.meanings or {}, self.session)

    def _unused_name(self, name: str) -> str:
        taken = {*_RESERVED, *(entry.name.lower() for entry in self._entries)}
        number, free = 1, name
        while free.lower() in taken:
            number += 1
            free = f"{name} {number}"
        return free


def _is_same_condition(one: Expression | None, other: Expression | None) -> bool:
    if one is None or other is None:
        return one is other
    return bool(one.semanticEquals(other))
