"""Compares all rows of two DataFrames in Spark, without collecting them."""

from collections.abc import Collection
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr, lit
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    FloatType,
    MapType,
    StructField,
    StructType,
)

from muntin.errors import RunError
from muntin.sql_text import quoted

# Sums of floats depend on the order in which rows arrive, so they may differ in their last digits:
# by this much, relative to the larger.
TOLERANCE: dict[type[DataType], float] = {DoubleType: 1e-9, FloatType: 1e-6}
_SIDE = "_side"


@dataclass(frozen=True, kw_only=True)
class RowCounts:
    """How many rows each side has, and how many distinct rows one side has more often."""

    left: int
    right: int
    different: int

    @property
    def equal(self) -> bool:
        """Whether both sides have the same rows."""
        return self.different == 0


def compare_rows(left: DataFrame, right: DataFrame, *, exact: Collection[str] = ()) -> RowCounts:
    """Compares two DataFrames as multisets of rows; nulls are equal, and so are NaNs.

    Floats, and floats in arrays, may differ by `TOLERANCE`, except in the columns `exact`. Rows
    are matched by the other columns, such as keys and window, which must be equal.
    """
    if _columns(left.schema) != _columns(right.schema):
        raise RunError(f"{left.schema.simpleString()} beside {right.schema.simpleString()}")
    floats = [
        field
        for field in left.schema
        if _tolerance(field.dataType) is not None and field.name not in exact
    ]
    values = ", ".join(f"{quoted(field.name)} AS f{n}" for n, field in enumerate(floats))
    sides = [f"count_if({_SIDE} = {side}) AS n{side}" for side in (0, 1)]
    sides += [
        f"sort_array(collect_list(struct({values or _SIDE})) FILTER (WHERE {_SIDE} = {side}))"
        f" AS v{side}"
        for side in (0, 1)
    ]
    close = [_close(f"a.f{n}", f"b.f{n}", field.dataType) for n, field in enumerate(floats)]
    pairs = f"zip_with(v0, v1, (a, b) -> {' AND '.join(close) or 'true'})"
    both = left.withColumn(_SIDE, lit(0)).unionByName(right.withColumn(_SIDE, lit(1)))
    others = [expr(_group_key(field)) for field in left.schema if field not in floats]
    (row,) = (
        both.groupBy(*others)
        .agg(*map(expr, sides))
        .selectExpr(
            "coalesce(sum(n0), 0) AS left",
            "coalesce(sum(n1), 0) AS right",
            f"count_if(NOT (n0 = n1 AND forall({pairs}, same -> same))) AS different",
        )
        .collect()
    )
    return RowCounts(left=row["left"], right=row["right"], different=row["different"])


def _columns(schema: StructType) -> dict[str, str]:
    return {field.name: field.dataType.simpleString() for field in schema.fields}


def _tolerance(kind: DataType) -> float | None:
    """Returns how much values may differ, relative to the larger one; None if they may not."""
    return TOLERANCE.get(type(kind.elementType if isinstance(kind, ArrayType) else kind))


def _group_key(field: StructField) -> str:
    """Returns the expression to group a column by: Spark cannot group by maps."""
    name = quoted(field.name)
    return f"array_sort(map_entries({name}))" if isinstance(field.dataType, MapType) else name


def _close(left: str, right: str, kind: DataType) -> str:
    """Returns the condition that two floats, or two arrays of floats, are equal or close."""
    if isinstance(kind, ArrayType):
        each = f"zip_with({left}, {right}, (x, y) -> {_close('x', 'y', kind.elementType)})"
        same = f"size({left}) = size({right}) AND forall({each}, same -> same)"
        return f"({left} <=> {right} OR coalesce({same}, false))"
    # Strictly less, so that an infinity is close to nothing but itself.
    margin = f"{_tolerance(kind)}D * greatest(abs({left}), abs({right}))"
    return f"({left} <=> {right} OR coalesce(abs({left} - {right}) < {margin}, false))"
