"""One DataFrame for several statements over one stream, which may join it with static tables.

The stream is read once. Each event becomes a row for each statement, with the statement's number,
and the filters and joins of a statement apply to its own rows. Rows of other statements pass a join
as they are: it is a left join on the number and the condition.
"""

from collections.abc import Mapping
from itertools import count

from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import array, col, explode, lit, when

from muntin.spark.engine.catalyst import (
    ATTRIBUTE,
    Expression,
    Plan,
    analyzed_plan,
    children,
    column_id,
    column_of,
    frame_of,
    is_safe,
    node_name,
    substitute_columns,
    to_list,
    walk,
)
from muntin.spark.engine.stream_paths import FILTER, JOIN, PROJECT, path_of, static_join

# The column with the number of a row's statement.
NUMBER = "muntin_relation"


class RelationCopies:
    """The rows of a stream, as often as there are statements."""

    def __init__(self, stream: DataFrame, operators: int, copies: int) -> None:
        """`stream` has the columns of the first `operators` above the source, which all statements
        begin with, and may have more behind them."""
        self._session = stream.sparkSession
        self._operators = operators
        self._columns = to_list(analyzed_plan(stream).output())
        numbers = array(*(lit(number) for number in range(copies)))
        self._frame = stream.select("*", explode(numbers).alias(NUMBER))
        self._names = (f"muntin_{number}" for number in count())

    def add(self, number: int, statement: DataFrame) -> dict[str, Column]:
        """Applies a statement to its rows; returns its columns, which are of no meaning in the rows
        of others."""
        plan = analyzed_plan(statement)
        path = path_of(plan)
        own = to_list(path.plan_at(self._operators).output())
        meanings = {
            column_id(mine): theirs for mine, theirs in zip(own, self._columns, strict=False)
        }
        here = col(NUMBER) == number
        for operator in path.operators[self._operators :]:
            if node_name(operator) == PROJECT:
                self._project(operator, meanings, here)
            elif node_name(operator) == FILTER:
                self._filter(here, self._column(operator.condition(), meanings))
            elif node_name(operator) == JOIN:
                self._join(operator, meanings, here)
        return {each.name(): self._column(each, meanings) for each in to_list(plan.output())}

    def select(self, columns: Mapping[str, Column]) -> DataFrame:
        """Returns all rows with some columns."""
        return self._frame.select(*(column.alias(name) for name, column in columns.items()))

    def _project(self, project: Plan, meanings: dict[int, Expression], here: Column) -> None:
        computed: dict[int, Column] = {}
        for each in to_list(project.projectList()):
            if node_name(each) == "Alias":
                (value,) = children(each)
                if node_name(value) == ATTRIBUTE:
                    meanings[column_id(each)] = substitute_columns(value, meanings, self._session)
                else:
                    # It may fail in rows that its statement leaves out.
                    computed[column_id(each)] = when(here, self._column(value, meanings))
        meanings |= self._add_columns(computed)

    def _filter(self, here: Column, condition: Column) -> None:
        self._frame = self._frame.where(when(here, condition).otherwise(lit(True)))

    def _join(self, operator: Plan, meanings: dict[int, Expression], here: Column) -> None:
        join = static_join(operator)
        columns = to_list(join.table.output())
        # Columns of its own, as another statement may join the same table.
        names = [next(self._names) for _ in columns]
        pairs = zip(columns, names, strict=True)
        own = [column_of(column, self._session).alias(name) for column, name in pairs]
        match = next(self._names)
        table = frame_of(join.table, self._session).select(*own, lit(True).alias(match))
        added = to_list(analyzed_plan(table).output())
        meanings |= {
            column_id(column): mine for column, mine in zip(columns, added[:-1], strict=True)
        }
        on = here
        if join.condition is not None:
            on = here & self._condition(join.condition, meanings, {*map(column_id, columns)}, here)
        self._frame = self._frame.join(table, on, "left")
        if join.is_inner:
            self._filter(here, column_of(added[-1], self._session).isNotNull())

    def _condition(
        self,
        condition: Expression,
        meanings: Mapping[int, Expression],
        others: set[int],
        here: Column,
    ) -> Column:
        """Returns a join's condition; `others` are the columns that are not of the stream."""
        if is_safe(condition):
            return self._column(condition, meanings)
        # Spark computes it in all rows, and it may fail in those that the statement leaves out.
        used = {column_id(each): each for each in walk(condition) if node_name(each) == ATTRIBUTE}
        values = {
            number: when(here, self._column(each, meanings))
            for number, each in used.items()
            if number not in others
        }
        return self._column(condition, {**meanings, **self._add_columns(values)})

    def _add_columns(self, values: Mapping[int, Column]) -> dict[int, Expression]:
        """Adds columns by the ids that expressions know them by; returns what they are now."""
        if not values:
            return {}
        own = [value.alias(next(self._names)) for value in values.values()]
        self._frame = self._frame.select("*", *own)
        added = to_list(analyzed_plan(self._frame).output())[-len(own) :]
        return dict(zip(values, added, strict=True))

    def _column(self, expression: Expression, meanings: Mapping[int, Expression]) -> Column:
        return column_of(substitute_columns(expression, meanings, self._session), self._session)
