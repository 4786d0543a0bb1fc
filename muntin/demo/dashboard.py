"""Runs the ten queries of a factory's dashboard in plain Spark and in muntin."""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from muntin.api.batch import plan
from muntin.api.compare import compare
from muntin.demo.readings import HERTZ, MACHINES, machine_readings
from muntin.errors import RunError
from muntin.measure.compare import MUNTIN, REPEATS, Comparison
from muntin.measure.events import store
from muntin.measure.progress import Steps
from muntin.model.query import Query
from muntin.sql import parse_sql

_WARM_UP_EVENTS = 20_000
_PICTURE = "plan.svg"
_SAMPLE = "minute"


@dataclass(frozen=True, kw_only=True)
class Demo:
    """The results of the demo, and the folder with its files."""

    events: int
    comparison: Comparison
    output: Path
    # A few rows of a query, as muntin wrote them.
    sample_of: str
    sample: list[dict[str, object]]

    @property
    def queries(self) -> Path:
        """The file of the queries."""
        return self.output / dashboard_file().name


def dashboard_file() -> Path:
    """Returns the file of the ten queries."""
    return Path(str(files("muntin.demo"))) / "dashboard.sql"


def dashboard_queries() -> list[Query]:
    """Returns the ten queries, all of which share."""
    return [query for query in parse_sql(dashboard_file().read_text()) if isinstance(query, Query)]


def check_output(output: Path) -> None:
    """Raises an error if a folder holds anything but an earlier demo."""
    if output.is_dir() and any(output.iterdir()) and not (output / _PICTURE).exists():
        raise RunError(f"{output} is not empty; name a new folder by --output")
    if output.exists() and not output.is_dir():
        raise RunError(f"{output} is not a folder; name a new one by --output")


def run_demo(
    session: SparkSession,
    events: int,
    output: Path,
    *,
    repeats: int = REPEATS,
    warm_up_events: int = _WARM_UP_EVENTS,
) -> Demo:
    """Generates events, answers all queries both ways into folders of `output`, and compares.

    Both sides first answer all queries over `warm_up_events`; they do not if that is 0.
    """
    queries = dashboard_queries()
    chosen = plan(queries, rate=MACHINES * HERTZ, keys=MACHINES)
    output.mkdir(parents=True, exist_ok=True)
    (output / _PICTURE).write_text(chosen.to_svg())
    (output / dashboard_file().name).write_text(dashboard_file().read_text())
    with Steps(1) as bar, bar.step(f"making {events:,} readings"):
        data = store(machine_readings(session, events), output / "events")
    if warm_up_events:
        warm_up(machine_readings(session, min(events, warm_up_events)), queries)
    comparison = compare(chosen, data, repeats=repeats, folder=str(output))
    rows = session.read.parquet(str(output / MUNTIN / _SAMPLE)).orderBy("window", "machine")
    return Demo(
        events=events,
        comparison=comparison,
        output=output,
        sample_of=_SAMPLE,
        sample=[row.asDict(recursive=True) for row in rows.limit(MACHINES).collect()],
    )


def warm_up(data: DataFrame, queries: list[Query]) -> None:
    """Answers all queries both ways once, and discards the answers."""
    compare(queries, data, repeats=1)
