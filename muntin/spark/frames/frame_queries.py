"""What DataFrames are to the planner: queries, and the relations that these read."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from muntin.errors import RunError, no_frame
from muntin.model.query import PlainQuery, Query
from muntin.spark.frames.chain import NotSharedError, Watermark
from muntin.sql_text import SqlText


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

    def misread(self, names: Collection[str] | None = None) -> dict[str, str]:
        """Returns why Spark takes queries for something else than their DataFrames, by name.

        To confirm a query takes Spark's analysis. A query need not be confirmed as long as its own
        DataFrame answers it; `names` has the others, or is None for all.
        """
        reasons: dict[str, str] = {}
        for name, confirm in self.confirmations.items():
            try:
                if names is None or name in names:
                    confirm()
            except NotSharedError as reason:
                reasons[name] = str(reason)
        return reasons


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
