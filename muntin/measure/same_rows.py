"""Compares all rows of two DataFrames in the JVM, without collecting them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr, lit
from pyspark.sql.types import StructType

from muntin.errors import RunError
from muntin.model.sql_text import quoted

# The relative difference of float sums, which Spark adds in the order in which rows arrive.
TOLERANCE = 1e-9
_SIDE = "_side"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The rows of each side, and how many keys are not once on both sides with equal values."""

    left: int
    right: int
    different: int

    @property
    def equal(self) -> bool:
        """Whether every row has an equal on the other side."""
        return self.different == 0 and self.left == self.right


def compare_rows(
    left: DataFrame, right: DataFrame, *, keys: Sequence[str], close: Collection[str] = ()
) -> Comparison:
    """Matches rows by `keys` and compares the other columns; nulls are equal, and so are NaNs.

    Columns in `close` may differ by `TOLERANCE`, relative; all others must be the same.
    """
    if _columns(left.schema) != _columns(right.schema):
        raise RunError(f"{left.schema.simpleString()} beside {right.schema.simpleString()}")
    values = [name for name in left.columns if name not in keys]
    both = left.withColumn(_SIDE, lit(0)).unionByName(right.withColumn(_SIDE, lit(1)))
    sides = [f"count_if({_SIDE} = {side}) AS n{side}" for side in (0, 1)]
    sides += [
        f"any_value({quoted(name)}) FILTER (WHERE {_SIDE} = {side}) AS v{index}_{side}"
        for index, name in enumerate(values)
        for side in (0, 1)
    ]
    same = [
        _same(f"v{index}_0", f"v{index}_1", close=name in close)
        for index, name in enumerate(values)
    ]
    matched = " AND ".join(["n0 = 1", "n1 = 1", *same])
    (row,) = (
        both.groupBy(*map(quoted, keys))
        .agg(*map(expr, sides))
        .selectExpr(
            "coalesce(sum(n0), 0) AS left",
            "coalesce(sum(n1), 0) AS right",
            f"count_if(NOT ({matched})) AS different",
        )
        .collect()
    )
    return Comparison(left=row["left"], right=row["right"], different=row["different"])


def _columns(schema: StructType) -> dict[str, str]:
    return {field.name: field.dataType.simpleString() for field in schema.fields}


def _same(left: str, right: str, *, close: bool) -> str:
    if not close:
        return f"({left} <=> {right})"
    # Strictly less, so that an infinity is close to nothing but itself.
    margin = f"{TOLERANCE}D * greatest(abs({left}), abs({right}))"
    return f"({left} <=> {right} OR coalesce(abs({left} - {right}) < {margin}, false))"
