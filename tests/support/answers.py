"""Comparing answers as the first law asks: same schema, same rows, floating sums to 1e-9."""

import math
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql.types import StructType

from muntin.model.query import PlainQuery, Query
from muntin.spark.batch.results import Results
from muntin.spark.binding.relations import Data, Relations
from tests.support.comparing import Pair, assert_pairs_equal

TOLERANCE = 1e-9


def plain(query: Query | PlainQuery, data: Data) -> DataFrame:
    """What Spark alone answers."""
    return Relations(data, [query]).check(query)


def assert_equal_answers(results: Results, data: Data) -> None:
    """Every answer of `results` equals plain Spark's."""
    assert_pairs_equal(
        Pair(
            name=name,
            expected=plain(results.plan.query(name), data),
            actual=results[name],
            tolerance=TOLERANCE,
        )
        for name in results
    )


def assert_same(
    found: DataFrame, expected: DataFrame, name: str = "", rows: list[Row] | None = None
) -> None:
    """`rows` are those of `expected`, where they are there already."""
    assert found.schema == expected.schema, (
        f"{name}: {found.schema.simpleString()} {found.schema.json()}\n{expected.schema.json()}"
    )
    left = _sorted(found.schema, found.collect())
    right = _sorted(found.schema, expected.collect() if rows is None else rows)
    assert len(left) == len(right), f"{name}: {len(left)} rows, Spark has {len(right)}"
    for ours, theirs in zip(left, right, strict=True):
        assert same_value(ours, theirs), f"{name}:\n{ours}\n{theirs}"


def _sorted(schema: StructType, rows: list[Row]) -> list[Row]:
    """Rows in an order that floating differences in answers do not change."""
    exact = [field.name for field in schema.fields if field.dataType.typeName() != "double"]
    return sorted(
        rows,
        key=lambda row: (repr([row[name] for name in exact]), repr(_rounded(row))),
    )


def _rounded(row: Row) -> list[Any]:
    return [f"{value:.6g}" if isinstance(value, float) else value for value in row]


def same_value(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, float) and isinstance(theirs, float):
        if math.isnan(ours) or math.isnan(theirs):
            return math.isnan(ours) and math.isnan(theirs)
        if math.isinf(ours) or math.isinf(theirs):
            return ours == theirs
        return abs(ours - theirs) <= TOLERANCE * max(abs(ours), abs(theirs), 1e-300)
    if isinstance(ours, Row | tuple | list) and isinstance(theirs, Row | tuple | list):
        return len(ours) == len(theirs) and all(
            same_value(a, b) for a, b in zip(ours, theirs, strict=True)
        )
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        return ours == theirs
    return type(ours) is type(theirs) and bool(ours == theirs)
