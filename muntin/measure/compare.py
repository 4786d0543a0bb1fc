"""`compare`: answers a user's own queries in plain Spark and in muntin, and compares both."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from muntin.errors import RunError
from muntin.measure.equality import RowCounts, compare_rows
from muntin.measure.processes import Cost, measure, measure_in_turns
from muntin.measure.progress import Steps
from muntin.model.plan import Plan
from muntin.spark.batch.results import Results
from muntin.spark.engine.session_kind import is_local

REPEATS = 3
# The names of both sides, and of their folders.
PLAIN, MUNTIN = "plain Spark", "muntin"
# Comparisons of rows at a time: Spark leaves cores idle while it plans a small job.
_CONCURRENT = 3


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
