"""What Spark's optimizer knows of a DataFrame: its operators, and how many rows it has."""

from pyspark.sql import DataFrame

from muntin.spark.engine.catalyst import Plan, children, kind
from muntin.spark.engine.session_kind import is_connect

# Above this a size is Spark's default for what it knows nothing of.
_UNKNOWN = 1e15


def operators_of(frame: DataFrame) -> set[str] | None:
    """Returns the operators that read others; None if Spark does not tell."""
    if is_connect(frame.sparkSession):
        return None
    waiting: list[Plan] = [frame._jdf.queryExecution().optimizedPlan()]
    operators = set()
    while waiting:
        node = waiting.pop()
        inputs = children(node)
        operators |= {kind(node)} if inputs else set()
        waiting += inputs
    return operators


def rows_of(frame: DataFrame) -> float | None:
    """Estimates how many rows there are by the size of files; None if Spark does not know."""
    if is_connect(frame.sparkSession):
        return None
    stats = frame._jdf.queryExecution().optimizedPlan().stats()
    rows, size = stats.rowCount(), float(str(stats.sizeInBytes()))
    if rows.isDefined():
        return float(str(rows.get()))
    # Spark counts eight bytes for each row beside its columns.
    return size / (frame._jdf.schema().defaultSize() + 8) if size < _UNKNOWN else None
