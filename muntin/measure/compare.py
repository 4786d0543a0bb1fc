"""Compares plain Spark with muntin on a user's own queries and data: their costs and all rows."""

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyspark.sql import DataFrame, SparkSession
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
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from muntin.errors import RunError
from muntin.measure.processes import Cost, measure, measure_in_turns
from muntin.measure.progress import Steps
from muntin.model.plan import Plan
from muntin.spark.batch.results import Results
from muntin.spark.engine.session_kind import is_local
from muntin.sql_text import quote_name

REPEATS = 3
# The names of both sides, and of their folders.
PLAIN, MUNTIN = "plain Spark", "muntin"
# Comparisons of rows at a time: Spark leaves cores idle while it plans a small job.
_CONCURRENT = 3
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


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What plain Spark and muntin cost for the same queries, and whether their rows are equal.

    `plain` and `muntin` are the cheapest run of each side, in which it answered all queries into
    Parquet files. `rows` has the rows of each query on both sides.
    """

    plain: Cost
    muntin: Cost
    rows: Mapping[str, RowCounts]
    plan: Plan
    # The cost of muntin's first run, in which the JVM and numba may compile.
    first: Cost

    @property
    def equal(self) -> bool:
        """Whether every row of every query is the same on both sides."""
        return all(counts.equal for counts in self.rows.values())

    def to_json(self) -> dict[str, Any]:
        """Returns the figures: seconds of both sides, rows and equality of each query."""
        return {
            "plain": asdict(self.plain),
            "muntin": asdict(self.muntin),
            "muntin_first": asdict(self.first),
            "queries": {
                name: {**asdict(counts), "equal": counts.equal}
                for name, counts in self.rows.items()
            },
        }

    def tables(self) -> list[Table]:
        """Returns a table of the rows of each query, and one of the seconds of both sides."""
        rows = Table(box=SIMPLE)
        rows.add_column("query")
        for side in (PLAIN, MUNTIN):
            rows.add_column(f"rows, {side}", justify="right")
        rows.add_column("equal")
        for name, counts in self.rows.items():
            equal = "yes" if counts.equal else f"NO: {counts.different:,} rows differ"
            rows.add_row(name, f"{counts.left:,}", f"{counts.right:,}", equal)
        costs = Table(box=SIMPLE)
        costs.add_column(f"{len(self.rows)} queries")
        for column in ("CPU s", "wall s"):
            costs.add_column(column, justify="right")
        for side, cost in ((PLAIN, self.plain), (MUNTIN, self.muntin)):
            costs.add_row(side, f"{cost.cpu_s:.1f}", f"{cost.wall_s:.1f}")
        gains = (self.plain.cpu_s / self.muntin.cpu_s, self.plain.wall_s / self.muntin.wall_s)
        costs.add_row("ratio", *(f"{gain:.1f}x" for gain in gains), style="bold")
        return [rows, costs]

    def __str__(self) -> str:
        console = Console(width=100)
        with console.capture() as capture:
            console.print(*self.tables())
        return capture.get()


def compare_answers(
    plan: Plan,
    frames: Mapping[str, DataFrame],
    answer: Callable[[], Results],
    *,
    repeats: int,
    folder: str | None,
) -> Comparison:
    """Returns what it costs to write `frames` with plain Spark, and the answers of `plan` with
    muntin, in turns, and compares the rows of both.

    Both write Parquet files into `folder`, without it into a temporary one.
    """
    session = next(iter(frames.values())).sparkSession
    if not is_local(session):
        raise RunError(
            "mt.compare measures the processes of this machine, so it needs a session with a local "
            "master, such as local[*]"
        )
    with TemporaryDirectory(prefix="muntin-compare-") as scratch:
        sides = _Sides(frames, answer, Path(folder or scratch))
        with Steps(2 * repeats + 1) as bar:
            runs = {PLAIN: sides.run_plain, MUNTIN: sides.run_muntin}
            costs = measure_in_turns(runs, bar, warm_up_turns=0, repeats=repeats)
            with bar.step("comparing rows"), ThreadPoolExecutor(_CONCURRENT) as pool:
                rows = dict(zip(frames, pool.map(sides.compare, frames), strict=True))
    return Comparison(
        plain=costs[PLAIN],
        muntin=costs[MUNTIN],
        rows=rows,
        plan=plan,
        first=sides.muntin_runs[0],
    )


class _Sides:
    """Runs both sides into folders, and remembers what each run of muntin cost."""

    def __init__(
        self, frames: Mapping[str, DataFrame], answer: Callable[[], Results], folder: Path
    ) -> None:
        self._frames = frames
        self._answer = answer
        self._folder = folder
        self.muntin_runs: list[Cost] = []

    def run_plain(self) -> Cost:
        """Writes every query with plain Spark, and returns the cost."""
        return measure(self._write_plain)

    def _write_plain(self) -> None:
        for name, frame in self._frames.items():
            frame.write.mode("overwrite").parquet(str(self._folder / PLAIN / name))

    def run_muntin(self) -> Cost:
        """Writes all queries with muntin, and returns the cost."""
        self.muntin_runs.append(measure(self._write_shared))
        return self.muntin_runs[-1]

    def _write_shared(self) -> None:
        with self._answer() as results:
            results.write(str(self._folder / MUNTIN), mode="overwrite")

    def compare(self, name: str) -> RowCounts:
        """Compares the rows of a query that both sides have written."""
        session: SparkSession = self._frames[name].sparkSession
        plain, muntin = (
            session.read.parquet(str(self._folder / side / name)) for side in (PLAIN, MUNTIN)
        )
        return compare_rows(plain, muntin)


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
    values = ", ".join(f"{quote_name(field.name)} AS f{n}" for n, field in enumerate(floats))
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
    name = quote_name(field.name)
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
