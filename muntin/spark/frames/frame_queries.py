"""What both readers of DataFrames return: queries, the relations that they read, and reasons."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from muntin.errors import RunError, not_a_dataframe
from muntin.model.query import PlainQuery, Query
from muntin.sql_text import SqlText

# What users call operators.
_OPERATORS = {
    "deduplicate": "dropDuplicates",
    "distinct": "distinct",
    "join": "a join",
    "set_op": "a union",
    "union": "a union",
    "window": "a window function",
}
# Why a DataFrame cannot share, as both readers say it.
NO_GROUP_BY = "it has no groupBy"
NO_WINDOW = "no window in its groupBy"
TWO_WINDOWS = "it has two windows"
OTHER_TIME = "its watermark is on another column than its window"


class NotSharedError(Exception):
    """Why a DataFrame is left to Spark as it is."""


@contextmanager
def note_reason(reasons: dict[str, str], name: str) -> Iterator[None]:
    """Adds the reason to `reasons` if the block raises `NotSharedError`."""
    try:
        yield
    except NotSharedError as reason:
        reasons[name] = str(reason)


def has_above_group_by(operator: str) -> str:
    """Returns the reason for an operator above a `groupBy` that cannot stay there."""
    called = _OPERATORS.get(operator.lower(), operator.replace("_", " "))
    return f"it has {called} above its groupBy"


@dataclass(frozen=True, kw_only=True)
class Watermark:
    """How late the rows of a stream may be, in microseconds, and the column of their time.

    The column is an expression of Spark's, or SQL.
    """

    delay: int
    column: Any


@dataclass(frozen=True, kw_only=True)
class Ending:
    """The order of a DataFrame and its limit, which Spark applies to the answer of its query.

    `order` has expressions of Spark's, or SQL. `directions` has the direction of each, as SQL.
    """

    order: Sequence[Any] = ()
    directions: Sequence[str] = ()
    # Whether the whole answer is ordered, or each partition.
    is_global: bool = True
    limit: int | None = None
    offset: int = 0

    def with_limit(self, rows: int) -> "Ending":
        """Returns the ending with one more limit."""
        return replace(self, limit=rows if self.limit is None else min(self.limit, rows))

    def with_offset(self, rows: int) -> "Ending":
        """Returns the ending with more rows left out at the start."""
        limit = None if self.limit is None else max(self.limit - rows, 0)
        return replace(self, limit=limit, offset=self.offset + rows)

    def check_no_limit(self) -> None:
        """Raise `NotSharedError` if there is a limit.

        Called for each filter or order above, which would be applied before the limit.
        """
        if self.limit is not None or self.offset:
            raise NotSharedError("it has a filter or an order above its limit")

    def to_sql(self, order: Sequence[str]) -> str | None:
        """Returns the clauses ORDER BY, LIMIT and OFFSET; None if there are none.

        `order` has the SQL of each expression.
        """
        orders = [f"{text} {how}" for text, how in zip(order, self.directions, strict=True)]
        word = "ORDER BY" if self.is_global else "SORT BY"
        clauses = [
            f"{word} {', '.join(orders)}" if orders else "",
            f"LIMIT {self.limit}" if self.limit is not None else "",
            f"OFFSET {self.offset}" if self.offset else "",
        ]
        return " ".join(filter(None, clauses)) or None


@dataclass(frozen=True, kw_only=True)
class FrameQuery:
    """A DataFrame that was read as a query."""

    query: Query
    # None if the DataFrame has none.
    watermark: Watermark | None
    # Raises `NotSharedError` unless the query means the same as the DataFrame; None if it does.
    confirm: Callable[[], None] | None = None


@dataclass(frozen=True, kw_only=True)
class FrameGroup:
    """The queries of DataFrames over one base, by name."""

    # What the queries call the relation that they read, and the DataFrame that it is.
    table: str
    frame: DataFrame
    members: Mapping[str, FrameQuery]


@dataclass(frozen=True, kw_only=True)
class ReadFrames:
    """The queries of some DataFrames, and the DataFrames that they read by name."""

    queries: tuple[Query | PlainQuery, ...]
    # The user's own DataFrames, and the relations that those which share have in common.
    frames: Mapping[str, DataFrame]
    relations: Mapping[str, DataFrame]
    # Why a DataFrame cannot share, by its name.
    reasons: Mapping[str, str]
    # The watermarks of streams, by the DataFrame that has it.
    watermarks: Mapping[str, Watermark]
    # Each raises `NotSharedError` unless a query means the same as the DataFrame of its name.
    confirmations: Mapping[str, Callable[[], None]]

    @property
    def shared(self) -> list[Query]:
        """The queries that can share."""
        return [query for query in self.queries if isinstance(query, Query)]

    @property
    def data(self) -> dict[str, DataFrame]:
        """All DataFrames that statements of the queries read, by name."""
        return {**self.frames, **self.relations}

    def misread_reasons(self, names: Collection[str] | None = None) -> dict[str, str]:
        """Returns the queries that mean something else than their DataFrames, with the reasons.

        It costs an analysis by Spark for each query of `names`; None stands for all. Queries that
        are answered by their own DataFrames need not be checked.
        """
        reasons: dict[str, str] = {}
        for name, confirm in self.confirmations.items():
            if names is None or name in names:
                with note_reason(reasons, name):
                    confirm()
        return reasons


def table_of_group(number: int) -> str:
    """Returns what queries call the relation of a group."""
    return f"data{number + 1}" if number else "data"


def frame_table(name: str) -> str:
    """Returns the table name of a user's DataFrame in statements."""
    return f"frame {name}"


def select_frame(name: str) -> SqlText:
    """Returns the statement that selects all of a user's DataFrame."""
    return SqlText(("SELECT * FROM ", ""), (frame_table(name),))


def statement_of(name: str, frame: DataFrame) -> SqlText | None:
    """Returns the statement that gives a query's columns their names and metadata.

    It is None for a stream: Spark would analyse it too often, so its query names the columns.
    """
    return None if frame.isStreaming else select_frame(name)


def session_of(frames: Mapping[str, DataFrame]) -> SparkSession:
    """Returns the session of all DataFrames; raises an error if there is none or several."""
    if not isinstance(frames, Mapping) or not frames:
        raise RunError("share takes a mapping from names to DataFrames, at least one")
    for name, frame in frames.items():
        if not isinstance(frame, DataFrame):
            raise not_a_dataframe(repr(name), frame)
    sessions = {id(frame.sparkSession): frame.sparkSession for frame in frames.values()}
    if len(sessions) > 1:
        raise RunError("the DataFrames are of several sessions")
    return next(iter(sessions.values()))
