"""Resolves expressions of many queries over one frame, each among its query's own names.

Queries may use one name for different things. Those whose names agree are resolved together, over a
frame that has their names as columns; then these columns are dropped, and the computed ones stay.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame
from pyspark.sql.functions import col, expr, struct

from muntin.spark.output.project import RESERVED, Name, Output, Projection

# The column with the number of a row's query.
NUMBER = "q"
# The struct of all other columns, while columns with users' names are beside it.
_ROW = f"{RESERVED}row"


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """A query's condition, None for all of its rows, and its columns, as SQL over a frame."""

    condition: str | None
    outputs: tuple[Output, ...]


@dataclass(kw_only=True)
class _Scope:
    """Names without conflicts, and the expressions of the queries that use them."""

    # By name: what it is, and the queries that have it.
    names: dict[str, tuple[Name, list[int]]] = field(default_factory=dict)
    # By text: the column to put the value in, and the queries that ask for it.
    expressions: dict[str, tuple[str, list[int]]] = field(default_factory=dict)

    def takes(self, names: Iterable[Name]) -> bool:
        """Whether none of these names, in any case, has another meaning here."""
        known: dict[str, list[Name]] = {}
        for name, _ in self.names.values():
            known.setdefault(name.name.lower(), []).append(name)
        return all(other == name for name in names for other in known.get(name.name.lower(), ()))

    def add(self, number: int, names: Iterable[Name]) -> None:
        """Take in the names of one more query."""
        for name in names:
            self.names.setdefault(name.name, (name, []))[1].append(number)

    def ask(self, number: int, text: str, column: str) -> str:
        """Returns the column that will have the value of an expression for a query."""
        place, numbers = self.expressions.setdefault(text, (column, []))
        if number not in numbers:
            numbers.append(number)
        return place

    def resolve(self, frame: DataFrame, queries: int) -> DataFrame:
        """Returns the frame with a column for each expression."""
        # For rows of other queries, a sum could overflow that no query asks for.
        names = [
            replace(name, sql=_among(numbers, name.sql, NUMBER, queries)).column()
            for name, numbers in self.names.values()
        ]
        frame = frame.select(struct(*(col(name) for name in frame.columns)).alias(_ROW), *names)
        values = [
            expr(_among(numbers, text, f"{_ROW}.{NUMBER}", queries)).alias(column)
            for text, (column, numbers) in self.expressions.items()
        ]
        return frame.select(f"{_ROW}.*", *values)


def _among(numbers: Sequence[int], sql: str, number: str, queries: int) -> str:
    """Returns SQL that is evaluated only for the rows of these queries."""
    if len(numbers) == queries:
        return sql
    return f"CASE WHEN {number} IN ({', '.join(map(str, numbers))}) THEN {sql} END"


def resolved(
    projections: Mapping[str, Projection], frame: DataFrame
) -> tuple[DataFrame, dict[str, Resolved]]:
    """Adds the values of all expressions that use names to the frame; returns each query over it.

    Rows have the number of their query, by its place among the projections, in `NUMBER`.
    """
    scopes: list[_Scope] = []
    columns = (f"{RESERVED}{index}" for index in range(1 << 30))
    answers = {}
    for number, (query, projection) in enumerate(projections.items()):
        texts = [projection.having] if projection.having is not None else []
        if not texts and not any(output.uses_names for output in projection.outputs):
            answers[query] = Resolved(condition=projection.condition, outputs=projection.outputs)
            continue
        scope = next((scope for scope in scopes if scope.takes(projection.names)), None)
        if scope is None:
            scope = _Scope()
            scopes.append(scope)
        scope.add(number, projection.names)
        conditions = [projection.condition] if projection.condition is not None else []
        conditions += [scope.ask(number, text, next(columns)) for text in texts]
        answers[query] = Resolved(
            condition=" AND ".join(f"({part})" for part in conditions) or None,
            outputs=tuple(
                replace(output, sql=scope.ask(number, output.sql, next(columns)), uses_names=False)
                if output.uses_names
                else output
                for output in projection.outputs
            ),
        )
    for scope in scopes:
        frame = scope.resolve(frame, len(projections))
    return frame, answers
