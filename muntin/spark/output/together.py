"""The long form: answers of many queries in one DataFrame, each row under its query's name."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr, lit
from pyspark.sql.types import DataType, NullType, NumericType

from muntin.errors import RunError
from muntin.model.trees import TreeNode
from muntin.runtime.periodic.tree import NODE
from muntin.spark.output.naming import NUMBER, resolved
from muntin.spark.output.project import Output, Projection, pick
from muntin.sql_text import literal

QUERY = "query"
# The column with the number of the part of a query that a row is of, where queries have parts.
PART = "p"


def in_one(frames: Sequence[DataFrame]) -> DataFrame:
    """Unites frames of the long form; a column that a frame lacks is null in its rows."""
    _check_types((field.name, field.dataType) for frame in frames for field in frame.schema.fields)
    return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), frames)


def check_names(outputs: Mapping[str, Iterable[str | None]], column: str) -> None:
    """Refuse queries that have a column `query`, which is the name of ours."""
    for query, names in outputs.items():
        for name in names:
            if name is not None and name.lower() == column.lower():
                raise RunError(
                    f"query {query!r} has a column called {name!r}, which together() uses for the "
                    f"query's name; give together(column=...) another name for that"
                )


def _check_merged(rows: "Numbered") -> None:
    """Refuse queries whose columns of one name have types that Spark cannot unite."""
    columns: dict[str, dict[str, str]] = {}
    for query, outputs in rows.outputs.items():
        for output in outputs:
            columns.setdefault(output.name.lower(), {}).setdefault(output.sql, query)
    several = [
        (name, sql, query)
        for name, queries in columns.items()
        if len(queries) > 1
        for sql, query in queries.items()
    ]
    if several:
        # All of them in one frame: Spark finds their types at once.
        fields = rows.frame.select(*(expr(sql) for _, sql, _ in several)).schema.fields
        _check_types(
            (name, field.dataType, query)
            for (name, _, query), field in zip(several, fields, strict=True)
        )


def _check_types(columns: Iterable[tuple[str, DataType, *tuple[str, ...]]]) -> None:
    """Refuse columns (name, type, and the query if it is known) of one name that do not agree."""
    known: dict[str, tuple[DataType, tuple[str, ...]]] = {}
    for name, kind, *query in columns:
        first, queries = known.setdefault(name.lower(), (kind, tuple(query)))
        if not _go_together(first, kind):
            where = f" in the queries {queries[0]!r} and {query[0]!r}" if query else ""
            raise RunError(
                f"together() has one column for each name, and the types of {name!r} do not go "
                f"together: {first.simpleString()} and {kind.simpleString()}{where}; "
                f"name them apart"
            )


def _go_together(left: DataType, other: DataType) -> bool:
    """Whether Spark can unite both types."""
    if left == other or {type(left), type(other)} & {NullType}:
        return True
    if isinstance(left, NumericType) and isinstance(other, NumericType):
        return True
    # Structs differ in whether their fields may be null, and in metadata.
    return left.simpleString() == other.simpleString()


def named(name: str, frame: DataFrame, column: str = QUERY) -> DataFrame:
    """Returns an answer with its query's name as the first column."""
    return frame.select(lit(name).alias(column), "*")


def united(
    projections: Mapping[str, Projection], nodes: Sequence[TreeNode], frame: DataFrame
) -> DataFrame:
    """Returns the rows of queries that differ only in what their names stand for, in one pass."""
    choosing = chosen(dict(enumerate(projections.values())), NUMBER)
    return choosing.apply(_number(list(projections), nodes, frame))


def chosen(projections: Mapping[int, Projection], column: str) -> Projection:
    """Returns the projection of queries that differ only in what their names stand for.

    The number of a row's query is in `column`.
    """
    first, *_ = every = list(projections.values())

    def choose(texts: Iterable[str]) -> str:
        return _choose(dict(zip(projections, texts, strict=True)), column)

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


def stack(
    projections: Mapping[str, Projection],
    nodes: Sequence[TreeNode],
    frame: DataFrame,
    column: str = QUERY,
    called: Mapping[str, str] | None = None,
) -> DataFrame:
    """Returns answers of all nodes as rows of (query, all columns by name), in one pass.

    `projections` has that of each query, over the rows of any node. A column that a query does not
    have is null in its rows. `called` has the names of queries that are called otherwise there.
    """
    names = pick([literal((called or {}).get(name, name)) for name in projections], NUMBER)
    rows = numbered(projections, nodes, frame)
    _check_merged(rows)
    return rows.frame.select(
        Output(name=column, sql=names).column(),
        *(output.column() for output in merged(rows.outputs)),
    )


@dataclass(frozen=True, kw_only=True)
class Numbered:
    """Rows of answers with their query's number, and each query's columns as SQL over them."""

    frame: DataFrame
    outputs: Mapping[str, tuple[Output, ...]]


def numbered(
    projections: Mapping[str, Projection], nodes: Sequence[TreeNode], frame: DataFrame
) -> Numbered:
    """Returns each row of answers once for every query that asks for it, with the query's number.

    Rows that HAVING leaves out, and rows of other queries, are left out.
    """
    rows, queries = resolved(projections, _number(list(projections), nodes, frame))
    conditions = [projection.condition or "true" for projection in queries.values()]
    condition = _choose(dict(enumerate(conditions)))
    return Numbered(
        frame=rows if condition == "true" else rows.where(condition),
        outputs={name: projection.outputs for name, projection in queries.items()},
    )


def of_whole_queries(rows: Numbered, called: Mapping[str, str]) -> Numbered:
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
            replace(output, sql=_choose({n: of[index].sql for n, of in mine.items()}, PART))
            for index, output in enumerate(first)
        )
    frame = rows.frame.withColumnRenamed(NUMBER, PART)
    return Numbered(
        frame=frame.withColumn(NUMBER, expr(pick(places, PART))),
        outputs=outputs,
    )


def merged(outputs: Mapping[str, Sequence[Output]]) -> list[Output]:
    """Returns the columns of all queries by name, over rows with the query's number.

    `outputs` has the columns of every query, by number; an empty one if they are not wanted.
    """
    names = dict.fromkeys(output.name for of_query in outputs.values() for output in of_query)
    return [_merge([_named(name, of_query) for of_query in outputs.values()]) for name in names]


def merged_in_order(outputs: Mapping[str, Sequence[Output]]) -> list[Output]:
    """Returns the columns of queries that have the same ones, over rows with the query's number.

    `outputs` has the columns of every query, by number; an empty one if they are not wanted.
    """
    width = max(map(len, outputs.values()))
    return [
        _merge([of_query[index] if of_query else None for of_query in outputs.values()])
        for index in range(width)
    ]


def _number(queries: Sequence[str], nodes: Sequence[TreeNode], frame: DataFrame) -> DataFrame:
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
        number = NODE if is_ordered else pick([*map(str, first)], NODE)
        return frame.selectExpr("*", f"{number} AS {NUMBER}")
    lists = [f"array({', '.join(map(str, numbers or [0]))})" for numbers in asked]
    return frame.selectExpr("*", f"explode({pick(lists, NODE)}) AS {NUMBER}")


def _named(name: str, outputs: Iterable[Output]) -> Output | None:
    return next((output for output in outputs if output.name == name), None)


def _merge(columns: Sequence[Output | None]) -> Output:
    """Merges a column of all queries: each row takes its own query's expression."""
    present = [output for output in columns if output is not None]
    return Output(
        name=present[0].name,
        sql=_choose(dict(enumerate(None if one is None else one.sql for one in columns))),
        metadata=present[0].metadata,
    )


def _choose(expressions: Mapping[int, str | None], column: str = NUMBER) -> str:
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
