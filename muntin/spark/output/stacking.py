"""Puts the answers of several queries into one frame.

Answers to be written are stacked if their queries have the same columns. In the long form, answers
of all queries have the columns of all, and each row has its query's name.

A stream puts those of all queries into one frame, when it starts: Spark analyses every new frame,
and a few of them in every batch would cost more than the windows do.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import zip_longest

from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import col, expr, lit
from pyspark.sql.types import DataType, NullType, NumericType, StructField, StructType

from muntin.errors import RunError
from muntin.model.trees import TreeNode
from muntin.runtime.periodic.tree import NODE
from muntin.spark.output.numbered_rows import (
    NUMBER,
    NumberedRows,
    merge_columns,
    merge_columns_in_order,
    number_rows,
)
from muntin.spark.output.project import Output, Projection, pick_by_index
from muntin.sql_text import literal, quote_name

# The column of a stack with the number of a row's query.
INDEX = "_muntin_query"
# The column of the long form with the query's name, unless the user chooses another.
QUERY = "query"


@dataclass(frozen=True, kw_only=True)
class Stack:
    """Answers of queries that have the same columns in one frame.

    It has the column `INDEX`, unless there is one query and the answers are those of a batch run.
    """

    # The queries by what they have in that column.
    names: Mapping[int, str]
    frame: DataFrame

    @property
    def schema(self) -> StructType:
        """The columns of each query's answers."""
        return StructType([field for field in self.frame.schema if field.name != INDEX])


@dataclass(frozen=True, kw_only=True)
class Part:
    """Queries with the same columns, and where these are in a frame of all answers."""

    # The queries by what they have in the column `INDEX`.
    names: Mapping[int, str]
    # The column of that frame that has their columns as a struct; None if they are its own columns.
    struct: str | None
    # Their columns.
    schema: StructType

    def of(self, frame: DataFrame) -> DataFrame:
        """Returns their rows and columns, and `INDEX`, of a frame of all answers."""
        if self.struct is None:
            return frame
        columns = (
            col(f"{self.struct}.{quote_name(field.name)}").alias(
                field.name, metadata=field.metadata
            )
            for field in self.schema.fields
        )
        return frame.where(f"{self.struct} IS NOT NULL").select(*columns, INDEX)


@dataclass(frozen=True, kw_only=True)
class CombinedAnswers:
    """All answers in one frame, and how to take it apart."""

    frame: DataFrame
    parts: Sequence[Part]

    def stacks(self) -> list[Stack]:
        """Returns a frame for each part."""
        return [Stack(names=part.names, frame=part.of(self.frame)) for part in self.parts]


class Stacking:
    """The answers of all queries in one frame, and the parts to take it apart again."""

    def __init__(self, rows: NumberedRows, alike: Sequence[Sequence[str]]) -> None:
        """`alike` has the queries, grouped by equal columns."""
        self._numbers = {name: number for number, name in enumerate(rows.outputs)}
        self._alike = alike
        self._columns = [
            merge_columns_in_order(
                {name: of if name in names else () for name, of in rows.outputs.items()}
            )
            for names in alike
        ]
        self._rows = rows.frame

    @cached_property
    def frame(self) -> DataFrame:
        """All answers, with the numbers of their queries; a struct for each group of columns, if
        there are several."""
        if len(self._alike) == 1:
            columns = [output.column() for output in self._columns[0]]
        else:
            columns = [self._struct(index).alias(f"g{index}") for index in range(len(self._alike))]
        return self._rows.select(*columns, col(NUMBER).alias(INDEX))

    @cached_property
    def parts(self) -> list[Part]:
        """Where the columns of each group of queries are in the frame."""
        schema = self.frame.schema
        parts = []
        for index, (names, columns) in enumerate(zip(self._alike, self._columns, strict=True)):
            struct = None if len(self._alike) == 1 else f"g{index}"
            kind = StructType(schema.fields[:-1]) if struct is None else schema[struct].dataType
            assert isinstance(kind, StructType)
            fields = [
                # Of rows of other queries the struct is null.
                StructField(
                    field.name,
                    field.dataType,
                    field.nullable or struct is not None,
                    output.metadata or field.metadata,
                )
                for output, field in zip(columns, kind.fields, strict=True)
            ]
            numbers = {self._numbers[name]: name for name in names}
            parts.append(Part(names=numbers, struct=struct, schema=StructType(fields)))
        return parts

    def _struct(self, index: int) -> Column:
        """The columns of a group of queries as a struct, null in the rows of others."""
        fields = ", ".join(
            f"{literal(column.name)}, {column.sql}" for column in self._columns[index]
        )
        numbers = ", ".join(str(self._numbers[name]) for name in self._alike[index])
        return expr(f"CASE WHEN {NUMBER} IN ({numbers}) THEN named_struct({fields}) END")


def stack_answers(
    project: Callable[[Sequence[str]], Mapping[str, Projection]],
    queries: Sequence[str],
    nodes: Sequence[TreeNode],
    frame: DataFrame,
    fits_one_job: Callable[[CombinedAnswers], bool],
) -> Sequence[Stack | CombinedAnswers]:
    """Returns the answers of queries over rows of nodes, a stack for those with equal columns.

    `project` returns the projections of some of the queries, over rows with their numbers. If there
    would be several stacks, all answers are in one frame instead, where `fits_one_job` takes it.
    """

    def stack(names: Sequence[str]) -> Stack:
        projections = project(names)
        if len(names) > 1:
            return _stack(number_rows(projections, nodes, frame))
        (name,) = names
        place = next(index for index, node in enumerate(nodes) if name in node.queries)
        rows = frame.where(f"{NODE} = {place}")
        return Stack(names={0: name}, frame=projections[name].apply(rows))

    if len(queries) == 1:
        return [stack(queries)]
    projections = project(queries)
    ordered = [name for name in queries if projections[name].ending is not None]
    if ordered:
        # Each is a frame of its own, in its order.
        others = [name for name in queries if name not in ordered]
        rest = stack_answers(project, others, nodes, frame, fits_one_job) if others else []
        return [*rest, *(stack([name]) for name in ordered)]
    rows = number_rows(projections, nodes, frame)
    groups = group_by_columns(schemas_of(rows))
    if len(groups) == 1:
        return [_stack(rows)]
    stacking = Stacking(rows, groups)
    whole = CombinedAnswers(frame=stacking.frame, parts=stacking.parts)
    return [whole] if fits_one_job(whole) else [stack(names) for names in groups]


def _stack(rows: NumberedRows) -> Stack:
    columns = (output.column() for output in merge_columns_in_order(rows.outputs))
    return Stack(
        names=dict(enumerate(rows.outputs)),
        frame=rows.frame.select(*columns, col(NUMBER).alias(INDEX)),
    )


def stack_by_columns(answers: Mapping[str, DataFrame]) -> list[Stack]:
    """Returns answers that Spark computes one by one, a stack for those with equal columns."""
    stacks = []
    for names in group_by_columns({name: frame.schema for name, frame in answers.items()}):
        if len(names) == 1:
            stacks.append(Stack(names={0: names[0]}, frame=answers[names[0]]))
            continue
        frames = [
            answers[name].select("*", lit(index).alias(INDEX)) for index, name in enumerate(names)
        ]
        while len(frames) > 1:
            # In pairs, since Spark looks at the whole plan of each union.
            pairs = zip_longest(frames[::2], frames[1::2])
            frames = [one if other is None else one.unionAll(other) for one, other in pairs]
        stacks.append(Stack(names=dict(enumerate(names)), frame=frames[0]))
    return stacks


def schemas_of(rows: NumberedRows) -> dict[str, StructType]:
    """Returns the columns of each query's answers."""
    # All columns of all queries in one frame, each once: Spark finds their types at once.
    places: dict[str, int] = {}
    for outputs in rows.outputs.values():
        for output in outputs:
            places.setdefault(output.sql, len(places))
    columns = (expr(sql).alias(f"c{place}") for sql, place in places.items())
    types = rows.frame.select(*columns).schema.fields
    return {
        name: StructType(
            [StructField(output.name, types[places[output.sql]].dataType) for output in outputs]
        )
        for name, outputs in rows.outputs.items()
    }


def group_by_columns(schemas: Mapping[str, StructType]) -> list[list[str]]:
    """Groups queries with equal columns."""
    groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for name, schema in schemas.items():
        columns = tuple((field.name, field.dataType.simpleString()) for field in schema.fields)
        groups.setdefault(columns, []).append(name)
    return list(groups.values())


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
    names = pick_by_index([literal((called or {}).get(name, name)) for name in projections], NUMBER)
    rows = number_rows(projections, nodes, frame)
    _check_columns(rows)
    return rows.frame.select(
        Output(name=column, sql=names).column(),
        *(output.column() for output in merge_columns(rows.outputs)),
    )
