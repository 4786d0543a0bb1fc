"""`factor`: the window sets of Factor Windows on Spark, plain queries beside plans."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql.functions import expr

from benchmarks.papers.factor_settings import SETTINGS
from benchmarks.spark.factor_report import STRATEGIES, FactorReport, Run, Side
from benchmarks.spark.sharing import plain_spark
from muntin.api.batch import plan, run
from muntin.measure.events import compute, readings, store
from muntin.measure.processes import Cost, cheapest, measure, settle
from muntin.measure.progress import Steps
from muntin.model.plan import Plan
from muntin.model.trees import PeriodicTree
from muntin.spark.binding.grouping_sql import slice_start

# One event in each unit of time: η = 1, as in the paper.
RATE = 1.0
# Events of warm-up runs, enough for Spark to compile what the timed runs use.
_FEW = 20_000


def run_factor(
    session: SparkSession, settings: Sequence[str], *, events: int, sets: int, repeats: int = 2
) -> Iterator[FactorReport]:
    """Runs `sets` window sets of each setting, plain Spark and plans; the best of `repeats`.

    Yields the report so far after each window set, because the whole takes long.
    """
    steps = 1 + len(settings) * sets
    with TemporaryDirectory(prefix="muntin-bench-") as folder, Steps(steps) as bar:
        with bar.step(f"making {events:,} events"):
            data = _events(session, events, Path(folder, "events"))
            few = _events(session, min(_FEW, events), Path(folder, "few"))
            scan = _least_cost(lambda: data.selectExpr("min(ts)", "min(temp)"), repeats)
        report = FactorReport(runs=[], events=events, repeats=repeats)
        for name in settings:
            for number in range(sets):
                with bar.step(f"{name}, window set {number + 1} of {sets}"):
                    report.runs.append(_run(name, number, data, few, scan.cpu_s, repeats))
                yield report


def _events(session: SparkSession, events: int, folder: Path) -> DataFrame:
    """Makes one event a second of one device, in order, as in the paper's synthetic stream."""
    return store(readings(session, events, 1, RATE, disorder=0), folder)


def _run(
    setting: str, number: int, data: DataFrame, few: DataFrame, scan_s: float, repeats: int
) -> Run:
    queries = SETTINGS[setting].queries(number)
    plans = {name: plan(queries, strategy=name, rate=RATE, keys=1) for name in STRATEGIES}
    ways: dict[str, Callable[[DataFrame], DataFrame]] = {"plain": partial(plain_spark, queries)}
    ways |= {name: partial(_answer, shared) for name, shared in plans.items()}
    sides: dict[str, Side] = {}
    for name, way in ways.items():
        _compute_hash(way(few))
        sides[name] = _time(partial(way, data), repeats)
    slices = [
        _least_cost(partial(_slices, tree, data), repeats).cpu_s
        for tree in plans["auto"].periodic_trees
    ]
    return Run(
        setting=setting,
        number=number,
        windows=[str(query.window) for query in queries],
        sides=sides,
        scan_cpu_s=scan_s,
        slices_cpu_s=sum(slices),
        predicted={name: shared.plain_cost / shared.cost for name, shared in plans.items()},
    )


def _answer(shared: Plan, data: DataFrame) -> DataFrame:
    return run(shared, data).together()


def _compute_hash(frame: DataFrame) -> tuple[int, int]:
    """Computes all answers, and returns their number and the sum of their hashes.

    The sum does not depend on the order. MIN is exact, so equal answers have equal sums.
    """
    seen = Observation()
    hashed = "pmod(xxhash64(query, device, window.start, window.end, low), 4294967296L)"
    compute(frame.observe(seen, expr("count(*) AS rows"), expr(f"sum({hashed}) AS hashes")))
    return seen.get["rows"], seen.get["hashes"]


def _time(build: Callable[[], DataFrame], repeats: int) -> Side:
    """Returns the least disturbed of some runs, each of which also hashes its answers."""
    answers = set()
    best = _least_cost(build, repeats, lambda frame: answers.add(_compute_hash(frame)))
    # If runs of one contender differ, its answers equal no other's.
    ((rows, hashes),) = answers if len(answers) == 1 else {(-1, -1)}
    return Side(cpu_s=best.cpu_s, wall_s=best.wall_s, rows=rows, hashes=hashes)


def _slices(tree: PeriodicTree, data: DataFrame) -> DataFrame:
    """Returns the slices of a tree, without combining them further."""
    start = expr(slice_start(tree.slicing, "unix_micros(ts)")).alias("start")
    return data.groupBy("device", start).agg(expr("min(temp)"))


def _least_cost(
    build: Callable[[], DataFrame], repeats: int, work: Callable[[DataFrame], None] = compute
) -> Cost:
    """Returns the cost of the least disturbed run; each starts when the processes are idle."""
    costs = []
    for _ in range(repeats):
        settle()
        costs.append(measure(lambda: work(build())))
    return cheapest(costs)
