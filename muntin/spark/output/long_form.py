"""The long form: answers of many queries in one DataFrame, each row under its query's name."""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr, lit
from pyspark.sql.types import DataType, NullType, NumericType

from muntin.errors import RunError
from muntin.model.trees import TreeNode
from muntin.spark.output.numbered_rows import NUMBER, NumberedRows, merge_columns, number_rows
from muntin.spark.output.project import Output, Projection, pick
from muntin.sql_text import literal

# The column with the query's name, unless the user chooses another.
QUERY = "query"


def union_long_form(frames: Sequence[DataFrame]) -> DataFrame:
    """Returns the union of frames in the long form; columns that a frame lacks are null."""
    _check_types((field.name, field.dataType) for frame in frames for field in frame.schema.fields)
    return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), frames)


def check_names(outputs: Mapping[str, Iterable[str | None]], column: str) -> None:
    """Refuse queries that have a column with the name of ours."""
    for query, names in outputs.items():
        for name in names:
            if name is not None and name.lower() == column.lower():
                raise RunError(
                    f"query {query!r} has a column called {name!r}, which together() uses for the "
                    f"query's name; give together(column=...) another name for that"
                )


def _check_columns(rows: NumberedRows) -> None:
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
    """Refuse columns (name, type, query if known) of one name whose types Spark cannot unite."""
    known: dict[str, tuple[DataType, tuple[str, ...]]] = {}
    for name, kind, *query in columns:
        first, queries = known.setdefault(name.lower(), (kind, tuple(query)))
        if not _can_be_united(first, kind):
            where = f" in the queries {queries[0]!r} and {query[0]!r}" if query else ""
            raise RunError(
                f"together() has one column for each name, and the types of {name!r} do not go "
                f"together: {first.simpleString()} and {kind.simpleString()}{where}; "
                f"name them apart"
            )


def _can_be_united(left: DataType, other: DataType) -> bool:
    """Whether Spark can unite both types."""
    if left == other or {type(left), type(other)} & {NullType}:
        return True
    if isinstance(left, NumericType) and isinstance(other, NumericType):
        return True
    # Structs differ in whether their fields may be null, and in metadata.
    return left.simpleString() == other.simpleString()


def with_query_name(name: str, frame: DataFrame, column: str = QUERY) -> DataFrame:
    """Returns an answer with its query's name as the first column."""
    return frame.select(lit(name).alias(column), "*")


def long_form(
    projections: Mapping[str, Projection],
    nodes: Sequence[TreeNode],
    frame: DataFrame,
    column: str = QUERY,
    called: Mapping[str, str] | None = None,
) -> DataFrame:
    """Returns the answers of all nodes as rows of (query, all columns by name), in one pass.

    `projections` has that of each query, over the rows of any node. A column that a query does not
    have is null in its rows. `called` has the name to show for each part of a query.
    """
    names = pick([literal((called or {}).get(name, name)) for name in projections], NUMBER)
    rows = number_rows(projections, nodes, frame)
    _check_columns(rows)
    return rows.frame.select(
        Output(name=column, sql=names).column(),
        *(output.column() for output in merge_columns(rows.outputs)),
    )
