"""`memory`: a million keys, one key with very many events, and a hundred queries that
differ in keys and filters, in four gigabytes."""

from collections.abc import Callable
from dataclasses import asdict, dataclass

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql.functions import expr
from rich.table import Table

from benchmarks.harness.report import Report, make_table
from benchmarks.harness.sets import draw_teams
from muntin.aggregates.aggregate import avg, count, max_, min_
from muntin.api.batch import run
from muntin.measure.events import compute, one_event_per_key, readings
from muntin.measure.processes import measure, memory
from muntin.measure.progress import Steps
from muntin.model.query import Query
from muntin.model.windows import hopping, tumbling
from muntin.optimizer.strategies import DEFAULT

LIMIT = 4 * 2**30
# The JVM's heap. It needs about half a gigabyte more, and each Python worker, one per core, a few
# hundred megabytes.
HEAP = "2g"


@dataclass(frozen=True, kw_only=True)
class Shape:
    """One shape of data: its cost, and the peak memory of the processes."""

    events: int
    keys: int
    rows: int
    wall_s: float
    cpu_s: float
    peak_bytes: int
    jvm_bytes: int
    python_bytes: int


@dataclass(frozen=True, kw_only=True)
class MemoryReport(Report):
    """All shapes of a run."""

    shapes: dict[str, Shape]
    strategy: str
    limit_bytes: int = LIMIT

    def tables(self) -> list[Table]:
        """Returns the peak memory of each shape next to the limit."""
        sizes = (">wall s", ">JVM GB", ">Python GB", ">all GB", "fits")
        rows = (
            [
                name,
                *(f"{number:,}" for number in (shape.events, shape.rows)),
                f"{shape.wall_s:.1f}",
                *map(_gigabytes, (shape.jvm_bytes, shape.python_bytes, shape.peak_bytes)),
                "yes" if shape.peak_bytes < self.limit_bytes else "NO",
            ]
            for name, shape in self.shapes.items()
        )
        title = f"peak memory, limit {_gigabytes(self.limit_bytes)} GB"
        note = "resident; all is the most at one time of driver, JVM and Python workers"
        return [make_table(title, ("shape", ">events", ">rows", *sizes), rows, note)]


def queries() -> list[Query]:
    """Returns tumbling and hopping windows with several aggregates."""
    windows = {
        "minute": tumbling("1 minute"),
        "quarter": hopping("15 minutes", every="5 minutes"),
        "hour": hopping("1 hour", every="20 minutes"),
    }
    low, high, mean = min_("temp"), max_("temp"), avg("temp")
    aggregates = {"n": count(), "low": low, "high": high, "mean": mean}
    return [
        Query(name=name, window=window, aggregates=aggregates, keys=["device"], time="ts")
        for name, window in windows.items()
    ]


def measure_peaks(
    session: SparkSession, *, keys: int, events: int, teams: int = 100, strategy: str = DEFAULT
) -> MemoryReport:
    """Runs all shapes: `keys` keys with an event each, for a few queries and for `teams` that
    differ in keys and filters, and one key with `events` events."""
    few, many = queries(), draw_teams(teams)
    shapes: dict[str, tuple[int, int, list[Query], Callable[[], DataFrame]]] = {
        "many keys": (keys, keys, few, lambda: one_event_per_key(session, keys)),
        "one key": (events, 1, few, lambda: readings(session, events, 1)),
        f"teams{teams}": (keys, keys, many, lambda: readings(session, keys, keys)),
    }
    with Steps(len(shapes)) as bar:
        measured = {}
        for name, (rows, distinct, asked, build) in shapes.items():
            with bar.step(f"{name}: {rows:,} events"):
                measured[name] = _measure_shape(asked, build, rows, distinct, strategy)
    return MemoryReport(shapes=measured, strategy=strategy)


def _measure_shape(
    asked: list[Query], build: Callable[[], DataFrame], events: int, keys: int, strategy: str
) -> Shape:
    answers = Observation()

    def work() -> None:
        frame = run(asked, build(), strategy=strategy).together()
        compute(frame.observe(answers, expr("count(*) AS rows")))

    with memory() as peak:
        cost = measure(work)
    peaks = {"peak_bytes": peak.total, "jvm_bytes": peak.jvm, "python_bytes": peak.python}
    rows = answers.get["rows"]
    return Shape(events=events, keys=keys, rows=rows, **asdict(cost), **peaks)


def _gigabytes(size: int) -> str:
    return f"{size / 2**30:.2f}"
