"""Comparing many pairs of DataFrames in one Spark job: rows as multisets, in the JVM.

Every row becomes a text that two rows of one schema share only if they are equal. Spark counts the
texts of each pair and side; only those whose counts differ come to Python.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    FloatType,
    IntegralType,
    MapType,
    StructField,
    StructType,
)

# What a job may fail with; the second is an error inside Spark itself.
FAILURES = (PySparkException, Py4JJavaError)
# Enough to see what is wrong, and few enough to read.
_SHOWN = 4
# Differing rows of a pair that are looked at; a pair with more is wrong whatever they are.
_LOOKED_AT = 1000
# Spark plans a wider union more slowly than two of half the width.
_AT_ONCE = 40


@dataclass(frozen=True, kw_only=True, eq=False)
class Pair:
    """Two DataFrames that ought to be equal; `tolerance` is for floats, relative.

    Without tolerance floats must be equal to the last bit, and `-0.0` is not `0.0`; NaN is NaN.
    What is not `strict` may differ in metadata, and in whether a column may be null.
    """

    name: str
    expected: DataFrame
    actual: DataFrame
    tolerance: float = 0.0
    strict: bool = True


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a comparison went: what is wrong, or nothing; and how many rows were expected."""

    wrong: str | None
    rows: int = 0


def assert_pairs_equal(pairs: Iterable[Pair]) -> None:
    """Every pair is equal; else the error has all that are not, with the rows that differ."""
    wrong = [outcome.wrong for outcome in compare(pairs).values() if outcome.wrong is not None]
    assert not wrong, "\n\n".join(wrong)


def compare(pairs: Iterable[Pair]) -> dict[str, Outcome]:
    """The outcome of each pair by its name: schemas compared here, all rows in a job of Spark's."""
    pairs = list(pairs)
    assert len({pair.name for pair in pairs}) == len(pairs), "two pairs have one name"
    outcomes: dict[str, Outcome] = {}
    alike: list[Pair] = []
    for pair in pairs:
        wrong = _schemas_differ(pair)
        if wrong is None:
            alike.append(pair)
        else:
            outcomes[pair.name] = Outcome(wrong=f"{pair.name}: {wrong}")
    for start in range(0, len(alike), _AT_ONCE):
        outcomes.update(_compare_rows(alike[start : start + _AT_ONCE]))
    return {pair.name: outcomes[pair.name] for pair in pairs}


def _schemas_differ(pair: Pair) -> str | None:
    """The first columns that differ in name, type, nullability or metadata."""
    expected, actual = pair.expected.schema, pair.actual.schema
    if expected == actual:
        return None
    if expected.names != actual.names:
        return f"columns {actual.names}, expected {expected.names}"
    found = [
        f"{ours.name}: {ours.json()}\n  expected {theirs.json()}"
        for ours, theirs in zip(actual, expected, strict=True)
        if (ours != theirs if pair.strict else _type(ours) != _type(theirs))
    ]
    if not found:
        return None
    return "columns that differ:\n  " + "\n  ".join(found)


def _type(field: StructField) -> str:
    return field.dataType.simpleString()


def _compare_rows(pairs: list[Pair]) -> dict[str, Outcome]:
    """Pairs whose schemas are equal, in one job; one by one if it fails, to find the culprit."""
    try:
        found = _differences(pairs)
    except FAILURES as error:
        if len(pairs) > 1:
            return {
                name: outcome for pair in pairs for name, outcome in _compare_rows([pair]).items()
            }
        return {pairs[0].name: Outcome(wrong=f"{pairs[0].name}: {_failure(pairs[0], error)}")}
    return {pair.name: _judge(pair, found.get(number)) for number, pair in enumerate(pairs)}


def _differences(pairs: list[Pair]) -> dict[int, Any]:
    """By the pair's number: rows expected, and the texts of rows with how many are missing."""
    # What several pairs expect is computed once.
    numbers: dict[int, list[int]] = {}
    for number, pair in enumerate(pairs):
        numbers.setdefault(id(pair.expected), []).append(number)
    sides = [
        _texts(pairs[some[0]].expected).select(
            F.explode(F.array(*map(F.lit, some))).alias("pair"),
            "row",
            F.lit(1).alias("expected"),
            F.lit(1).alias("sign"),
        )
        for some in numbers.values()
    ]
    sides += [
        _texts(pair.actual).select(
            F.lit(number).alias("pair"),
            "row",
            F.lit(0).alias("expected"),
            F.lit(-1).alias("sign"),
        )
        for number, pair in enumerate(pairs)
    ]
    counts = (
        _union(sides)
        # One task, for each one is sent the plans of all sides.
        .coalesce(1)
        .groupBy("pair", "row")
        .agg(F.sum("expected").alias("expected"), F.sum("sign").alias("missing"))
    )
    differing = F.when(F.col("missing") != 0, F.struct("missing", "row"))
    summary = counts.groupBy("pair").agg(
        F.sum("expected").alias("rows"),
        F.count(differing).alias("differing"),
        F.slice(F.sort_array(F.collect_list(differing)), 1, _LOOKED_AT).alias("samples"),
    )
    return {row["pair"]: row for row in summary.collect()}


def _union(frames: list[DataFrame]) -> DataFrame:
    """All rows; by halves, for every union is analyzed with all that is below it."""
    if len(frames) == 1:
        return frames[0]
    middle = len(frames) // 2
    return _union(frames[:middle]).unionAll(_union(frames[middle:]))


def _texts(frame: DataFrame) -> DataFrame:
    """Every row as one text in the column `row`."""
    positions = [f"_{index}" for index in range(len(frame.columns))]
    renamed = frame.toDF(*positions)
    values = [
        canonical(F.col(name), field.dataType).alias(name)
        for name, field in zip(positions, frame.schema, strict=True)
    ]
    return renamed.select(F.to_json(F.struct(*values), {"ignoreNullFields": "false"}).alias("row"))


def canonical(column: Column, kind: DataType) -> Column:
    """A value in a form whose JSON tells it from every other value of its type.

    JSON has floats with all their digits, NaN and infinities as words, and integers. What it would
    cut short (microseconds), read as a float (decimals) or leave in any order (maps) is changed.
    """
    if isinstance(kind, FloatType | DoubleType | IntegralType):
        return column
    if isinstance(kind, StructType):
        # By position, for two fields may have one name.
        positions = [f"_{index}" for index in range(len(kind.fields))]
        renamed = StructType()
        for position, field in zip(positions, kind.fields, strict=True):
            renamed.add(position, field.dataType)
        column = column.cast(renamed)
        fields = [
            canonical(column.getField(position), field.dataType).alias(position)
            for position, field in zip(positions, kind.fields, strict=True)
        ]
        return F.when(column.isNotNull(), F.struct(*fields))
    if isinstance(kind, ArrayType):
        return F.transform(column, lambda element: canonical(element, kind.elementType))
    if isinstance(kind, MapType):
        entry = StructType().add("key", kind.keyType).add("value", kind.valueType)
        entries = F.transform(
            F.map_entries(column),
            lambda one: F.to_json(canonical(one, entry), {"ignoreNullFields": "false"}),
        )
        return F.array_sort(entries)
    if kind.typeName() == "binary":
        return F.hex(column)
    if kind.typeName() == "timestamp":
        return F.unix_micros(column)
    # A text of every other type tells its values apart, microseconds and scales included.
    return column.cast("string")


def _judge(pair: Pair, found: Any) -> Outcome:
    """What is wrong with a pair, by its differing rows."""
    if found is None:
        return Outcome(wrong=None)
    if found["differing"] == 0:
        return Outcome(wrong=None, rows=found["rows"])
    samples = [(one["missing"], one["row"]) for one in found["samples"]]
    missing = [row for times, row in samples for _ in range(max(times, 0))]
    surplus = [row for times, row in samples for _ in range(max(-times, 0))]
    if found["differing"] <= _LOOKED_AT and pair.tolerance and len(missing) == len(surplus):
        close = all(
            is_close(json.loads(ours), json.loads(theirs), pair.tolerance)
            for ours, theirs in zip(
                sorted(surplus, key=_order), sorted(missing, key=_order), strict=True
            )
        )
        if close:
            return Outcome(wrong=None, rows=found["rows"])
    shown = [f"  only in expected: {row}" for row in missing[:_SHOWN]]
    shown += [f"  only in actual:   {row}" for row in surplus[:_SHOWN]]
    return Outcome(
        wrong=f"{pair.name}: {found['differing']} different rows differ "
        f"({found['rows']} rows expected), columns {pair.expected.columns}\n" + "\n".join(shown),
        rows=found["rows"],
    )


def _order(row: str) -> str:
    """An order of rows in which floats that are nearly equal stand in one place."""
    return json.dumps(_rounded(json.loads(row)))


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    return value


def is_close(ours: Any, theirs: Any, tolerance: float) -> bool:
    """Whether two values from JSON are equal but for the last digits of floats."""
    if isinstance(ours, float) and isinstance(theirs, float):
        return math.isclose(ours, theirs, rel_tol=tolerance)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(
            is_close(a, b, tolerance) for a, b in zip(ours, theirs, strict=True)
        )
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(
            is_close(value, theirs[key], tolerance) for key, value in ours.items()
        )
    return type(ours) is type(theirs) and bool(ours == theirs)


def _failure(pair: Pair, error: Exception) -> str:
    """Which side of a pair fails, or that both do."""
    failures = {}
    for side, frame in (("expected", pair.expected), ("actual", pair.actual)):
        try:
            _texts(frame).collect()
        except FAILURES as found:
            failures[side] = str(found).splitlines()[0]
    return f"cannot be computed: {failures or error}"
