"""Writes Spark SQL over a grouping's events: their columns, their slices, and time as numbers."""

from pyspark.sql.types import DataType, TimestampNTZType

from muntin.model.query import Grouping
from muntin.model.windows import Slicing
from muntin.sql_text import SqlText

# The time of an event, and the start of a slice or a record, in microseconds since 1970.
TIME = "t"
START = "start"
_EPOCH_NTZ = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"


def key_column(index: int) -> str:
    """Returns the name of a key in a grouping's slices and answers."""
    return f"k{index}"


def select_events(grouping: Grouping, columns: dict[str, str]) -> SqlText:
    """Returns `SELECT columns` over the grouping's relation and filter: its events one by one."""
    items = ", ".join(f"{sql} AS {name}" for name, sql in columns.items())
    where = f"({grouping.where}) AND " if grouping.where else ""
    return grouping.relation.surround(
        f"SELECT {items} FROM ", f" WHERE {where}({grouping.time}) IS NOT NULL"
    )


def group_events(grouping: Grouping, by: str, columns: dict[str, str]) -> SqlText:
    """Returns `SELECT keys, columns ... GROUP BY keys, by` over the grouping's relation and filter.

    The user's expressions keep the scope in which they were written, and are evaluated where Spark
    would: an argument under a FILTER is not computed for rows that the filter leaves out.
    """
    keys = {key_column(index): key for index, key in enumerate(grouping.keys)}
    groups = f" GROUP BY {', '.join([*grouping.keys, by])}"
    return select_events(grouping, {**keys, **columns}).surround("", groups)


def time_to_micros(time: str, kind: DataType) -> str:
    """Returns a timestamp of Spark's type `kind` as microseconds since 1970."""
    if not isinstance(kind, TimestampNTZType):
        return f"unix_micros(CAST({time} AS TIMESTAMP))"
    # Every function from a local time to a number uses the session's zone, which has gaps. An
    # interval does not.
    return interval_to_micros(f"({time} - {_EPOCH_NTZ})")


def interval_to_micros(interval: str) -> str:
    """Returns an interval of days and seconds as microseconds."""
    # Whole seconds first, then the rest of a second stretched to seconds.
    seconds = f"CAST(CAST({interval} AS INTERVAL SECOND) AS BIGINT)"
    rest = f"({interval} - INTERVAL '1' SECOND * {seconds})"
    return f"({seconds} * 1000000L + CAST(CAST({rest} * 1000000 AS INTERVAL SECOND) AS BIGINT))"


def micros_to_interval(value: str) -> str:
    """Returns microseconds as an interval of days and seconds."""
    return f"INTERVAL '0.000001' SECOND * ({value})"


def micros_to_time(value: str, kind: DataType) -> str:
    """Returns microseconds since 1970 as a timestamp of Spark's type `kind`."""
    if not isinstance(kind, TimestampNTZType):
        return f"timestamp_micros({value})"
    return f"({_EPOCH_NTZ} + {micros_to_interval(value)})"


def window_struct(begin: str, end: str, kind: DataType, *, nullable: bool = False) -> str:
    """Returns the `window` column as Spark's schema has it."""
    # Nothing is ever null, but Spark's schema has nullable bounds, and nullable hopping windows.
    ends = (micros_to_time(f"nullif({side}, NULL)", kind) for side in (begin, end))
    struct = "named_struct('start', {}, 'end', {})".format(*ends)
    return f"if({begin} IS NULL, NULL, {struct})" if nullable else struct


def slice_start(slicing: Slicing, time: str) -> str:
    """Returns the latest edge at or before `time`, also before 1970; both in microseconds."""
    ages = [f"pmod({time} - {edges.phase}L, {edges.period}L)" for edges in slicing.edges]
    return f"{time} - {ages[0] if len(ages) == 1 else 'least(' + ', '.join(ages) + ')'}"
