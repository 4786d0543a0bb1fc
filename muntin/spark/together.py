"""The long form: answers of many queries in one DataFrame, each row under its query's name."""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql.functions import lit

from muntin.model.discretized import DiscretizedNode
from muntin.model.plan import Node
from muntin.runtime.tree import NODE
from muntin.spark.project import Output, Projection

QUERY = "query"
_NUMBER = "q"


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
    queries, parts = list(projections), list(projections.values())
    numbered = _number(queries, nodes, frame)
    having = _choose([one.having or "true" for one in parts])
    if having != "true":
        numbered = numbered.where(having)
    names = pick([_literal(name) for name in queries], _NUMBER)
    outputs = [
        _merge(name, parts)
        for name in dict.fromkeys(output.name for one in parts for output in one.outputs)
    ]
    return numbered.select(
        Output(name=QUERY, sql=names).column(), *(output.column() for output in outputs)
    )


def _number(
    queries: Sequence[str], nodes: Sequence[Node | DiscretizedNode], frame: DataFrame
) -> DataFrame:
    """Each row once for every query that its node answers, with that query's number."""
    numbers = {name: number for number, name in enumerate(queries)}
    asked = [[numbers[name] for name in node.queries] for node in nodes]
    if all(len(one) <= 1 for one in asked):
        return frame.selectExpr(
            "*", f"{pick([str(one[0]) if one else '-1' for one in asked], NODE)} AS {_NUMBER}"
        )
    lists = [f"array({', '.join(map(str, one))})" if one else "array(-1)" for one in asked]
    return frame.selectExpr("*", f"explode({pick(lists, NODE)}) AS {_NUMBER}")


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
        f"WHEN {_NUMBER} IN ({', '.join(map(str, numbers))}) THEN {sql}"
        for sql, numbers in branches.items()
    )
    return f"CASE {cases} END"


def pick(values: Sequence[str], index: str) -> str:
    """The value at a row's index."""
    if len(set(values)) == 1:
        return values[0]
    return f"element_at(array({', '.join(values)}), {index} + 1)"


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
