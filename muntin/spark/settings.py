"""Changes settings of a session for a while."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

# Spark would compute, for every row that it hands to Python, how many bytes the batch has by then:
# a quarter of what all tasks cost. Without that a batch has as many rows as Spark's other limit
# says, which is fine where rows are short, as events with the columns that queries read.
ROWS_UNMEASURED = {"spark.sql.execution.arrow.maxBytesPerBatch": str((1 << 31) - 1)}


@contextmanager
def settings(session: SparkSession, values: Mapping[str, str | None]) -> Iterator[None]:
    """Gives the session these settings in the block, None for one that is not set.

    A stream keeps those it started with.
    """
    before = {name: session.conf.get(name, None) for name in values}
    try:
        _set(session, values)
        yield
    finally:
        _set(session, before)


def _set(session: SparkSession, values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            session.conf.unset(name)
        else:
            session.conf.set(name, value)
