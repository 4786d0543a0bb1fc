"""Rows of answers with the number of their query, and each query's columns as SQL over them.

Queries may use one name for different things. Those whose names agree are resolved together, over a
frame that has their names as columns. Then these columns are dropped, and the computed ones stay.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame
from pyspark.sql.functions import col, expr, struct

from muntin.model.trees import TreeNode
from muntin.runtime.periodic.tree import NODE
from muntin.spark.output.project import RESERVED, Name, Output, Projection, pick_by_index

# The column with the number of the part of a query that a row belongs to, if queries have parts.
PART = "p"
# The column with the number of a row's query.
NUMBER = "q"
# The struct of all other columns, while there are columns with users' names.
_ROW = f"{RESERVED}row"


@dataclass(frozen=True, kw_only=True)
class _QueryColumns:
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

    def has_no_conflict(self, names: Iterable[Name]) -> bool:
        """Whether none of these names, in any case, has another meaning here."""
        known: dict[str, list[Name]] = {}
        for name, _ in self.names.values():
            known.setdefault(name.name.lower(), []).append(name)
        return all(other == name for name in names for other in known.get(name.name.lower(), ()))

    def add_names(self, number: int, names: Iterable[Name]) -> None:
        """Add the names of one more query."""
        for name in names:
            self.names.setdefault(name.name, (name, []))[1].append(number)

    def add_expression(self, number: int, text: str, column: str) -> str:
        """Returns the column that will have the value of an expression for a query."""
        place, numbers = self.expressions.setdefault(text, (column, []))
        if number not in numbers:
            numbers.append(number)
        return place

    def resolve(self, frame: DataFrame, queries: int) -> DataFrame:
        """Returns the frame with a column for each expression."""
        # For rows of other queries, a sum could overflow that no query asks for.
        names = [
            replace(name, sql=_only_for_queries(numbers, name.sql, NUMBER, queries)).column()
            for name, numbers in self.names.values()
        ]
        frame = frame.select(struct(*(col(name) for name in frame.columns)).alias(_ROW), *names)
        values = [
            expr(_only_for_queries(numbers, text, f"{_ROW}.{NUMBER}", queries)).alias(column)
            for text, (column, numbers) in self.expressions.items()
        ]
        return frame.select(f"{_ROW}.*", *values)


def _only_for_queries(numbers: Sequence[int], sql: str, number: str, queries: int) -> str:
    """Returns SQL that is evaluated only for the rows of these queries."""
    if len(numbers) == queries:
        return sql
    return f"CASE WHEN {number} IN ({', '.join(map(str, numbers))}) THEN {sql} END"


def _resolve(
    projections: Mapping[str, Projection], frame: DataFrame
) -> tuple[DataFrame, dict[str, _QueryColumns]]:
    """Adds the values of all expressions that use names to the frame; returns each query over it.

    Rows have the number of their query, by its place among the projections, in `NUMBER`.
    """
    scopes: list[_Scope] = []
    columns = (f"{RESERVED}{index}" for index in range(1 << 30))
    answers = {}
    for number, (query, projection) in enumerate(projections.items()):
        texts = [projection.having] if projection.having is not None else []
        if not texts and not any(output.uses_names for output in projection.outputs):
            answers[query] = _QueryColumns(
                condition=projection.condition, outputs=projection.outputs
            )
            continue
        scope = next((scope for scope in scopes if scope.has_no_conflict(projection.names)), None)
        if scope is None:
            scope = _Scope()
            scopes.append(scope)
        scope.add_names(number, projection.names)
        conditions = [projection.condition] if projection.condition is not None else []
        conditions += [scope.add_expression(number, text, next(columns)) for text in texts]
        answers[query] = _QueryColumns(
            condition=" AND ".join(f"({part})" for part in conditions) or None,
            outputs=tuple(
                replace(
                    output,
                    sql=scope.add_expression(number, output.sql, next(columns)),
                    uses_names=False,
                )
                if output.uses_names
                else output
                for output in projection.outputs
            ),
        )
    for scope in scopes:
        frame = scope.resolve(frame, len(projections))
    return frame, answers


@dataclass(frozen=True, kw_only=True)
class NumberedRows:
    """Rows of answers with their query's number, and each query's columns as SQL over them."""

    frame: DataFrame
    outputs: Mapping[str, tuple[Output, ...]]


def number_rows(
    projections: Mapping[str, Projection], nodes: Sequence[TreeNode], frame: DataFrame
) -> NumberedRows:
    """Returns each row of answers once for every query that asks for it, with the query's number.

    Rows that HAVING rejects, and rows of other queries, are dropped.
    """
    rows, queries = _resolve(projections, _add_numbers(list(projections), nodes, frame))
    conditions = [projection.condition or "true" for projection in queries.values()]
    condition = _case_by_number(dict(enumerate(conditions)))
    return NumberedRows(
        frame=rows if condition == "true" else rows.where(condition),
        outputs={name: projection.outputs for name, projection in queries.items()},
    )


def merge_parts(rows: NumberedRows, called: Mapping[str, str]) -> NumberedRows:
    """Returns rows of parts of queries as rows of the queries; `called` has the query of each part.

    The number of the part is then in `PART`.
    """
    if all(part == query for part, query in called.items()):
        return rows
    queries = list(dict.fromkeys(called.values()))
    numbers = {part: number for number, part in enumerate(rows.outputs)}
    places = [str(queries.index(called[part])) for part in rows.outputs]
    outputs = {}
    for query in queries:
        mine = {numbers[part]: rows.outputs[part] for part in numbers if called[part] == query}
        first, *_ = mine.values()
        outputs[query] = tuple(
            replace(output, sql=_case_by_number({n: of[index].sql for n, of in mine.items()}, PART))
            for index, output in enumerate(first)
        )
    frame = rows.frame.withColumnRenamed(NUMBER, PART)
    return NumberedRows(
        frame=frame.withColumn(NUMBER, expr(pick_by_index(places, PART))),
        outputs=outputs,
    )


def merge_columns(outputs: Mapping[str, Sequence[Output]]) -> list[Output]:
    """Returns the columns of all queries by name, over rows with the query's number.

    `outputs` has the columns of every query, by number; an empty one if they are not wanted.
    """
    names = dict.fromkeys(output.name for of_query in outputs.values() for output in of_query)
    return [
        _merge([_find_output(name, of_query) for of_query in outputs.values()]) for name in names
    ]


def merge_columns_in_order(outputs: Mapping[str, Sequence[Output]]) -> list[Output]:
    """Returns the columns of queries that have the same ones, over rows with the query's number.

    `outputs` has the columns of every query, by number; an empty one if they are not wanted.
    """
    width = max(map(len, outputs.values()))
    return [
        _merge([of_query[index] if of_query else None for of_query in outputs.values()])
        for index in range(width)
    ]


def _add_numbers(queries: Sequence[str], nodes: Sequence[TreeNode], frame: DataFrame) -> DataFrame:
    """Returns each row once for every query that its node answers, with that query's number."""
    numbers = {name: number for number, name in enumerate(queries)}
    asked = [[numbers[name] for name in node.queries if name in numbers] for node in nodes]
    if any(node.queries and not numbers for node, numbers in zip(nodes, asked, strict=True)):
        # A node that only other queries ask for gives rows, too, which are left out here.
        wanted = [str(number) for number, queries in enumerate(asked) if queries]
        frame = frame.where(f"{NODE} IN ({', '.join(wanted)})")
    if all(len(numbers) <= 1 for numbers in asked):
        first = [numbers[0] if numbers else 0 for numbers in asked]
        # Mostly, queries are in the order of their nodes.
        is_ordered = len(first) > 1 and first == list(range(len(first)))
        number = NODE if is_ordered else pick_by_index([*map(str, first)], NODE)
        return frame.selectExpr("*", f"{number} AS {NUMBER}")
    lists = [f"array({', '.join(map(str, numbers or [0]))})" for numbers in asked]
    return frame.selectExpr("*", f"explode({pick_by_index(lists, NODE)}) AS {NUMBER}")


def _find_output(name: str, outputs: Iterable[Output]) -> Output | None:
    return next((output for output in outputs if output.name == name), None)


def _merge(columns: Sequence[Output | None]) -> Output:
    """Merges a column of all queries: each row takes its own query's expression."""
    present = [output for output in columns if output is not None]
    return Output(
        name=present[0].name,
        sql=_case_by_number(dict(enumerate(None if one is None else one.sql for one in columns))),
        metadata=present[0].metadata,
    )


def _case_by_number(expressions: Mapping[int, str | None], column: str = NUMBER) -> str:
    """Chooses an expression by the row's query, whose number is in a column; equal expressions
    share a branch."""
    branches: dict[str, list[int]] = {}
    for number, sql in expressions.items():
        if sql is not None:
            branches.setdefault(sql, []).append(number)
    # With ELSE, the column cannot be null if no branch can.
    last = branches.popitem()[0] if None not in expressions.values() else "NULL"
    if not branches:
        return last
    cases = " ".join(
        f"WHEN {column} IN ({', '.join(map(str, numbers))}) THEN {sql}"
        for sql, numbers in branches.items()
    )
    return f"CASE {cases} ELSE {last} END"


def project_parts(
    projections: Mapping[str, Projection], nodes: Sequence[TreeNode], frame: DataFrame
) -> DataFrame:
    """Returns the rows of parts of one query, which differ only in what their names stand for."""
    choosing = project_by_number(dict(enumerate(projections.values())), NUMBER)
    return choosing.apply(_add_numbers(list(projections), nodes, frame))


def project_by_number(projections: Mapping[int, Projection], column: str) -> Projection:
    """Returns the projection of queries that differ only in what their names stand for.

    The number of a row's query is in `column`.
    """
    first, *_ = every = list(projections.values())

    def choose(texts: Iterable[str]) -> str:
        return _case_by_number(dict(zip(projections, texts, strict=True)), column)

    return replace(
        first,
        names=tuple(
            replace(name, sql=choose(each.names[index].sql for each in every))
            for index, name in enumerate(first.names)
        ),
        outputs=tuple(
            replace(output, sql=choose(each.outputs[index].sql for each in every))
            for index, output in enumerate(first.outputs)
        ),
    )
