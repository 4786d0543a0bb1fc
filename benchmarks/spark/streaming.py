"""`streaming`: sets of window queries as plain Spark's streams and as one pipeline."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, expr
from pyspark.sql.functions import max as max_
from pyspark.sql.functions import min as min_

from benchmarks.harness.report import session_settings
from benchmarks.harness.sets import SETS
from benchmarks.harness.streams import (
    FILES,
    FILES_PER_BATCH,
    WARM_UP_BATCHES,
    WATERMARK,
    BatchCosts,
    run_pipeline,
    stream_files,
    stream_settings,
)
from benchmarks.spark.sharing import (
    equal_answers,
    of_few_keys,
    plain_spark,
    read_sets,
    union_answers,
)
from benchmarks.spark.sharing_report import SetFigures, SharingReport, Side
from muntin.errors import RunError, nearest
from muntin.measure.events import RATE, readings, write_stream_files
from muntin.measure.processes import Cost, measure_in_turns
from muntin.measure.progress import Steps
from muntin.model.query import Query
from muntin.optimizer.strategies import STEADY
from muntin.spark.engine.settings import temporary_settings
from muntin.spark.output.stacking import QUERY
from muntin.spark.pipeline.stream_options import StreamOptions

# Turns before the timed ones, in which the JVM compiles what the contenders share.
WARM_UP_TURNS = 6
# A stream has some eighty pieces of generated code, and Spark caches a hundred. Streams that take
# turns would be compiled again every time, unlike one that keeps running.
SESSION = {"spark.sql.codegen.cache.maxEntries": "1000"}
# Sets that are streamed; plain Spark would take hours for others.
STREAMED = ("one", "tumb5", "slide3", "dash10", "teams10", "sess", "sess10", "distinct10")
# Sets that plain Spark refuses in streams, and those that it streams beside them.
INSTEAD = {"distinct10": "one"}


class StreamingReport(SharingReport):
    """All sets of a run, and what they ran on."""

    def to_json(self) -> dict[str, object]:
        """Returns `sets` by name, and the facts of the run."""
        return {
            **super().to_json(),
            "files": FILES,
            "files_per_batch": FILES_PER_BATCH,
            "warm_batches": FILES // FILES_PER_BATCH - WARM_UP_BATCHES,
        }

    def title(self) -> str:
        """Returns what was run."""
        batches = FILES // FILES_PER_BATCH
        return (
            f"{batches - WARM_UP_BATCHES} warm batches of {self.events // batches:,} events, "
            f"{self.keys:,} keys, {self.strategy} plan, best of {self.repeats}"
        )

    def notes(self) -> list[str]:
        """Returns the footnotes, one per line."""
        note = "plain Spark: a streaming query for each; both write parquet; RocksDB"
        return [note, *super().notes()]


def read_streamed_sets(names: str) -> list[str]:
    """Returns the sets of a list such as `one,dash10`, if plain Spark can stream them."""
    sets = read_sets(names)
    for name in sets:
        if name not in STREAMED:
            raise RunError(f"{name} is not streamed; {nearest('', list(STREAMED))}")
    return sets


def streaming(
    session: SparkSession,
    sets: Sequence[str],
    *,
    events: int,
    keys: int,
    repeats: int = 2,
    warm_up_turns: int = WARM_UP_TURNS,
    strategy: str = STEADY,
) -> StreamingReport:
    """Streams every set both ways in turns, some to warm up and some that count."""
    with (
        TemporaryDirectory(prefix="muntin-bench-") as folder,
        Steps(1 + len(sets) * (2 * (warm_up_turns + repeats) + 1)) as bar,
        temporary_settings(session, stream_settings()),
    ):
        with bar.step(f"making {events:,} events"):
            write_stream_files(readings(session, events, keys, RATE, FILES), Path(folder, "events"))
        bench = _Bench(session, Path(folder), bar, strategy)
        return StreamingReport(
            sets=bench.measure(sets, repeats, warm_up_turns, events),
            events=events,
            keys=keys,
            repeats=repeats,
            strategy=strategy,
            settings=session_settings(session),
        )


@dataclass(frozen=True)
class _Bench:
    session: SparkSession
    folder: Path
    bar: Steps
    strategy: str

    def measure(
        self, sets: Sequence[str], repeats: int, warm_up_turns: int, events: int
    ) -> dict[str, SetFigures]:
        """Measures every set, its contenders timed in turns, and compares the last answers."""
        ways: dict[str, Callable[[Sequence[Query], Path], Cost]] = {
            "plain": self._plain,
            "muntin": self._muntin,
        }
        places: dict[str, Path] = {}

        def stream(name: str, label: str) -> Cost:
            run = f"{name}: {label}"
            # A folder for each turn: on the same checkpoint, a stream would go on with the last.
            place = places[run] = Path(mkdtemp(dir=self.folder, prefix=f"{name}-{label}-"))
            return ways[label](SETS[_streamed_by(label, name)](), place)

        runs = {f"{name}: {label}": partial(stream, name, label) for name in sets for label in ways}
        costs = measure_in_turns(runs, self.bar, warm_up_turns=warm_up_turns, repeats=repeats)
        measured = {}
        for name in sets:
            labels = [f"{name}: {label}" for label in ways]
            with self.bar.step(f"{name}: comparing"):
                theirs, ours = (
                    self._answers(_streamed_by(way, name), places[label])
                    for way, label in zip(ways, labels, strict=True)
                )
                if name in INSTEAD:
                    equal, equal_on = self._equal_to_batch(name, ours)
                else:
                    equal, equal_on = _equal(name, ours, theirs), events
                measured[name] = SetFigures(
                    plain=_side(costs[labels[0]], theirs),
                    muntin=_side(costs[labels[1]], ours),
                    equal=equal,
                    equal_on=equal_on,
                    instead=INSTEAD.get(name),
                )
        return measured

    def _plain(self, queries: Sequence[Query], place: Path) -> Cost:
        """Runs a streaming query for each, one after the other."""
        spent = Cost(cpu_s=0.0, wall_s=0.0)
        for query in queries:
            stream = stream_files(self.session, self.folder / "events")
            frame = plain_spark([query], stream.withWatermark(query.time, WATERMARK))
            with BatchCosts(self.session) as costs:
                writer = frame.writeStream.format("parquet").outputMode("append")
                writer = writer.option("checkpointLocation", str(place / "check" / query.name))
                answers = str(place / "answers" / query.name)
                writer.trigger(availableNow=True).start(answers).awaitTermination()
            spent += costs.cost_after(WARM_UP_BATCHES)
        return spent

    def _muntin(self, queries: Sequence[Query], place: Path) -> Cost:
        """Runs one pipeline for all."""
        stream = stream_files(self.session, self.folder / "events")
        return run_pipeline(queries, stream, place, StreamOptions(strategy=self.strategy))

    def _equal_to_batch(self, name: str, ours: DataFrame) -> tuple[bool, int]:
        """Compares the windows of one key that have closed with those of plain Spark's batch;
        returns on how many events, too."""
        events = self.session.read.parquet(str(self.folder / "events"))
        until = events.select(expr(f"max(ts) - INTERVAL {WATERMARK}").alias("until"))
        one = of_few_keys(events, 1)
        closed = plain_spark(SETS[name](), one).join(until, col("window.end") <= col("until"))
        return _equal(name, of_few_keys(ours, 1), closed.drop("until")), one.count()

    def _answers(self, name: str, place: Path) -> DataFrame:
        """Returns the answers of a set; a query of which no window has closed has none."""
        events = self.session.read.parquet(str(self.folder / "events"))
        frames = {}
        for query in SETS[name]():
            folder = place / "answers" / query.name
            if any(folder.glob("**/*.parquet")):
                answers = self.session.read.parquet(str(folder)).drop(QUERY)
            else:
                answers = plain_spark([query], events).limit(0).drop(QUERY)
            frames[query.name] = answers
        return union_answers(frames)


def _streamed_by(way: str, name: str) -> str:
    """Returns the set that is streamed in some way for a set."""
    return INSTEAD.get(name, name) if way == "plain" else name


def _side(cost: Cost, answers: DataFrame) -> Side:
    return Side(cpu_s=round(cost.cpu_s, 2), wall_s=round(cost.wall_s, 2), rows=answers.count())


def _equal(name: str, ours: DataFrame, theirs: DataFrame) -> bool:
    if name.startswith("sess"):
        # In a stream muntin closes a session up to an eighth of a gap later than Spark does.
        lasts = [side.select(max_("window.end").alias("last")) for side in (ours, theirs)]
        until = lasts[0].union(lasts[1]).select(min_("last").alias("until"))
        ours, theirs = (
            side.join(until, col("window.end") <= col("until")).drop("until")
            for side in (ours, theirs)
        )
    return equal_answers(ours, theirs)
