"""What DataFrames are to the planner: queries, and the relations that these read."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame, SparkSession

from muntin.errors import RunError, no_frame
from muntin.model.query import PlainQuery, Query
from muntin.model.sql_text import SqlText
from muntin.model.windows.data_windows import DataWindow
from muntin.model.windows.window import Window
from muntin.spark.frames.chain import NotSharedError, Watermark


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
    # Raise `NotSharedError` unless Spark takes a query for the DataFrame of its name.
    confirmations: Mapping[str, Callable[[], None]]

    @property
    def shared(self) -> list[Query]:
        """The queries that can share."""
        return [query for query in self.queries if isinstance(query, Query)]

    @property
    def data(self) -> dict[str, DataFrame]:
        """All that statements of the queries read."""
        return {**self.frames, **self.relations}

    def confirmed(self, names: Collection[str] | None = None) -> "ReadFrames":
        """Returns the same, with plain queries for those that Spark takes for something else.

        To confirm a query takes Spark's analysis. A query need not be confirmed as long as its own
        DataFrame answers it; `names` has the others.
        """
        reasons: dict[str, str] = {}
        unconfirmed = dict(self.confirmations)
        for name in self.confirmations if names is None else names & self.confirmations.keys():
            try:
                unconfirmed.pop(name)()
            except NotSharedError as reason:
                reasons[name] = str(reason)
        queries = [
            plain_query(query.name, reasons[query.name], query.window)
            if query.name in reasons
            else query
            for query in self.queries
        ]
        read = {query.source.tables[0] for query in queries if isinstance(query, Query)}
        return replace(
            self,
            queries=tuple(queries),
            relations={table: each for table, each in self.relations.items() if table in read},
            reasons={**self.reasons, **reasons},
            confirmations=unconfirmed,
        )


@dataclass(frozen=True, kw_only=True)
class FrameGroup:
    """What became of the DataFrames over one base."""

    # What queries call the relation that they read, and the DataFrame that it is.
    table: str
    frame: DataFrame
    queries: Mapping[str, Query]
    reasons: Mapping[str, str]
    watermarks: Mapping[str, Watermark]
    confirmations: Mapping[str, Callable[[], None]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class FoundFrames:
    """What was found in DataFrames: groups over one base each, and why others are in none."""

    groups: Sequence[FrameGroup]
    reasons: Mapping[str, str]


def table_of_group(number: int) -> str:
    """Returns what queries call the relation of a group."""
    return f"data{number + 1}" if number else "data"


def own_table(name: str) -> str:
    """Returns the name of a user's DataFrame among those that statements read."""
    return f"frame {name}"


def whole_frame(name: str) -> SqlText:
    """Returns the statement that is a user's DataFrame as it stands."""
    return SqlText(("SELECT * FROM ", ""), (own_table(name),))


def plain_query(name: str, reason: str, window: Window | DataWindow | None) -> PlainQuery:
    """Returns a user's DataFrame as a query that Spark answers alone."""
    return PlainQuery(name=name, statement=whole_frame(name), reason=reason, window=window)


def session_of(frames: Mapping[str, DataFrame]) -> SparkSession:
    """Returns the session of all DataFrames, or says what else was given."""
    if not isinstance(frames, Mapping) or not frames:
        raise RunError("share takes a mapping from names to DataFrames, at least one")
    for name, frame in frames.items():
        if not isinstance(frame, DataFrame):
            raise no_frame(repr(name), frame)
    sessions = {id(frame.sparkSession): frame.sparkSession for frame in frames.values()}
    if len(sessions) > 1:
        raise RunError("the DataFrames are of several sessions")
    return next(iter(sessions.values()))
