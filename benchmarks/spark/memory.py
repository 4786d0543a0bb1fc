"""`bench memory`: a million keys, one key with very many events, and a hundred queries that
differ in keys and filters, in four gigabytes."""

from collections.abc import Callable
from dataclasses import asdict, dataclass

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql.functions import expr
from rich.box import SIMPLE
from rich.table import Table

from benchmarks.harness.machine import machine
from benchmarks.harness.teams import draw_teams
from muntin.api.batch import run
from muntin.measure.events import compute, one_event_per_key, readings
from muntin.measure.processes import measure, memory
from muntin.measure.progress import Steps
from muntin.model.aggregates.aggregate import avg, count, max_, min_
from muntin.model.query import Query
from muntin.model.windows.window import hopping, tumbling
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

    @property
    def fits(self) -> bool:
        """Whether the peak is below the limit."""
        return self.peak_bytes < LIMIT


@dataclass(frozen=True, kw_only=True)
class Report:
    """All shapes of a run."""

    shapes: dict[str, Shape]
    strategy: str

    def to_json(self) -> dict[str, object]:
        """`shapes` by name, the limit, and whether each is below it."""
        shapes = {name: asdict(shape) | {"fits": shape.fits} for name, shape in self.shapes.items()}
        return {
            "shapes": shapes,
            "limit_bytes": LIMIT,
            "strategy": self.strategy,
            "machine": machine(),
        }

    def table(self) -> Table:
        """Peak memory of each shape beside the limit."""
        table = Table(
            box=SIMPLE,
            # Tight, so that it fits into eighty columns.
            padding=(0, 1, 0, 0),
            title=f"peak memory, limit {_gigabytes(LIMIT)} GB",
            caption="resident; all is the most held at once by driver, JVM and Python workers",
            title_justify="left",
            caption_justify="left",
        )
        table.add_column("shape")
        for column in ("events", "rows", "wall s", "JVM GB", "Python GB", "all GB"):
            table.add_column(column, justify="right")
        table.add_column("fits")
        for name, shape in self.shapes.items():
            table.add_row(
                name,
                *(f"{number:,}" for number in (shape.events, shape.rows)),
                f"{shape.wall_s:.1f}",
                *map(_gigabytes, (shape.jvm_bytes, shape.python_bytes, shape.peak_bytes)),
                "yes" if shape.fits else "NO",
            )
        return table


def queries() -> list[Query]:
    """Returns tumbling and hopping windows with several aggregates."""
    windows = {
        "minute": tumbling("1 minute"),
        "quarter": hopping("15 minutes", every="5 minutes"),
        "hour": hopping("1 hour", every="20 minutes"),
    }
    aggregates = {
        "n": count(),
        "low": min_("temp"),
        "high": max_("temp"),
        "mean": avg("temp"),
    }
    return [
        Query(name=name, window=window, aggregates=aggregates, keys=["device"], time="ts")
        for name, window in windows.items()
    ]


def peaks(
    session: SparkSession, *, keys: int, events: int, teams: int = 100, strategy: str = DEFAULT
) -> Report:
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
                measured[name] = _shape(asked, build, rows, distinct, strategy)
    return Report(shapes=measured, strategy=strategy)


def _shape(
    asked: list[Query], build: Callable[[], DataFrame], events: int, keys: int, strategy: str
) -> Shape:
    answers = Observation()

    def work() -> None:
        frame = run(asked, build(), strategy=strategy).together()
        counted = frame.observe(answers, expr("count(*) AS rows"))
        compute(counted)

    with memory() as peak:
        cost = measure(work)
    return Shape(
        events=events,
        keys=keys,
        rows=answers.get["rows"],
        wall_s=cost.wall_s,
        cpu_s=cost.cpu_s,
        peak_bytes=peak.total,
        jvm_bytes=peak.jvm,
        python_bytes=peak.python,
    )


def _gigabytes(size: int) -> str:
    return f"{size / 2**30:.2f}"
