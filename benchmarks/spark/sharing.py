"""`sharing`: sets of window queries as plain Spark and as muntin, over the same events."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial, reduce
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from benchmarks.harness.report import read_names, session_settings
from benchmarks.harness.sets import (
    FEW_KEYS_FOR_PLAIN,
    ONE_KEY_IN,
    SETS,
    TOO_LONG_FOR_PLAIN,
    Scale,
    scale_of,
)
from benchmarks.spark.sharing_report import SetFigures, SharingReport, Side
from muntin.api.batch import run
from muntin.measure.compare import compare_rows
from muntin.measure.events import RATE, compute, readings, store
from muntin.measure.processes import Cost, measure, measure_in_turns
from muntin.measure.progress import Steps
from muntin.model.query import Query
from muntin.optimizer.strategies import DEFAULT
from muntin.spark.binding.relations import Relations
from muntin.spark.output.stacking import with_query_name

# If plain Spark would take hours over all events, answers are compared on this many.
EQUAL_ON = 2_000
_INEXACT = {"avg", "sum"}
# Turns before the timed ones, in which the JVM compiles what the contenders share.
WARM_UP_TURNS = 4
# Timed turns. Runs differ by a quarter, so the best of three is not steady yet.
REPEATS = 9


def sharing(
    session: SparkSession,
    sets: Sequence[str],
    *,
    events: int,
    keys: int,
    repeats: int = REPEATS,
    warm_up_turns: int = WARM_UP_TURNS,
    strategy: str = DEFAULT,
) -> SharingReport:
    """Runs every set both ways: once to compare answers, then in turns; long runs only once."""
    usual = Scale(events=events, keys=keys)
    scales = {name: scale_of(name, usual) for name in sets}
    runs = (2 * len(sets) - len(TOO_LONG_FOR_PLAIN & scales.keys())) * (1 + warm_up_turns + repeats)
    steps = len(set(scales.values())) + runs + len(sets)
    with TemporaryDirectory(prefix="muntin-bench-") as folder, Steps(steps) as bar:
        data = {}
        for number, scale in enumerate(dict.fromkeys(scales.values())):
            with bar.step(f"making {scale.events:,} events"):
                frame = readings(session, scale.events, scale.keys)
                data[scale] = store(frame, Path(folder, f"events-{number}"))
        few = {
            scale: store(of_few_keys(data[scale], scale.keys), Path(folder, f"few-{scale.keys}"))
            for scale in {scales[name] for name in FEW_KEYS_FOR_PLAIN & scales.keys()}
        }
        bench = _Bench(scales, data, few, Path(folder), bar, strategy)
        return SharingReport(
            sets=bench.measure(sets, repeats, warm_up_turns),
            events=events,
            keys=keys,
            repeats=repeats,
            strategy=strategy,
            settings=session_settings(session),
        )


def read_sets(names: str) -> list[str]:
    """Returns the sets of a list such as `one,dash10`; raises an error for an unknown one."""
    return read_names(names, SETS, "set")


def plain_spark(queries: Sequence[Query], events: DataFrame) -> DataFrame:
    """Answers each query with Spark's own SQL alone, in the form of `together()`."""
    plain = Relations(events, queries, streaming=events.isStreaming)
    return union_answers({query.name: plain.check(query) for query in queries})


def union_answers(frames: Mapping[str, DataFrame]) -> DataFrame:
    """Returns the answers of several queries as one DataFrame with their names."""
    named = (with_query_name(name, frame) for name, frame in frames.items())
    return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), named)


@dataclass(frozen=True)
class _Contender:
    """A set, a way to answer it, and the answers."""

    build: Callable[[], DataFrame]
    answers: DataFrame
    # The cost of the first run, which also stored the answers.
    first: Cost
    # The number of all events divided by the number of events it runs over.
    times: float

    def run(self) -> Cost:
        return measure(lambda: compute(self.build()))

    def side(self, best: Cost) -> Side:
        """Returns its cost in turns, and its number of rows."""
        seconds = {name: round(spent * self.times, 2) for name, spent in asdict(best).items()}
        return Side(**seconds, rows=self.answers.count(), times=self.times)


@dataclass(frozen=True)
class _Bench:
    # The scale of each set, and the events of each scale.
    scales: Mapping[str, Scale]
    data: Mapping[Scale, DataFrame]
    # The events of a few keys, for sets that plain Spark runs over these alone.
    few: Mapping[Scale, DataFrame]
    folder: Path
    bar: Steps
    strategy: str

    def measure(
        self, sets: Sequence[str], repeats: int, warm_up_turns: int
    ) -> dict[str, SetFigures]:
        """Measures every set, its contenders timed in turns."""
        contenders = {
            f"{name}: {way}": self._contender(name, way)
            for name in sets
            for way in ("muntin", "plain")
            if way == "muntin" or name not in TOO_LONG_FOR_PLAIN
        }
        costs = measure_in_turns(
            {label: contender.run for label, contender in contenders.items()},
            self.bar,
            warm_up_turns=warm_up_turns,
            repeats=repeats,
            earlier={label: contender.first for label, contender in contenders.items()},
        )
        return {name: self._compare(name, contenders, costs) for name in sets}

    def _contender(self, name: str, way: str) -> _Contender:
        """Returns a contender after its first run, whose answers are stored."""
        scale = self.scales[name]
        data, times = self.data[scale], 1.0
        if way == "plain" and name in FEW_KEYS_FOR_PLAIN:
            data = self.few[scale]
            times = scale.events / max(1, data.count())
        build = partial(self._answer, way, SETS[name](), data)
        path = self.folder / name / way
        with self.bar.step(f"{name}: {way}, first run"):
            cost = measure(lambda: store(build(), path))
        return _Contender(build, data.sparkSession.read.parquet(str(path)), cost, times)

    def _answer(self, way: str, queries: Sequence[Query], data: DataFrame) -> DataFrame:
        if way == "plain":
            return plain_spark(queries, data)
        return run(queries, data, strategy=self.strategy).together()

    def _compare(
        self, name: str, contenders: Mapping[str, _Contender], costs: Mapping[str, Cost]
    ) -> SetFigures:
        label, scale = f"{name}: plain", self.scales[name]
        ours, theirs = contenders[f"{name}: muntin"], contenders.get(label)
        few = min(EQUAL_ON, scale.events)
        with self.bar.step(f"{name}: comparing"):
            if theirs is None:
                data = self._few_events(name, few)
                answers = self._answer("muntin", SETS[name](), data)
                equal = equal_answers(answers, self._one_by_one(name, data))
            else:
                is_scaled = theirs.times != 1
                answers = of_few_keys(ours.answers, scale.keys) if is_scaled else ours.answers
                equal = equal_answers(answers, theirs.answers)
        return SetFigures(
            plain=theirs.side(costs[label]) if theirs else None,
            muntin=ours.side(costs[f"{name}: muntin"]),
            equal=equal,
            equal_on=round(scale.events / theirs.times) if theirs else few,
            scale=scale,
        )

    def _one_by_one(self, name: str, data: DataFrame) -> DataFrame:
        """Answers with plain Spark, a job per query: to plan a hundred at once takes minutes."""
        path = str(self.folder / name / "few-plain")
        for query in SETS[name]():
            plain_spark([query], data).write.mode("append").parquet(path)
        return data.sparkSession.read.option("mergeSchema", "true").parquet(path)

    def _few_events(self, name: str, few: int) -> DataFrame:
        """Makes fewer events over the same time span, so that windows still fill and slide."""
        scale = self.scales[name]
        rate = RATE * few / scale.events
        session = self.data[scale].sparkSession
        return store(readings(session, few, scale.keys, rate), self.folder / name / "few")


def of_few_keys(frame: DataFrame, keys: int) -> DataFrame:
    """Returns the rows of one key in `ONE_KEY_IN`, of at least one."""
    few = max(1, keys // ONE_KEY_IN)
    return frame.where(col("device").isin([f"device-{number}" for number in range(few)]))


def equal_answers(ours: DataFrame, theirs: DataFrame) -> bool:
    """Whether answers are the same; sums and means of floats may differ in their last digits."""
    return compare_rows(ours, theirs, exact=set(ours.columns) - _INEXACT).equal
