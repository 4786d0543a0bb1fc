"""The operators of a Spark Connect plan: what each computes from the columns that it reads.

The server confirms every operator that is written as SQL: it is asked whether the operator, over
columns that were given other names, is the same plan as its SQL over those names.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

from muntin.spark.engine.connect_plans import (
    Expression,
    Relation,
    expression_of,
    frame_of_relation,
    number_of_plan,
    operator_of,
    rename_child_columns,
)
from muntin.spark.frames.frame_queries import Ending, NotSharedError
from muntin.spark.frames.unresolved.expression_sql import WINDOWS, ExpressionSql, Names
from muntin.sql.functions import AGGREGATES
from muntin.sql_text import quote_name

# Operators that are looked through.
LOOKED_THROUGH = {
    *("project", "filter", "with_columns", "with_columns_renamed", "drop", "to_df"),
}
# Operators that order and cut answers.
ENDING = {"sort", "limit", "offset"}
_FRESH = "c"


@dataclass(frozen=True, kw_only=True)
class Step:
    """The columns of an operator's rows, and the condition of a filter."""

    names: Names
    condition: str | None = None


@dataclass(frozen=True, kw_only=True)
class Operators:
    """Reads operators of one session."""

    session: SparkSession
    is_case_sensitive: bool
    # Columns by operator: the server is asked once.
    _columns: dict[bytes, list[str]] = field(default_factory=dict)

    def columns(self, relation: Relation) -> list[str]:
        """Returns the names of an operator's columns."""
        key = relation.SerializePartialToString(deterministic=True)
        if key not in self._columns:
            self._columns[key] = self.frame(relation).columns
        return self._columns[key]

    def frame(self, relation: Relation) -> DataFrame:
        """Returns the DataFrame of an operator."""
        return frame_of_relation(relation, self.session)

    def base_columns(self, relation: Relation) -> Names:
        """Returns the columns of a base, each with its name in statements."""
        return self.name_columns(
            relation, [quote_name(name) for name in self.statement_names(relation)]
        )

    def statement_names(self, relation: Relation) -> list[str]:
        """Returns names for the columns of a base that are unique in any statement."""
        names: list[str] = []
        for name in self.columns(relation):
            number, free = 1, name
            # Statements call their window so.
            while free.lower() in {*WINDOWS, *(each.lower() for each in names)}:
                number += 1
                free = f"{name} {number}"
            names.append(free)
        return names

    def base_frame(self, relation: Relation) -> DataFrame:
        """Returns the DataFrame that statements over a base read."""
        frame, names = self.frame(relation), self.statement_names(relation)
        return frame if names == self.columns(relation) else frame.toDF(*names)

    def name_columns(self, relation: Relation, meanings: Sequence[str]) -> Names:
        """Returns the columns of an operator: Spark's names, with these meanings."""
        columns = self.columns(relation)
        if len(columns) != len(meanings):
            raise NotSharedError("its columns cannot be told apart")
        return Names(
            columns=tuple(zip(columns, meanings, strict=True)),
            is_case_sensitive=self.is_case_sensitive,
        )

    def read_step(
        self,
        relation: Relation,
        before: Names,
        plans: Mapping[int, Names],
        refused: frozenset[str] = AGGREGATES,
    ) -> Step:
        """Returns the columns and the condition of an operator over columns that mean `before`.

        Raises `NotSharedError` unless Spark confirms it.
        """
        kind, operator = operator_of(relation)
        if kind in {"project", "filter", "with_columns"}:
            self.confirm(relation, lambda names, over: _apply_sql(relation, names, over, refused))
        write = ExpressionSql(names=before, plans=plans, refused=refused)
        if kind == "filter":
            names = self.name_columns(relation, [text for _, text in before.columns])
            return Step(names=names, condition=write.text(operator.condition))
        if kind == "drop":
            left = [before.meaning(name) for name in self.columns(relation)]
            return Step(names=self.name_columns(relation, left))
        if kind in {"with_columns_renamed", "to_df"}:
            return Step(names=self.name_columns(relation, [text for _, text in before.columns]))
        return Step(
            names=self.name_columns(relation, _projected_columns(kind, operator, write, write.text))
        )

    def read_ending(
        self, before: Ending, relation: Relation, names: Names, plans: Mapping[int, Names]
    ) -> Ending:
        """Returns the order and the limit of answers, with those of one more operator."""
        kind, operator = operator_of(relation)
        if kind == "limit":
            return before.with_limit(operator.limit)
        if kind == "offset":
            return before.with_offset(operator.offset)
        before.check_no_limit()
        self.confirm(relation, lambda names, over: _sort_again(operator, names, over))
        write = ExpressionSql(names=names, plans=plans, refused=AGGREGATES)
        return Ending(
            order=[_order_text(each.child, write) for each in operator.order],
            directions=[_direction(each) for each in operator.order],
            is_global=operator.is_global,
        )

    def confirm(self, relation: Relation, written: Callable[[Names, DataFrame], DataFrame]) -> None:
        """Raises `NotSharedError` unless `written` returns the same plan, made of SQL."""
        _, operator = operator_of(relation)
        child = operator.input
        try:
            own = self.columns(child)
            fresh = [f"{_FRESH}{number}" for number in range(len(own))]
            names = Names(
                columns=tuple(zip(own, map(quote_name, fresh), strict=True)),
                is_case_sensitive=self.is_case_sensitive,
            )
            asked = self.frame(rename_child_columns(relation, child, own))
            if asked.sameSemantics(written(names, self.frame(child).toDF(*fresh))):
                return
        except PySparkException:
            raise NotSharedError("Spark cannot read what it computes as SQL") from None
        raise NotSharedError("what it computes means something else in SQL")


def plans_of(relation: Relation, names: Names, plans: Mapping[int, Names]) -> dict[int, Names]:
    """Returns `plans`, the columns of DataFrames by number, with those of one more."""
    number = number_of_plan(relation)
    return dict(plans) if number is None else {**plans, number: names}


def group_by_sql(relation: Relation, write: ExpressionSql) -> tuple[list[str], list[str]]:
    """Returns the keys and the aggregates of a `groupBy` as SQL."""
    _, aggregate = operator_of(relation)
    keys = [write.text(each) for each in aggregate.grouping_expressions]
    return keys, [write.text(each) for each in aggregate.aggregate_expressions]


def group_again(relation: Relation, names: Names, over: DataFrame) -> DataFrame:
    """Returns a `groupBy` by its SQL."""
    _, aggregate = operator_of(relation)
    write = ExpressionSql(names=names, plans=None, refused=frozenset())
    keys = [expr(write.item(each)) for each in aggregate.grouping_expressions]
    return over.groupBy(*keys).agg(
        *(expr(write.item(each)) for each in aggregate.aggregate_expressions)
    )


def _apply_sql(
    relation: Relation, names: Names, over: DataFrame, refused: frozenset[str]
) -> DataFrame:
    """Returns a projection or a filter by its SQL."""
    kind, operator = operator_of(relation)
    write = ExpressionSql(names=names, plans=None, refused=refused)
    if kind == "filter":
        return over.filter(write.text(operator.condition))
    return over.selectExpr(*_projected_columns(kind, operator, write, write.item))


def _sort_again(sort: Any, names: Names, over: DataFrame) -> DataFrame:
    """Returns an order by its SQL."""
    write = ExpressionSql(names=names, plans=None, refused=AGGREGATES)
    columns = []
    for each in sort.order:
        column = expr(_order_text(each.child, write))
        how = _direction(each).lower().replace(" ", "_")
        columns.append(getattr(column, how)())
    return over.sort(*columns) if sort.is_global else over.sortWithinPartitions(*columns)


def _order_text(expression: Expression, write: ExpressionSql) -> str:
    """Returns what rows are ordered by, as SQL; Spark takes a whole number for the place of a
    column."""
    kind, literal = expression_of(expression)
    if kind != "literal":
        return write.text(expression)
    columns = write.names.columns
    if literal.WhichOneof("literal_type") != "integer" or not 0 < literal.integer <= len(columns):
        raise NotSharedError("it is ordered by a constant")
    text: str = columns[literal.integer - 1][1]
    return text


def _direction(order: Any) -> str:
    """Returns the direction of an order as SQL."""
    direction = "DESC" if order.direction == order.SORT_DIRECTION_DESCENDING else "ASC"
    nulls = "LAST" if order.null_ordering == order.SORT_NULLS_LAST else "FIRST"
    return f"{direction} NULLS {nulls}"


def _projected_columns(
    kind: str, operator: Any, write: ExpressionSql, item: Callable[[Expression], str]
) -> list[str]:
    """Returns the columns that a projection gives, as SQL; `item` writes one that it computes."""
    before = [text for _, text in write.names.columns]
    if kind == "project":
        texts: list[str] = []
        for each in operator.expressions:
            texts += before if write.is_star(each) else [item(each)]
        return texts
    added: dict[str, str] = {}
    for alias in operator.aliases:
        (name,) = alias.name
        whole = type(alias.expr)()
        whole.alias.CopyFrom(alias)
        added[name] = item(whole)
    same = write.names.is_same
    replaced = [
        next((text for new, text in added.items() if same(new, name)), meaning)
        for name, meaning in write.names.columns
    ]
    known = [name for name, _ in write.names.columns]
    return replaced + [
        text for new, text in added.items() if not any(same(new, name) for name in known)
    ]
