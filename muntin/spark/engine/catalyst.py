"""Reads and rewrites Spark's plans and expressions, which are objects of its JVM.

Plans show which operators a DataFrame has, how many rows it reads, and whether it may fail.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession

from muntin.model.time import MILLISECOND
from muntin.spark.engine.session_kind import may_use_internals

# A plan or an expression of Spark's.
Plan = Any
Expression = Any

ATTRIBUTE = "AttributeReference"
_CLASSIC = "org.apache.spark.sql.classic"
_ANALYSIS = "org.apache.spark.sql.catalyst.analysis"
# A larger size is Spark's default for an unknown one.
_UNKNOWN = 1e15
# How many times smaller columnar files usually are than their rows.
_COMPRESSED = 4
# Expressions that never fail: they return a value or null.
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


def analyzed_plan(frame: DataFrame) -> Plan:
    """Returns the plan of a DataFrame as Spark resolved it: columns have ids."""
    return frame._jdf.queryExecution().analyzed()


def frame_of(plan: Plan, session: SparkSession) -> DataFrame:
    """Returns the DataFrame of a resolved plan."""
    datasets = getattr(session._jvm, f"{_CLASSIC}.Dataset")
    return DataFrame(datasets.ofRows(session._jsparkSession, plan), session)


def column_of(expression: Expression, session: SparkSession) -> Column:
    """Returns a column for a `select` over the plan that a resolved expression belongs to."""
    from pyspark.sql.classic.column import Column as ClassicColumn

    columns = getattr(session._jvm, f"{_CLASSIC}.ExpressionUtils")
    return ClassicColumn(columns.column(expression))


def unresolved_attribute(name: str, session: SparkSession) -> Expression:
    """Returns an unresolved attribute of a name, to write SQL with."""
    attributes = getattr(session._jvm, f"{_ANALYSIS}.UnresolvedAttribute$")
    return getattr(attributes, "MODULE$").quoted(name)


def parse_expression(text: str, session: SparkSession) -> Expression:
    """Returns SQL as an unresolved expression."""
    return session._jsparkSession.sessionState().sqlParser().parseExpression(text)


def conjunction(filters: Sequence[Expression], session: SparkSession) -> Expression:
    """Returns the conjunction of conditions, in their order."""
    conjunction = getattr(session._jvm, "org.apache.spark.sql.catalyst.expressions.And")
    whole = filters[0]
    for condition in filters[1:]:
        whole = conjunction(whole, condition)
    return whole


def watermark_delay(plan: Plan, session: SparkSession) -> int:
    """Returns the delay of a plan's watermark in microseconds, as Spark reads it."""
    logical = "org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark$"
    watermarks = getattr(getattr(session._jvm, logical), "MODULE$")
    return int(watermarks.getDelayMs(plan.delay())) * MILLISECOND


def to_list(sequence: Any) -> list[Any]:
    """Returns the items of a Scala sequence."""
    return [sequence.apply(index) for index in range(sequence.size())]


def children(node: Any) -> list[Any]:
    """Returns the children of a plan or an expression.

    It is cached: a node does not change, and is visited several times.
    """
    known = vars(node)
    if "_children" not in known:
        known["_children"] = to_list(node.children())
    found: list[Any] = known["_children"]
    return found


def node_name(node: Any) -> str:
    """Returns the class of a plan or an expression, without the package."""
    known = vars(node)
    if "_kind" not in known:
        known["_kind"] = node.nodeName()
    name: str = known["_kind"]
    return name


def column_id(attribute: Expression) -> int:
    """Returns the id of a column, which does not depend on its name."""
    number: int = attribute.exprId().id()
    return number


def relative_error(function: Expression) -> float | None:
    """Returns the relative error of `approx_count_distinct`, None for any other function."""
    return float(function.relativeSD()) if node_name(function) == "HyperLogLogPlusPlus" else None


def walk(expression: Expression) -> Iterator[Expression]:
    """Yields a plan or an expression and everything below it."""
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += children(node)


def rewrite(
    expression: Expression,
    replace: Callable[[Expression], Expression | None],
    session: SparkSession,
) -> Expression:
    """Returns an expression with parts replaced: those for which `replace` returns another."""
    chosen = replace(expression)
    if chosen is not None:
        return chosen
    parts = children(expression)
    after = [rewrite(part, replace, session) for part in parts]
    if all(new is old for new, old in zip(after, parts, strict=True)):
        return expression
    return expression.withNewChildren(_sequence(after, session))


def substitute_columns(
    expression: Expression, meanings: Mapping[int, Expression], session: SparkSession
) -> Expression:
    """Returns an expression with others in the places of columns: `meanings`, by column id."""
    if not meanings:
        return expression

    def meaning(part: Expression) -> Expression | None:
        return meanings.get(column_id(part)) if node_name(part) == ATTRIBUTE else None

    return rewrite(expression, meaning, session)


def strip_alias(expression: Expression) -> Expression:
    """Returns an expression without its name."""
    while node_name(expression) == "Alias":
        (expression,) = children(expression)
    return expression


def aliases_of(project: Plan) -> list[Expression]:
    """Returns the columns that a projection adds or renames."""
    return [each for each in to_list(project.projectList()) if node_name(each) == "Alias"]


def column_expressions(
    project: Plan, meanings: Mapping[int, Expression], session: SparkSession
) -> dict[int, Expression]:
    """Returns the expressions of the columns that a projection adds or renames, by column id.

    The columns that they read are replaced by the expressions `meanings`.
    """
    return {
        column_id(each): substitute_columns(strip_alias(each), meanings, session)
        for each in aliases_of(project)
    }


def _sequence(values: Sequence[Any], session: SparkSession) -> Any:
    return session._jvm.PythonUtils.toSeq(list(values))  # type: ignore[union-attr]


def operators_of(frame: DataFrame) -> set[str] | None:
    """Returns the operators of a plan, except its sources; None if plans may not be read."""
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
    """Whether an expression is known to fail for no row, so that it needs no guard."""
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
    """Whether an expression of a DataFrame's plan may fail for some row; true if unknown."""
    return any(
        not all(map(is_safe, to_list(expressions)))
        for expressions in (operator.expressions() for operator in walk(analyzed_plan(frame)))
        if not _COLUMNS.fullmatch(expressions.toString())
    )
