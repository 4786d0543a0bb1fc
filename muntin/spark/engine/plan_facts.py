"""Facts about a DataFrame from Spark's plan: operators, sizes, and whether it may fail."""

import re

from pyspark.sql import DataFrame

from muntin.spark.engine.catalyst import (
    Expression,
    Plan,
    analyzed_plan,
    children,
    node_name,
    to_list,
    walk,
)
from muntin.spark.engine.session_kind import may_use_internals

# A larger size is Spark's default for an unknown one.
_UNKNOWN = 1e15
# How many times smaller columnar files usually are than their rows.
_COMPRESSED = 4
# Expressions that give a value or null, whatever they are given.
_SAFE = {
    *("Alias", "AttributeReference", "CreateArray", "CreateNamedStruct"),
    *("GetStructField", "Literal"),
    *("And", "CaseWhen", "Coalesce", "If", "In", "InSet", "Not", "Nvl", "Or"),
    *("EqualNullSafe", "EqualTo", "GreaterThan", "GreaterThanOrEqual", "LessThan"),
    *("LessThanOrEqual", "IsNaN", "IsNotNull", "IsNull", "KnownNullable"),
    *("Concat", "Contains", "EndsWith", "Length", "Like", "Lower", "StartsWith", "StringTrim"),
    *("Substring", "Upper", "DayOfMonth", "DayOfWeek", "DayOfYear", "Hour", "Minute", "Month"),
    *("Quarter", "Second", "TruncTimestamp", "WeekOfYear", "Year"),
}
# Arithmetic overflows, except with floats.
_ARITHMETIC = {"Abs", "Add", "Multiply", "Subtract", "UnaryMinus"}
_FLOATS = {"double", "float"}
# Division and remainder fail if the divisor is zero.
_DIVISIONS = {"Divide", "Remainder", "Pmod"}
_ZEROS = {"0", "0.0", "-0.0", "None"}
_NUMBERS = ["tinyint", "smallint", "int", "bigint", "float", "double"]
# Columns under their own names or others, as Spark shows the expressions of an operator.
_COLUMN = r"\w+#\d+L?"
_COLUMNS = re.compile(rf"\w+\(({_COLUMN}( AS {_COLUMN})?(, )?)*\)")


def operators_of(frame: DataFrame) -> set[str] | None:
    """Returns the operators that read others; None if plans may not be read."""
    if not may_use_internals(frame.sparkSession):
        return None
    plan = frame._jdf.queryExecution().optimizedPlan()
    return {node_name(node) for node in walk(plan) if children(node)}


def rows_of(frame: DataFrame) -> float | None:
    """Estimates the number of rows by the size of files; None if Spark does not know it."""
    if not may_use_internals(frame.sparkSession):
        return None
    return _rows_of_plan(frame._jdf.queryExecution().optimizedPlan())


def rows_read(frame: DataFrame) -> float | None:
    """Estimates the number of rows of a frame's largest source; None if Spark does not know it."""
    if not may_use_internals(frame.sparkSession):
        return None
    sources = to_list(frame._jdf.queryExecution().optimizedPlan().collectLeaves())
    rows = [_rows_of_plan(source) for source in sources]
    known = [each for each in rows if each is not None]
    return _COMPRESSED * max(known) if len(known) == len(rows) and rows else None


def _rows_of_plan(plan: Plan) -> float | None:
    stats = plan.stats()
    rows, size = stats.rowCount(), float(str(stats.sizeInBytes()))
    if rows.isDefined():
        return float(str(rows.get()))
    # Spark adds eight bytes to each row.
    return size / (plan.schema().defaultSize() + 8) if size < _UNKNOWN else None


def partition_columns(frame: DataFrame) -> list[str]:
    """Returns the columns by which the files of a frame's only source are partitioned."""
    scan = _file_scan(frame)
    return [] if scan is None else list(scan.relation().partitionSchema().fieldNames())


def bytes_read(frame: DataFrame) -> float | None:
    """Returns the bytes that Spark reads for a frame over one source of files, after partition
    pruning; None for any other source."""
    scan = _file_scan(frame)
    return None if scan is None else float(scan.selectedPartitions().totalFileSize())


def _file_scan(frame: DataFrame) -> Plan | None:
    if not may_use_internals(frame.sparkSession):
        return None
    sources = to_list(frame._jdf.queryExecution().sparkPlan().collectLeaves())
    if [source.getClass().getSimpleName() for source in sources] != ["FileSourceScanExec"]:
        return None
    return sources[0]


def is_safe(expression: Expression) -> bool:
    """Whether an expression fails for no row, so that it needs no guard; when in doubt, no."""
    return all(_is_safe_node(node) for node in walk(expression))


def _is_safe_node(node: Expression) -> bool:
    name = node_name(node)
    if name in _SAFE:
        return True
    if name in _ARITHMETIC:
        return node.dataType().simpleString() in _FLOATS
    if name in _DIVISIONS:
        divisor = children(node)[1]
        is_number = node.dataType().simpleString() in {*_FLOATS, "int", "bigint"}
        return is_number and node_name(divisor) == "Literal" and str(divisor.value()) not in _ZEROS
    if name == "Cast":
        before, after = children(node)[0].dataType().simpleString(), node.dataType().simpleString()
        if before == after:
            return True
        if before in _NUMBERS and after in _NUMBERS:
            return _NUMBERS.index(before) <= _NUMBERS.index(after)
        return after == "string" and before in {*_NUMBERS, "boolean", "date", "timestamp"}
    return False


def may_fail(frame: DataFrame) -> bool:
    """Whether an expression of a DataFrame's plan may fail for some row; when in doubt, it may."""
    return any(
        not all(map(is_safe, to_list(expressions)))
        for expressions in (operator.expressions() for operator in walk(analyzed_plan(frame)))
        if not _COLUMNS.fullmatch(expressions.toString())
    )
