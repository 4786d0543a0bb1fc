"""What Spark's optimizer knows of a DataFrame: its operators, and how many rows it has."""

from pyspark.sql import DataFrame

from muntin.spark.engine.catalyst import Plan, children, items, kind
from muntin.spark.engine.session_kind import may_use_internals

# Above this a size is Spark's default for what it knows nothing of.
_UNKNOWN = 1e15
# By how much files of columns are usually smaller than their rows.
_COMPRESSED = 4


def operators_of(frame: DataFrame) -> set[str] | None:
    """Returns the operators that read others; None if Spark does not tell."""
    if not may_use_internals(frame.sparkSession):
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
    if not may_use_internals(frame.sparkSession):
        return None
    return _rows_of_plan(frame._jdf.queryExecution().optimizedPlan())


def rows_read(frame: DataFrame) -> float | None:
    """Estimates how many rows the largest source of a frame has; None if Spark does not know."""
    if not may_use_internals(frame.sparkSession):
        return None
    sources = items(frame._jdf.queryExecution().optimizedPlan().collectLeaves())
    rows = [_rows_of_plan(source) for source in sources]
    known = [each for each in rows if each is not None]
    return _COMPRESSED * max(known) if len(known) == len(rows) and rows else None


def _rows_of_plan(plan: Plan) -> float | None:
    stats = plan.stats()
    rows, size = stats.rowCount(), float(str(stats.sizeInBytes()))
    if rows.isDefined():
        return float(str(rows.get()))
    # Spark counts eight bytes for each row beside its columns.
    return size / (plan.schema().defaultSize() + 8) if size < _UNKNOWN else None


def partition_columns(frame: DataFrame) -> list[str]:
    """Returns the columns by which the files of a frame's only source are in folders."""
    scan = _file_scan(frame)
    return [] if scan is None else list(scan.relation().partitionSchema().fieldNames())


def bytes_read(frame: DataFrame) -> float | None:
    """Returns the bytes of the files that Spark reads for a frame with one source of files, without
    those in folders that a filter leaves out; None for any other source."""
    scan = _file_scan(frame)
    return None if scan is None else float(scan.selectedPartitions().totalFileSize())


def _file_scan(frame: DataFrame) -> Plan | None:
    if not may_use_internals(frame.sparkSession):
        return None
    sources = items(frame._jdf.queryExecution().sparkPlan().collectLeaves())
    if [source.getClass().getSimpleName() for source in sources] != ["FileSourceScanExec"]:
        return None
    return sources[0]
