"""Runs ten dashboard queries with plain Spark and with muntin, and compares every row."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession

from muntin.console.progress import Steps
from muntin.demo.machines import HERTZ, MACHINES, sensors
from muntin.errors import RunError
from muntin.measure.equality import compare_rows
from muntin.measure.events import stored
from muntin.measure.processes import Cost, cheapest, measure
from muntin.model.plan import Plan
from muntin.model.query import Query
from muntin.spark.batch.results import run
from muntin.spark.binding.planning import plan
from muntin.spark.binding.relations import Relations
from muntin.sql import parse_sql

WARM_UP_EVENTS = 20_000
# As in the bench, the best of several runs counts, since the JVM goes on compiling for a while. A
# side has up to this many runs, but none more once its runs have taken this many seconds in all.
RUNS = 3
_QUERY_S = 5.0
_MUNTIN_S = 60.0
_PICTURE = "plan.svg"
_QUERIES = "dashboard.sql"
_SAMPLE = "minute"
# Concurrent jobs where nothing is timed: Spark leaves cores idle while it plans.
_AT_ONCE = 3
# Making events, warming up, muntin's pass and the comparison; plain Spark has a step per query.
_STEPS = 4


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One query: its window, its number of rows, whether both sides agree, plain Spark's cost."""

    window: str
    rows: int
    equal: bool
    plain: Cost


@dataclass(frozen=True, kw_only=True)
class Demo:
    """The results of the demo, and where its files are."""

    events: int
    answers: Mapping[str, Answer]
    muntin: Cost
    # The cost of muntin's first run over all events.
    first: Cost
    plan: Plan
    output: Path
    # The file of the queries, for the commands to try next.
    queries: Path
    # A few rows of one query, as muntin wrote them.
    sample_of: str
    sample: list[dict[str, object]]

    @property
    def plain(self) -> Cost:
        """The cost of all queries in plain Spark."""
        return sum((answer.plain for answer in self.answers.values()), Cost(cpu_s=0.0, wall_s=0.0))

    @property
    def equal(self) -> bool:
        """Whether every row of every query was the same."""
        return all(answer.equal for answer in self.answers.values())


def dashboard() -> Path:
    """Returns the file of the ten queries."""
    return Path(str(files("muntin.demo"))) / "dashboard.sql"


def queries() -> list[Query]:
    """Returns the ten queries, all of which share."""
    return [query for query in parse_sql(dashboard().read_text()) if isinstance(query, Query)]


def check_output(output: Path) -> None:
    """Raises an error if a folder holds anything but an earlier demo."""
    if output.is_dir() and any(output.iterdir()) and not (output / _PICTURE).exists():
        raise RunError(f"{output} is not empty; name a new folder by --output")
    if output.exists() and not output.is_dir():
        raise RunError(f"{output} is not a folder; name a new one by --output")


def side_by_side(
    session: SparkSession,
    events: int,
    output: Path,
    *,
    runs: int = RUNS,
    warm_up_events: int = WARM_UP_EVENTS,
) -> Demo:
    """Makes events, answers all queries both ways into folders of `output`, and compares.

    Both sides first answer all queries over `warm_up_events`; none if that is 0.
    """
    asked = queries()
    with Steps(_STEPS + len(asked)) as bar:
        return _side_by_side(session, asked, events, output, runs, warm_up_events, bar)


def _side_by_side(
    session: SparkSession,
    asked: list[Query],
    events: int,
    output: Path,
    runs: int,
    warm_up_events: int,
    bar: Steps,
) -> Demo:
    chosen = plan(asked, rate=MACHINES * HERTZ, keys=MACHINES)
    output.mkdir(parents=True, exist_ok=True)
    (output / _PICTURE).write_text(chosen.to_svg())
    (output / _QUERIES).write_text(dashboard().read_text())
    with bar.step(f"making {events:,} readings"):
        data = stored(sensors(session, events), output / "events")
    with bar.step("warming up both"):
        if warm_up_events:
            warm_up(sensors(session, min(events, warm_up_events)), asked, chosen)
    costs = {}
    for query in asked:
        with bar.step(f"plain Spark: {query.name}"):
            work = partial(_plain, data, query, output / "plain")
            costs[query.name] = cheapest(_costs(work, runs, _QUERY_S))
    with bar.step("muntin: all ten at once"):
        ours = _costs(partial(_muntin, data, chosen, output / "answers"), runs, _MUNTIN_S)
    with bar.step("comparing every row"), ThreadPoolExecutor(_AT_ONCE) as pool:
        compared = pool.map(lambda query: _answer(session, query, output, costs[query.name]), asked)
        answers = {query.name: answer for query, answer in zip(asked, compared, strict=True)}
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


def warm_up(data: DataFrame, asked: list[Query], chosen: Plan) -> None:
    """Answers all queries both ways, into folders that are deleted."""
    with TemporaryDirectory(prefix="muntin-demo-") as scratch:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(lambda query: _plain(data, query, Path(scratch, "plain")), asked))
        _muntin(data, chosen, Path(scratch, "answers"))


def _costs(work: Callable[[], object], runs: int, seconds: float) -> list[Cost]:
    """Runs some work several times, and returns the cost of each run."""
    costs = [measure(work)]
    while len(costs) < runs and sum(cost.wall_s for cost in costs) < seconds:
        costs.append(measure(work))
    return costs


def _answer(session: SparkSession, query: Query, output: Path, cost: Cost) -> Answer:
    ours, theirs = (
        session.read.parquet(str(output / side / query.name)) for side in ("answers", "plain")
    )
    comparison = compare_rows(ours, theirs)
    return Answer(
        window=str(query.window), rows=comparison.left, equal=comparison.equal, plain=cost
    )


def _plain(data: DataFrame, query: Query, folder: Path) -> None:
    frame = Relations(data, [query]).check(query)
    frame.write.mode("overwrite").parquet(str(folder / query.name))


def _muntin(data: DataFrame, chosen: Plan, folder: Path) -> None:
    run(chosen, data).write(str(folder), mode="overwrite")
