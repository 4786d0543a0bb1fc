"""`streaming --state`: the cost of state, of many keys and of an added query."""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession
from rich.table import Table

from benchmarks.harness.report import Report, make_table
from benchmarks.harness.sets import SETS
from benchmarks.harness.streams import (
    FILES,
    FILES_PER_BATCH,
    WARM_UP_BATCHES,
    WATERMARK,
    run_pipeline,
    stream_files,
    stream_settings,
)
from muntin.api.batch import run as run_batch
from muntin.api.stream import start
from muntin.errors import RunError
from muntin.measure.compare import compare_rows
from muntin.measure.events import RATE, readings, write_stream_files
from muntin.measure.processes import settle
from muntin.measure.progress import Steps
from muntin.model.query import Query
from muntin.model.windows import hopping
from muntin.spark.engine.settings import temporary_settings
from muntin.spark.pipeline.stream_options import StreamOptions

# Files of an hour each, one per batch: this many until the retained state has its full size, then
# those whose batches are timed.
_FILLING = 14
_TIMED = 6
# Hours that slices are kept for.
_SHORT, _LONG = 1, 12
_KEYS = 1_000
# For the bytes of dash10: keys, and files of some hours each, one per batch.
_DAY_KEYS, _DAY_FILES, _FILES_HOURS = 100, 9, 3
# How long to wait for an added query.
_TIMEOUT_S = 120.0


@dataclass(frozen=True, kw_only=True)
class State:
    """The cost of a pipeline's warm batches, and the bytes of slices that it kept at their end."""

    cpu_s: float
    wall_s: float
    kept_bytes: int


@dataclass(frozen=True, kw_only=True)
class StateReport(Report):
    """The costs of larger state, of many keys, and of adding a query."""

    # Slices kept for an hour; for 12, by the same queries; for 12, by a window of that size.
    short: State
    kept: State
    long: State
    keys: int
    many: State
    many_equal: bool
    # The bytes that dash10 keeps for a key with an event a minute, and a run of dash10 with as many
    # live keys, if it was asked for.
    dash10_bytes_per_key: float
    dash10_keys: int
    dash10: State | None
    # Seconds from the call of `add` to the end of the first batch with the query.
    add_s: float

    def tables(self) -> list[Table]:
        """Returns a row for each figure."""
        states = {
            f"{_TIMED} batches, slices kept for {_SHORT} hour": self.short,
            f"slices kept for {_LONG} hours": self.kept,
            f"a window of {_LONG} hours": self.long,
        }
        rows = [
            [*_state_row(what, state), f"{state.cpu_s / self.short.cpu_s:.2f}x"]
            for what, state in states.items()
        ]
        rows.append(_state_row(f"{self.keys:,} keys, 3 batches", self.many))
        rows.append(["its answers equal batch answers", "yes" if self.many_equal else "NO"])
        rows.append([f"dash10 keeps {self.dash10_bytes_per_key:,.0f} bytes a key"])
        if self.dash10 is not None:
            rows.append(_state_row(f"dash10 by {self.dash10_keys:,} keys, 3 batches", self.dash10))
        rows.append([f"from adding a query to its first batch: {self.add_s:.1f} s"])
        return [make_table("", ("what", ">CPU s", ">kept MB", ">to the first"), rows)]


def _state_row(what: str, state: State) -> list[str]:
    return [what, f"{state.cpu_s:.1f}", f"{state.kept_bytes / 1e6:.1f}"]


def state_costs(
    session: SparkSession, *, events: int = 1_000_000, keys: int = 100_000, dash10_keys: int = 0
) -> StateReport:
    """Measures all; `events` in each stream, `keys` in the one with many keys.

    With `dash10_keys`, it also streams dash10 with so many live keys, which takes long.
    """
    files, dash10 = _FILLING + _TIMED, SETS["dash10"]()
    with (
        TemporaryDirectory(prefix="muntin-bench-") as name,
        Steps(8 if dash10_keys else 7) as bar,
        temporary_settings(session, stream_settings()),
    ):
        bench = _StateRun(session, Path(name))
        with bar.step("making events"):
            # Few events a second, so that they cover many hours and slices have one or two.
            slow = bench.write("slow", events, _KEYS, events / (files * 3600), files)
            many = bench.write("many", events, keys, RATE * 10, FILES)
        short, long = (
            [_sliding_query(f"{hours} hours"), *SETS["slide3"]()[1:]] for hours in (_SHORT, _LONG)
        )
        # Many keys run first, and the short state second of three, so that it is warm.
        with bar.step(f"{keys:,} keys"):
            # A minute and five.
            queries = SETS["tumb5"]()[:4:3]
            many_state = bench.run("keys", many, queries)
            equal = all(_is_equal(session, bench.folder / "keys", many, query) for query in queries)
        costs = {}
        for label, asked, hours in (
            ("kept", short, _LONG),
            ("short", short, _SHORT),
            ("long", long, _SHORT),
        ):
            with bar.step(f"retained state: {label}"):
                retain = f"{hours} hours"
                costs[label] = bench.run(label, slow, asked, retain, warm_up=_FILLING, files=1)
        with bar.step("dash10"):
            # An event a minute for each of some keys, over more than a day.
            rows = _DAY_FILES * _FILES_HOURS * 60 * _DAY_KEYS
            day = bench.write("day", rows, _DAY_KEYS, _DAY_KEYS / 60, _DAY_FILES)
            day_state = bench.run("dash10", day, dash10, warm_up=1, files=1)
        keyed = None
        if dash10_keys:
            with bar.step(f"dash10 by {dash10_keys:,} keys"):
                rows = max(events, 5 * dash10_keys)
                place = bench.write("dash10s", rows, dash10_keys, RATE * 10, FILES)
                keyed = bench.run("dash10-keys", place, dash10)
        with bar.step("adding a query"):
            add_s = _time_to_add(session, bench.folder / "adding", slow)
    return StateReport(
        **costs,
        keys=keys,
        many=many_state,
        many_equal=equal,
        dash10_bytes_per_key=round(day_state.kept_bytes / _DAY_KEYS, 1),
        dash10_keys=dash10_keys,
        dash10=keyed,
        add_s=add_s,
    )


def _sliding_query(size: str) -> Query:
    """Returns the first query of slide3, with another size."""
    return replace(SETS["slide3"]()[0], window=hopping(size, every="1 minute"))


@dataclass(frozen=True)
class _StateRun:
    session: SparkSession
    folder: Path

    def write(self, name: str, events: int, keys: int, rate: float, files: int) -> Path:
        """Writes the files of a stream, and returns their folder."""
        folder = self.folder / name
        write_stream_files(readings(self.session, events, keys, rate, files), folder)
        return folder

    def run(
        self,
        label: str,
        events: Path,
        queries: list[Query],
        retain: str = "0 seconds",
        *,
        warm_up: int = WARM_UP_BATCHES,
        files: int = FILES_PER_BATCH,
    ) -> State:
        """Streams the events, `files` per batch; measures the batches after `warm_up` batches."""
        place, stream = self.folder / label, stream_files(self.session, events, files)
        settle()
        cost = run_pipeline(queries, stream, place, StreamOptions(retain=retain), warm_up)
        return State(
            cpu_s=round(cost.cpu_s, 2),
            wall_s=round(cost.wall_s, 2),
            kept_bytes=self._slice_bytes(place / "check" / "spark"),
        )

    def _slice_bytes(self, checkpoint: Path) -> int:
        """Returns the bytes of all slices in the state store."""
        reader = self.session.read.format("statestore").option("operatorId", 0)
        runs = reader.option("stateVarName", "runs").load(str(checkpoint))
        row = runs.selectExpr("coalesce(sum(length(user_map_value.data)), 0) AS bytes").first()
        assert row is not None
        return int(row["bytes"])


def _is_equal(session: SparkSession, place: Path, events: Path, query: Query) -> bool:
    """Whether a query's answers equal those of a batch run, for all windows that have closed."""
    answers = session.read.parquet(str(place / "answers" / query.name))
    latest = answers.selectExpr("max(window.end) AS latest").first()
    assert latest is not None
    with run_batch([query], session.read.parquet(str(events))) as results:
        closed = results[query.name].where(
            f"window.end <= timestamp_micros({round(latest['latest'].timestamp() * 1e6)}L)"
        )
        return compare_rows(answers, closed, exact=answers.columns).equal


def _time_to_add(session: SparkSession, place: Path, events: Path) -> float:
    """Adds a query to a busy pipeline, and returns the seconds until its first answers."""
    with start(
        SETS["slide3"](),
        stream_files(session, events, files=1),
        checkpoint=place / "check",
        sink=place / "answers",
        watermark=WATERMARK,
        options=StreamOptions(retain="2 hours"),
    ) as pipeline:
        while pipeline.status().batches < WARM_UP_BATCHES:
            time.sleep(0.05)
        added = replace(_sliding_query("10 minutes"), name="added")
        before = time.monotonic()
        pipeline.add(added)
        while pipeline.status().queries["added"].rows == 0:
            if time.monotonic() - before > _TIMEOUT_S:
                raise RunError(f"the query that was added has no answers after {_TIMEOUT_S:.0f} s")
            time.sleep(0.02)
        return round(time.monotonic() - before, 2)
