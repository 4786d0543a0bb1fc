"""Writes time in Spark SQL: instants as microseconds since 1970 and back, and their slices."""

from pyspark.sql.types import DataType, TimestampNTZType

from muntin.model.slicing import Edges, Slicing

_EPOCH_NTZ = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"


def micros(time: str, kind: DataType) -> str:
    """An instant of Spark's type `kind` as microseconds since 1970."""
    if not isinstance(kind, TimestampNTZType):
        return f"unix_micros(CAST({time} AS TIMESTAMP))"
    # No function takes a local time to a number without the session's zone, which has gaps. An
    # interval has none.
    return interval_micros(f"({time} - {_EPOCH_NTZ})")


def interval_micros(interval: str) -> str:
    """An interval of days and seconds as microseconds."""
    # Whole seconds first, then the rest of a second stretched to seconds.
    seconds = f"CAST(CAST({interval} AS INTERVAL SECOND) AS BIGINT)"
    rest = f"({interval} - INTERVAL '1' SECOND * {seconds})"
    return f"({seconds} * 1000000L + CAST(CAST({rest} * 1000000 AS INTERVAL SECOND) AS BIGINT))"


def interval(value: str) -> str:
    """Microseconds as an interval of days and seconds."""
    return f"INTERVAL '0.000001' SECOND * ({value})"


def instant(value: str, kind: DataType) -> str:
    """Microseconds since 1970 as an instant of Spark's type `kind`."""
    if not isinstance(kind, TimestampNTZType):
        return f"timestamp_micros({value})"
    return f"({_EPOCH_NTZ} + {interval(value)})"


def window_struct(begin: str, end: str, kind: DataType, *, nullable: bool = False) -> str:
    """The `window` column that Spark would give."""
    # None of it is ever null, but Spark's schema says that ends may be, and hopping windows too.
    ends = (instant(f"nullif({side}, NULL)", kind) for side in (begin, end))
    struct = "named_struct('start', {}, 'end', {})".format(*ends)
    return f"if({begin} IS NULL, NULL, {struct})" if nullable else struct


def slice_start(slicing: Slicing, time: str) -> str:
    """Returns the latest edge at or before `time`, both in microseconds: one expression."""
    ages = [_age(edges, time) for edges in slicing.edges]
    return f"{time} - {ages[0] if len(ages) == 1 else 'least(' + ', '.join(ages) + ')'}"


def _age(edges: Edges, time: str) -> str:
    """Returns the time since the latest edge of a progression, also before 1970."""
    return f"pmod({time} - {edges.phase}L, {edges.period}L)"
