"""Ten dashboard queries over the machines: plain Spark, then muntin, then every row compared."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DoubleType

from muntin.bench.harness.compare import compare
from muntin.bench.harness.events import stored
from muntin.bench.harness.measure import Cost, cheapest, measure
from muntin.console.progress import Steps
from muntin.demo.machines import HERTZ, MACHINES, sensors
from muntin.errors import RunError
from muntin.model.plan import Plan
from muntin.model.query import Query
from muntin.spark.batch.results import run
from muntin.spark.binding.planning import plan
from muntin.spark.binding.relations import Relations
from muntin.sql import parse_sql

KEYS = ("machine", "window")
_WARM_UP_EVENTS = 20_000
# As in the bench the best of several runs counts: the JVM goes on compiling for a while. A way to
# answer is run up to so often, but not again once its runs have taken so many seconds together.
RUNS = 3
_QUERY_S = 5.0
_MUNTIN_S = 60.0
_PICTURE = "plan.svg"
_QUERIES = "dashboard.sql"
_SAMPLE = "minute"
# Jobs at once of what is not timed: Spark leaves cores idle while it plans.
_AT_ONCE = 3
# Making events, warming up, muntin's one pass and the comparison; plain Spark goes by query.
_STEPS = 4


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One query: its window, how many rows it gave, whether both gave the same, plain's cost."""

    window: str
    rows: int
    equal: bool
    plain: Cost


@dataclass(frozen=True, kw_only=True)
class Demo:
    """What the demo found, and where it left its files."""

    events: int
    answers: Mapping[str, Answer]
    muntin: Cost
    # What muntin's first run over all events cost.
    first: Cost
    plan: Plan
    output: Path
    # The queries, as a file that the commands of the terminal take.
    queries: Path
    # A few rows of one query, as muntin wrote them.
    sample_of: str
    sample: list[dict[str, object]]

    @property
    def plain(self) -> Cost:
        """What all queries cost as plain Spark."""
        return sum((one.plain for one in self.answers.values()), Cost(cpu_s=0.0, wall_s=0.0))

    @property
    def equal(self) -> bool:
        """Whether every row of every query was the same."""
        return all(one.equal for one in self.answers.values())


def dashboard() -> Path:
    """The file of the ten queries."""
    return Path(str(files("muntin.demo"))) / "dashboard.sql"


def queries() -> list[Query]:
    """The ten queries; all of them share."""
    return [one for one in parse_sql(dashboard().read_text()) if isinstance(one, Query)]


def check_output(output: Path) -> None:
    """Refuse a folder that holds anything but an earlier demo."""
    if output.is_dir() and any(output.iterdir()) and not (output / _PICTURE).exists():
        raise RunError(f"{output} is not empty; name a new folder by --output")
    if output.exists() and not output.is_dir():
        raise RunError(f"{output} is not a folder; name a new one by --output")


def side_by_side(session: SparkSession, events: int, output: Path, *, runs: int = RUNS) -> Demo:
    """Make the events, answer all queries both ways into folders of `output`, and compare."""
    asked = queries()
    with Steps(_STEPS + len(asked)) as bar:
        return _side_by_side(session, asked, events, output, runs, bar)


def _side_by_side(
    session: SparkSession, asked: list[Query], events: int, output: Path, runs: int, bar: Steps
) -> Demo:
    chosen = plan(asked, rate=MACHINES * HERTZ, keys=MACHINES)
    output.mkdir(parents=True, exist_ok=True)
    (output / _PICTURE).write_text(chosen.to_svg())
    (output / _QUERIES).write_text(dashboard().read_text())
    with bar.step(f"making {events:,} readings"):
        data = stored(sensors(session, events), output / "events")
    with bar.step("warming up both"), TemporaryDirectory(prefix="muntin-demo-") as scratch:
        few = sensors(session, min(events, _WARM_UP_EVENTS))
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(lambda query: _plain(few, query, Path(scratch, "plain")), asked))
        _muntin(few, chosen, Path(scratch, "answers"))
    costs = {}
    for query in asked:
        with bar.step(f"plain Spark: {query.name}"):
            work = partial(_plain, data, query, output / "plain")
            costs[query.name] = cheapest(_costs(work, runs, _QUERY_S))
    with bar.step("muntin: all ten at once"):
        ours = _costs(partial(_muntin, data, chosen, output / "answers"), runs, _MUNTIN_S)
    with bar.step("comparing every row"), ThreadPoolExecutor(_AT_ONCE) as pool:
        found = pool.map(lambda one: _answer(session, one, output, costs[one.name]), asked)
        answers = {query.name: answer for query, answer in zip(asked, found, strict=True)}
    rows = session.read.parquet(str(output / "answers" / _SAMPLE)).orderBy("window", "machine")
    return Demo(
        events=events,
        answers=answers,
        muntin=cheapest(ours),
        first=ours[0],
        plan=chosen,
        output=output,
        queries=output / _QUERIES,
        sample_of=_SAMPLE,
        sample=[row.asDict(recursive=True) for row in rows.limit(MACHINES).collect()],
    )


def _costs(work: Callable[[], object], runs: int, seconds: float) -> list[Cost]:
    """What the runs of some work cost, one after the other."""
    costs = [measure(work)]
    while len(costs) < runs and sum(one.wall_s for one in costs) < seconds:
        costs.append(measure(work))
    return costs


def _answer(session: SparkSession, query: Query, output: Path, cost: Cost) -> Answer:
    ours, theirs = (
        session.read.parquet(str(output / side / query.name)) for side in ("answers", "plain")
    )
    found = compare(ours, theirs, keys=KEYS, close=_floats(ours))
    return Answer(window=str(query.window), rows=found.left, equal=found.equal, plain=cost)


def _floats(frame: DataFrame) -> list[str]:
    return [field.name for field in frame.schema if isinstance(field.dataType, DoubleType)]


def _plain(data: DataFrame, query: Query, folder: Path) -> None:
    frame = Relations(data, [query]).check(query)
    frame.write.mode("overwrite").parquet(str(folder / query.name))


def _muntin(data: DataFrame, chosen: Plan, folder: Path) -> None:
    run(chosen, data).write(str(folder), mode="overwrite")
