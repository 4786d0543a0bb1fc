"""Tells which of Spark's expressions fail for no row, so that no filter need guard them."""

import re

from pyspark.sql import DataFrame

from muntin.spark.engine.catalyst import Expression, analyzed, children, items, kind, walk

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


def is_safe(expression: Expression) -> bool:
    """Whether an expression can be computed for any row; when in doubt, it cannot."""
    return all(_is_safe_node(node) for node in walk(expression))


def _is_safe_node(node: Expression) -> bool:
    name = kind(node)
    if name in _SAFE:
        return True
    if name in _ARITHMETIC:
        return node.dataType().simpleString() in _FLOATS
    if name in _DIVISIONS:
        divisor = children(node)[1]
        is_number = node.dataType().simpleString() in {*_FLOATS, "int", "bigint"}
        return is_number and kind(divisor) == "Literal" and str(divisor.value()) not in _ZEROS
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
        not all(map(is_safe, items(expressions)))
        for expressions in (operator.expressions() for operator in walk(analyzed(frame)))
        if not _COLUMNS.fullmatch(expressions.toString())
    )
