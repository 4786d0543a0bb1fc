"""The relations that queries read: the caller's DataFrames, or tables of the session."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructType

from muntin.errors import RefusedError, RunError, nearest, not_a_dataframe
from muntin.model.query import PlainQuery, Query, tables_of
from muntin.spark.engine.catalyst import may_fail, operators_of, rows_read
from muntin.spark.engine.plan_reuse import distinct_reads, with_unique_plan
from muntin.spark.engine.session_kind import may_use_internals
from muntin.spark.engine.statements import (
    expressions_text,
    sql_over,
    strip_projection,
    temporary_view,
)
from muntin.spark.error_text import first_line
from muntin.sql.filters import is_reference
from muntin.sql_text import SqlText, is_same_table

# Operators that hand on what they read.
_READING = {"Filter", "Project", "SubqueryAlias", "Union", "View"}
# A join of fewer rows is not worth storing.
_FEW_ROWS = 50_000
# A DataFrame for the one relation of the queries, several by name, or None for the session's.
Data = DataFrame | Mapping[str, DataFrame] | None

# The statement that is a relation as it stands.
_WHOLE = ("SELECT * FROM ", "")
# What may follow a table that is a relation by itself.
_ALIAS = re.compile(r"\s*((AS\s+)?(\w+|`([^`]|``)*`))?\s*", re.IGNORECASE)
# A number of an expression, as Spark shows that it casts it.
_WIDENED = re.compile(r"cast\(-?[\d.]+ as (bigint|double)\)")


class Relations:
    """Turns SQL text with table references into DataFrames.

    With `for_later`, statements may be made at any time: they read temporary views as they are now,
    and what is stored for them is read by no other statement of the session.
    """

    def __init__(
        self,
        data: Data,
        queries: Iterable[Query | PlainQuery],
        *,
        streaming: bool = False,
        for_later: bool = False,
    ) -> None:
        tables = tables_of(queries)
        self._frames = _frames(data, tables)
        for name, frame in self._frames.items():
            if not isinstance(frame, DataFrame):
                raise not_a_dataframe(name or "data", frame)
            if frame.isStreaming and not streaming:
                raise RunError(
                    f"{name or 'data'} is a streaming DataFrame; mt.run takes batch DataFrames, "
                    f"mt.start runs the same plan on a stream"
                )
        self.session = _session(self._frames)
        for table in tables:
            if for_later and table not in self._frames:
                view = temporary_view(self.session, table)
                self._frames |= {} if view is None else {table: view}
        # The DataFrames that statements read for tables: as they are, and inside of statements.
        self._whole_frames = self._inner_frames = self._frames
        if for_later:
            self._whole_frames = distinct_reads(self._frames, self.session)
            self._inner_frames = {
                table: with_unique_plan(frame) for table, frame in self._whole_frames.items()
            }
        self._all_columns: dict[SqlText, DataFrame] = {}
        self._computed: dict[SqlText, bool] = {}
        self._checked: dict[Query | PlainQuery, DataFrame] = {}

    def frames_of(self, queries: Iterable[Query | PlainQuery]) -> dict[str, DataFrame]:
        """Returns the DataFrames that these queries read as tables, to run them again."""
        return {table: self._frames[table] for table in tables_of(queries) if table in self._frames}

    def sql(self, text: SqlText) -> DataFrame:
        """Returns the DataFrame of a statement that reads the caller's DataFrames as tables."""
        if text.parts == _WHOLE and text.tables[0] in self._frames:
            return self._whole_frames[text.tables[0]]
        return sql_over(self.session, text, self._inner_frames)

    def frame(self, relation: SqlText) -> DataFrame | None:
        """Returns the caller's DataFrame, if the relation reads just one."""
        return self._frames.get(relation.tables[0]) if len(relation.tables) == 1 else None

    def is_computed(self, relation: SqlText) -> bool:
        """Whether Spark does more than read, filter and project to get the rows of a relation, such
        as a join or a Python function.

        A join of few rows does not count: to compute it again costs less than to store it.
        """
        if relation not in self._computed:
            frame = self.rows(relation)
            operators = operators_of(frame)
            is_computed = operators is not None and not operators <= _READING
            if operators is not None and operators <= {*_READING, "Join"}:
                is_computed = is_computed and (rows_read(frame) or _FEW_ROWS) >= _FEW_ROWS
            self._computed[relation] = is_computed
        return self._computed[relation]

    def relations_to_store(self, readings: Mapping[SqlText, int]) -> frozenset[SqlText]:
        """Returns the relations that are read more than once and cost more than reading."""
        several = [relation for relation, times in readings.items() if times > 1]
        return frozenset(relation for relation in several if self.is_computed(relation))

    def rows_to_store(self, relation: SqlText) -> DataFrame:
        """Returns the rows of a relation as a frame to store.

        Its plan is part of the plan of every statement over the relation. Once Spark stores it,
        none of them computes the rows again.
        """
        return strip_projection(self._with_all_columns(relation))

    def rows(self, relation: SqlText) -> DataFrame:
        """Returns the rows of a relation, for a look at their columns and plan.

        Unlike `rows_to_store`, it returns a caller's DataFrame as it is, without an analysis.
        """
        frame = self.frame(relation)
        is_table = not relation.parts[0].strip() and _ALIAS.fullmatch(relation.parts[-1])
        return frame if frame is not None and is_table else self._with_all_columns(relation)

    def _with_all_columns(self, relation: SqlText) -> DataFrame:
        if relation not in self._all_columns:
            self._all_columns[relation] = self.sql(relation.surround("SELECT * FROM ", ""))
        return self._all_columns[relation]

    def type_of(self, relation: SqlText, expression: str | None) -> DataType:
        """Returns Spark's type of an expression over a relation."""
        frame = self.sql(relation.surround(f"SELECT {expression} FROM ", ""))
        return frame.schema.fields[0].dataType

    def has_casts(self, relation: SqlText, expression: str) -> bool:
        """Whether Spark casts a value to compute an expression over a relation.

        Literals do not count: they can be cast to wider types.
        """
        frame = self.sql(relation.surround(f"SELECT {expression} FROM ", ""))
        shown = expressions_text(frame)
        return shown is None or "cast(" in _WIDENED.sub("", shown.lower())

    def may_fail(self, queries: Iterable[Query]) -> bool:
        """Whether an expression of queries over one relation may fail for some row.

        True if that is unknown.
        """
        queries = list(queries)
        if any(query.has_user_code for query in queries):
            return True
        texts = dict.fromkeys(text for query in queries for text in query.expressions)
        computed = [text for text in texts if not is_reference(text)]
        if not may_use_internals(self.session):
            return bool(computed)
        selected = ", ".join(f"({text})" for text in computed) or "*"
        return may_fail(self.sql(queries[0].source.surround(f"SELECT {selected} FROM ", "")))

    def check(self, query: Query | PlainQuery) -> DataFrame:
        """Returns plain Spark's DataFrame of a query; raises `RefusedError` if Spark refuses it."""
        if query not in self._checked:
            with name_query_in_errors(query):
                text = query.to_sql() if isinstance(query, Query) else query.statement
                self._checked[query] = self.sql(text)
        return self._checked[query]

    def names_of(self, query: Query) -> StructType | None:
        """Returns the schema that Spark gives a query; None if the query names all its columns."""
        if all(column.name is not None for column in query.columns):
            return None
        return self.check(query).schema


@contextmanager
def name_query_in_errors(query: Query | PlainQuery) -> Iterator[None]:
    """Turn an error of Spark's analysis in the block into a `RefusedError` that names the query."""
    try:
        yield
    except (AnalysisException, ParseException) as error:
        context = error.getQueryContext()
        fragment = context[0].fragment() if context else None
        name = query.whole_query.name if isinstance(query, Query) else query.name
        raise RefusedError(name, first_line(error), fragment) from None


@contextmanager
def naming_refused_query(answer: Callable[[str], object], names: Iterable[str]) -> Iterator[None]:
    """If Spark refuses the block, find the query that causes it and raise an error that names it.

    `answer` analyses one query by itself.
    """
    try:
        yield
    except AnalysisException:
        for name in names:
            answer(name)
        raise


def is_ansi(session: SparkSession) -> bool:
    """Whether integer sums detect overflow in a session."""
    return session.conf.get("spark.sql.ansi.enabled", "true") == "true"


def is_case_sensitive(session: SparkSession) -> bool:
    """Whether column names that differ only in case are different in a session."""
    return session.conf.get("spark.sql.caseSensitive", "false") == "true"


def has_legacy_statistics(session: SparkSession) -> bool:
    """Whether variances of one value are NaN in a session, not null."""
    return session.conf.get("spark.sql.legacy.statisticalAggregate", "false") == "true"


def _frames(data: Data, tables: list[str]) -> dict[str, DataFrame]:
    """Returns the caller's DataFrame for each table, if there is one."""
    if data is None:
        if "" in tables:
            raise RunError("a query without a relation needs a DataFrame to run on")
        return {}
    if isinstance(data, Mapping):
        frames = {}
        for table in tables:
            names = [name for name in data if is_same_table(name, table)]
            if table == "" and len(data) == 1:
                names = list(data)
            if names:
                frames[table] = data[names[0]]
            elif table == "":
                raise RunError(
                    f"a query names no relation, and there are several: {', '.join(data)}"
                )
        unused = [
            name for name in data if not any(frame is data[name] for frame in frames.values())
        ]
        if unused and len(frames) < len(tables):
            hint = nearest(unused[0], [table for table in tables if table not in frames])
            raise RunError(f"no query reads {unused[0]!r}; {hint}")
        return frames
    named = [table for table in tables if table]
    if len(named) > 1:
        raise RunError(
            f"the queries read {', '.join(named)}: pass a mapping from each name to its DataFrame"
        )
    return dict.fromkeys(tables, data)


def _session(frames: Mapping[str, DataFrame]) -> SparkSession:
    for frame in frames.values():
        return frame.sparkSession
    try:
        # The session of this thread, or else of the process.
        return SparkSession.active()
    except PySparkException:
        raise RunError(
            "there is no active Spark session; pass a DataFrame or start a session"
        ) from None
