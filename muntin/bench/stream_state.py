"""`bench streaming`, the rest: what state, keys and changes of queries cost a pipeline."""

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession
from rich.box import SIMPLE
from rich.table import Table

from muntin.bench.compare import compare
from muntin.bench.events import RATE, arriving, readings
from muntin.bench.laps import Laps
from muntin.bench.progress import Steps
from muntin.bench.sets import SETS
from muntin.bench.streaming import (
    FILES,
    FILES_PER_BATCH,
    WARMING,
    WATERMARK,
    stream_settings,
)
from muntin.errors import RunError
from muntin.model.aggregate import max_
from muntin.model.query import Query
from muntin.model.window import hopping, tumbling
from muntin.spark.batch import run
from muntin.spark.pipeline import start
from muntin.spark.settings import settings

_HOURS = 100
# How long an added query is waited for.
_PATIENCE_S = 120.0
_KEYS = 100


@dataclass(frozen=True, kw_only=True)
class State:
    """A pipeline's warm batches, and what it kept at their end."""

    cpu_s: float
    wall_s: float
    state_bytes: int


@dataclass(frozen=True, kw_only=True)
class StateReport:
    """State ten times larger; many keys; a query that is added."""

    small: State
    large: State
    keys: int
    many: State
    many_equal: bool
    # Seconds from the call of `add` to the end of the first batch with the query.
    add_s: float

    def to_json(self) -> dict[str, object]:
        """All figures by name."""
        return asdict(self)

    def table(self) -> Table:
        """A row for each figure."""
        table = Table(box=SIMPLE, padding=(0, 1, 0, 0))
        table.add_column("what")
        table.add_column("found", justify="right")
        ratio = self.large.cpu_s / self.small.cpu_s
        for what, found in (
            ("CPU s of warm batches, slices kept for 2 hours", f"{self.small.cpu_s:.1f}"),
            ("the same, slices kept for 20 hours", f"{self.large.cpu_s:.1f}"),
            ("how they stand", f"{ratio:.2f}x"),
            (f"CPU s of warm batches, {self.keys:,} keys", f"{self.many.cpu_s:.1f}"),
            ("its answers equal batch answers", "yes" if self.many_equal else "NO"),
            ("wall s from adding a query to its first batch", f"{self.add_s:.1f}"),
        ):
            table.add_row(what, found)
        return table


def state_costs(
    session: SparkSession, *, events: int = 1_000_000, keys: int = 100_000
) -> StateReport:
    """Measure all three; `events` in each stream, `keys` of the one with many."""
    with (
        TemporaryDirectory(prefix="muntin-bench-") as name,
        Steps(6) as bar,
        settings(session, stream_settings()),
    ):
        folder = Path(name)
        slow, many = folder / "slow", folder / "many"
        with bar.step("making events"):
            # So few events a second that they cover many hours, and slices hold one or two.
            rate = events / (_HOURS * 3600)
            arriving(readings(session, events, _KEYS, rate, FILES), slow)
            arriving(readings(session, events, keys, RATE * 10, FILES), many)
        costs = {}
        for label, retain in (("warming", 2), ("small", 2), ("large", 20)):
            with bar.step(f"slices kept for {retain} hours"):
                costs[label] = _run(
                    session, folder / label, slow, SETS["slide3"](), f"{retain} hours"
                )
        with bar.step(f"{keys:,} keys"):
            queries = [_query("minute", 1), _query("five", 5)]
            found = _run(session, folder / "keys", many, queries, "0 seconds")
            equal = all(_equal(session, folder / "keys", many, query) for query in queries)
        with bar.step("adding a query"):
            add_s = _adding(session, folder / "adding", slow)
    return StateReport(
        small=costs["small"],
        large=costs["large"],
        keys=keys,
        many=found,
        many_equal=equal,
        add_s=add_s,
    )


def _query(name: str, minutes: int) -> Query:
    return Query(
        name=name,
        window=tumbling(f"{minutes} minutes"),
        aggregates={"most": max_("temp")},
        keys=["device"],
        time="ts",
    )


def _stream(session: SparkSession, events: Path, files: int = FILES_PER_BATCH) -> DataFrame:
    schema = session.read.parquet(str(events)).schema
    reader = session.readStream.schema(schema).option("maxFilesPerTrigger", files)
    return reader.parquet(str(events))


def _run(
    session: SparkSession, place: Path, events: Path, queries: list[Query], retain: str
) -> State:
    with Laps(session) as laps:
        pipeline = start(
            queries,
            _stream(session, events),
            checkpoint=place / "check",
            sink=place / "answers",
            watermark=WATERMARK,
            trigger="available now",
            retain=retain,
        )
        pipeline.await_termination()
    cost = laps.after(WARMING)
    return State(
        cpu_s=round(cost.cpu_s, 2),
        wall_s=round(cost.wall_s, 2),
        state_bytes=pipeline.status().state_bytes,
    )


def _equal(session: SparkSession, place: Path, events: Path, query: Query) -> bool:
    """Whether a query's answers are those of a batch run, for all windows that have closed."""
    answers = session.read.parquet(str(place / "answers" / query.name))
    latest = answers.selectExpr("max(window.end) AS latest").first()
    assert latest is not None
    with run([query], session.read.parquet(str(events))) as results:
        closed = results[query.name].where(
            f"window.end <= timestamp_micros({round(latest['latest'].timestamp() * 1e6)}L)"
        )
        return compare(answers, closed, keys=["device", "window"]).equal


def _adding(session: SparkSession, place: Path, events: Path) -> float:
    """Add a query to a pipeline that is busy, and wait for its first answers."""
    with start(
        SETS["slide3"](),
        _stream(session, events, files=1),
        checkpoint=place / "check",
        sink=place / "answers",
        watermark=WATERMARK,
        retain="2 hours",
    ) as pipeline:
        while pipeline.status().batches < WARMING:
            time.sleep(0.05)
        added = Query(
            name="added",
            window=hopping("10 minutes", every="1 minute"),
            aggregates=SETS["slide3"]()[0].aggregates,
            keys=["device"],
            time="ts",
        )
        before = time.monotonic()
        pipeline.add(added)
        while pipeline.status().queries["added"].rows == 0:
            if time.monotonic() - before > _PATIENCE_S:
                raise RunError(f"the query that was added has no answers after {_PATIENCE_S:.0f} s")
            time.sleep(0.02)
        return round(time.monotonic() - before, 2)
