"""The long form: answers of many queries in one DataFrame, each row under its query's name."""

from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql.functions import lit

from muntin.model.discretized import DiscretizedNode
from muntin.model.plan import Node
from muntin.runtime.tree import NODE
from muntin.spark.project import Output, Projection

QUERY = "query"
# The number of a row's query among those that are stacked.
NUMBER = "q"


def named(name: str, frame: DataFrame) -> DataFrame:
    """An answer with its query's name in front."""
    return frame.select(lit(name).alias(QUERY), "*")


def stack(
    projections: Mapping[str, Projection], nodes: Sequence[Node | DiscretizedNode], frame: DataFrame
) -> DataFrame:
    """Answers of the nodes, by their number, as rows of (query, all columns by name), in one pass.

    `projections` has each query's, over the rows of any node. A column that a query does not have
    is null in its rows.
    """
    names = pick([literal(name) for name in projections], NUMBER)
    return numbered(projections, nodes, frame).select(
        Output(name=QUERY, sql=names).column(),
        *(output.column() for output in merged(projections.values())),
    )


def numbered(
    projections: Mapping[str, Projection], nodes: Sequence[Node | DiscretizedNode], frame: DataFrame
) -> DataFrame:
    """Each row of answers once for every query of these that asks for it, with the query's number.

    Rows that HAVING leaves out, and those of other queries, are not there.
    """
    found = _number(list(projections), nodes, frame)
    having = _choose([one.having or "true" for one in projections.values()])
    return found if having == "true" else found.where(having)


def merged(projections: Iterable[Projection]) -> list[Output]:
    """The columns of all queries by name, over rows with the query's number."""
    parts = list(projections)
    names = dict.fromkeys(output.name for one in parts for output in one.outputs)
    return [_merge(name, parts) for name in names]


def _number(
    queries: Sequence[str], nodes: Sequence[Node | DiscretizedNode], frame: DataFrame
) -> DataFrame:
    """Each row once for every query that its node answers, with that query's number."""
    numbers = {name: number for number, name in enumerate(queries)}
    asked = [[numbers[name] for name in node.queries if name in numbers] for node in nodes]
    if all(len(one) <= 1 for one in asked):
        found = frame.selectExpr(
            "*", f"{pick([str(one[0]) if one else '-1' for one in asked], NODE)} AS {NUMBER}"
        )
    else:
        lists = [f"array({', '.join(map(str, one or [-1]))})" for one in asked]
        found = frame.selectExpr("*", f"explode({pick(lists, NODE)}) AS {NUMBER}")
    # A node that no query asks for gives no rows; one that others ask for does.
    is_mixed = any(node.queries and not one for node, one in zip(nodes, asked, strict=True))
    return found.where(f"{NUMBER} >= 0") if is_mixed else found


def _merge(name: str, projections: Sequence[Projection]) -> Output:
    """One column of all queries: each one's own expression in its rows."""
    found: list[Output | None] = [
        next((output for output in one.outputs if output.name == name), None) for one in projections
    ]
    present = [output for output in found if output is not None]
    return Output(
        name=name,
        sql=_choose([None if output is None else output.sql for output in found]),
        metadata=present[0].metadata,
    )


def _choose(expressions: Sequence[str | None]) -> str:
    """The expression of the row's query; queries with the same one share a branch."""
    branches: dict[str, list[int]] = {}
    for number, sql in enumerate(expressions):
        if sql is not None:
            branches.setdefault(sql, []).append(number)
    if len(branches) == 1 and None not in expressions:
        return next(iter(branches))
    cases = " ".join(
        f"WHEN {NUMBER} IN ({', '.join(map(str, numbers))}) THEN {sql}"
        for sql, numbers in branches.items()
    )
    return f"CASE {cases} END"


def pick(values: Sequence[str], index: str) -> str:
    """The value at a row's index."""
    if len(set(values)) == 1:
        return values[0]
    return f"element_at(array({', '.join(values)}), {index} + 1)"


def literal(text: str) -> str:
    """Text as SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
