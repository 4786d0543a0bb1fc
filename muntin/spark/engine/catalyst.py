"""Reads and rewrites Spark's plans and expressions, which are objects of its JVM."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession

from muntin.model.time import MILLISECOND

# A plan or an expression of Spark's.
Plan = Any
Expression = Any

ATTRIBUTE = "AttributeReference"
_CLASSIC = "org.apache.spark.sql.classic"
_ANALYSIS = "org.apache.spark.sql.catalyst.analysis"


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
    """Returns what Spark calls a plan or an expression: its class, without the package."""
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
    """Returns an expression with the parts that `replace` returns instead of its own; None leaves
    a part as it is."""
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
    """Returns an expression with other expressions for some of its columns, by their ids."""
    if not meanings:
        return expression

    def meaning(part: Expression) -> Expression | None:
        return meanings.get(column_id(part)) if node_name(part) == ATTRIBUTE else None

    return rewrite(expression, meaning, session)


def without_alias(expression: Expression) -> Expression:
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
    """Returns the columns that a projection adds or renames, by their ids, with `meanings` for the
    columns that they read."""
    return {
        column_id(each): substitute_columns(without_alias(each), meanings, session)
        for each in aliases_of(project)
    }


def _sequence(values: Sequence[Any], session: SparkSession) -> Any:
    return session._jvm.PythonUtils.toSeq(list(values))  # type: ignore[union-attr]
