"""`compare`: a user's own queries, answered by plain Spark and by muntin, timed and compared."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from muntin.console.progress import Steps
from muntin.errors import RunError
from muntin.measure.equality import RowCounts, compare_rows
from muntin.measure.processes import Cost, check_installed, measure
from muntin.measure.turns import in_turns
from muntin.model.plan import Plan
from muntin.model.query import PlainQuery, Query
from muntin.model.workload import Workload
from muntin.spark.batch.results import Results, run
from muntin.spark.binding.relations import Data, Relations
from muntin.spark.engine.session_kind import is_local
from muntin.spark.frames.share import share

REPEATS = 3
# The names of both sides, and of their folders.
_PLAIN, _MUNTIN = "plain Spark", "muntin"


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

    @property
    def equal(self) -> bool:
        """Whether every row of every query is the same on both sides."""
        return all(counts.equal for counts in self.rows.values())

    def to_json(self) -> dict[str, Any]:
        """Returns the figures: seconds of both sides, rows and equality of each query."""
        return {
            "plain": asdict(self.plain),
            "muntin": asdict(self.muntin),
            "queries": {
                name: {**asdict(counts), "equal": counts.equal}
                for name, counts in self.rows.items()
            },
        }

    def tables(self) -> list[Table]:
        """Returns a table of the rows of each query, and one of the seconds of both sides."""
        rows = Table(box=SIMPLE)
        rows.add_column("query")
        for side in (_PLAIN, _MUNTIN):
            rows.add_column(f"rows, {side}", justify="right")
        rows.add_column("equal")
        for name, counts in self.rows.items():
            said = "yes" if counts.equal else f"NO: {counts.different:,} rows differ"
            rows.add_row(name, f"{counts.left:,}", f"{counts.right:,}", said)
        costs = Table(box=SIMPLE)
        costs.add_column(f"{len(self.rows)} queries")
        for column in ("CPU s", "wall s"):
            costs.add_column(column, justify="right")
        for side, cost in ((_PLAIN, self.plain), (_MUNTIN, self.muntin)):
            costs.add_row(side, f"{cost.cpu_s:.1f}", f"{cost.wall_s:.1f}")
        gains = (self.plain.cpu_s / self.muntin.cpu_s, self.plain.wall_s / self.muntin.wall_s)
        costs.add_row("ratio", *(f"{gain:.1f}x" for gain in gains), style="bold")
        return [rows, costs]

    def __str__(self) -> str:
        console = Console(width=100)
        with console.capture() as capture:
            console.print(*self.tables())
        return capture.get()


def compare(
    queries: Plan
    | Workload
    | Query
    | PlainQuery
    | Iterable[Query | PlainQuery]
    | Mapping[str, DataFrame],
    data: Data = None,
    *,
    repeats: int = REPEATS,
    folder: str | None = None,
    **planning: Any,
) -> Comparison:
    """Answers queries with plain Spark, one by one, and with muntin, together; returns the CPU and
    wall seconds of both, and whether all rows are equal.

    `queries` and `data` are as in `run`, or `queries` are DataFrames by name, as in `share`. Each
    side runs `repeats` times, in turns, and its cheapest run counts; a run of more than half a
    minute is not repeated. Both write their answers as Parquet files into `folder`, without it into
    a temporary one. Further arguments, such as `strategy`, are those of `run`.

    It measures processes of this machine, so the session has to be a local one.
    """
    check_installed()
    queries = queries if isinstance(queries, Mapping | Plan | Workload) else _listed(queries)
    answer = (
        partial(share, queries) if isinstance(queries, Mapping) else partial(run, queries, data)
    )
    answer = partial(answer, **planning)
    with answer() as results:
        plan = results.plan
    frames = queries if isinstance(queries, Mapping) else _plain_frames(plan, data)
    session = next(iter(frames.values())).sparkSession
    if not is_local(session):
        raise RunError(
            "mt.compare measures the processes of this machine, so it needs a session with a local "
            "master, such as local[*]"
        )
    with TemporaryDirectory(prefix="muntin-compare-") as scratch:
        into = Path(folder or scratch)
        sides: dict[str, Callable[[], None]] = {
            _PLAIN: partial(_write_plain, frames, into / _PLAIN),
            _MUNTIN: partial(_write_shared, answer, into / _MUNTIN),
        }
        runs = {name: partial(measure, side) for name, side in sides.items()}
        with Steps(repeats * len(runs) + 1) as bar:
            costs = in_turns(runs, bar, warming=0, repeats=repeats)
            with bar.step("comparing rows"):
                rows = {name: _compare(session, into, name) for name in frames}
    return Comparison(plain=costs[_PLAIN], muntin=costs[_MUNTIN], rows=rows, plan=plan)


def _listed(queries: Query | PlainQuery | Iterable[Query | PlainQuery]) -> list[Query | PlainQuery]:
    """Returns the queries as a list, since they are read more than once."""
    return [queries] if isinstance(queries, Query | PlainQuery) else list(queries)


def _plain_frames(plan: Plan, data: Data) -> dict[str, DataFrame]:
    """Returns each query as plain Spark answers it."""
    relations = Relations(data, plan.queries)
    return {query.name: relations.check(query) for query in plan.queries}


def _write_plain(frames: Mapping[str, DataFrame], folder: Path) -> None:
    for name, frame in frames.items():
        frame.write.mode("overwrite").parquet(str(folder / name))


def _write_shared(answer: Callable[[], Results], folder: Path) -> None:
    with answer() as results:
        results.write(str(folder), mode="overwrite")


def _compare(session: SparkSession, folder: Path, name: str) -> RowCounts:
    plain, muntin = (session.read.parquet(str(folder / side / name)) for side in (_PLAIN, _MUNTIN))
    return compare_rows(plain, muntin)
