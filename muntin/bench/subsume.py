"""`bench subsume`: the Subsumption paper's groups of windows, their state, and what they cost."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession

from muntin.bench.events import compute, readings, stored
from muntin.bench.experiment import Claim, Experiment, Figure
from muntin.bench.measure import cheapest, measure
from muntin.bench.progress import Steps
from muntin.model.aggregate import sum_
from muntin.model.query import Query, Workload, workload
from muntin.model.time import SECOND
from muntin.model.window import Window
from muntin.share.generators import subsumption_gen
from muntin.share.optimizer import optimize
from muntin.share.subsume import Stairs, subsume_windows
from muntin.spark.batch import run as run_plan

# The paper's classes, by their longest slide in seconds.
CLASSES = {"smooth": 10, "medium": 20, "abrupt": 30}
COUNTS = (1_000, 2_000, 5_000, 10_000)
ALTERNATIVES = ("unshared", "subsume", "weave", "triweave", "coverage", "shared")
TIMED = ("subsume", "shared")
Lines = dict[str, list[tuple[float, float]]]


def drawn(kind: str, count: int) -> list[Window]:
    """The window specifications of a class."""
    return subsumption_gen(Random(count), count=count, longest_slide=CLASSES[kind])


def groups_and_state(counts: Sequence[int] = COUNTS) -> Experiment:
    """Figures 10 and 11: groups, time to find them, and stream held in window states."""
    groups: Lines = {kind: [] for kind in CLASSES}
    held: Lines = {"each alone": [], "subsumed": []}
    slowest = 0.0
    for kind in CLASSES:
        for count in counts:
            windows = drawn(kind, count)
            before = time.thread_time()
            found = subsume_windows(windows)
            slowest = max(slowest, time.thread_time() - before)
            groups[kind].append((count, len(found)))
            if kind == "medium":
                held["each alone"].append((count, sum(one.size for one in windows) / SECOND))
                held["subsumed"].append((count, sum(map(_held, found))))
    saved = [alone / shared for (_, alone), (_, shared) in zip(*held.values(), strict=True)]
    sizes = [int(size) for line in groups.values() for _, size in line]
    return Experiment(
        title="",
        figures=[
            Figure(
                name="subsume_10",
                title="Subsumption, figure 10: groups",
                across="window specifications",
                up="groups",
                lines=groups,
                log_y=False,
            ),
            Figure(
                name="subsume_11",
                title="Subsumption, figure 11: state of windows, medium class",
                across="window specifications",
                up="seconds of stream held",
                lines=held,
            ),
        ],
        claims=[
            Claim(what="groups", paper="a handful", found=f"{min(sizes)} to {max(sizes)}"),
            Claim(
                what="time to find the groups",
                paper="negligible",
                found=f"{1000 * slowest:.0f} ms at most",
            ),
            Claim(
                what="state held alone / subsumed",
                paper="orders of magnitude, more with more windows",
                found=", ".join(f"{ratio:,.0f}x" for ratio in saved),
            ),
        ],
    )


def _held(stairs: Stairs) -> float:
    """Seconds of stream in a group: its widest window, and what waits at each stair to move up."""
    waiting = sum(step[0].slide for step in stairs.steps)
    return (stairs.windows[-1].size + waiting) / SECOND


def _workload(windows: Sequence[Window], rate: float) -> Workload:
    """SUM over each window; equal specifications are one query here, as they are one node."""
    distinct = enumerate(dict.fromkeys(windows))
    queries = [
        Query(name=f"q{number}", window=window, aggregates={"total": sum_("temp")}, time="ts")
        for number, window in distinct
    ]
    return workload(queries, rate=rate, keys=1)


def beside_others(count: int, rate: float = 1_000.0) -> Experiment:
    """What the cost model says of subsumption and of the other ways to share."""
    lines: Lines = {strategy: [] for strategy in ALTERNATIVES}
    claims = []
    for kind, longest in CLASSES.items():
        asked = _workload(drawn(kind, count), rate)
        costs = {strategy: optimize(asked, strategy).cost for strategy in ALTERNATIVES}
        for strategy, cost in costs.items():
            lines[strategy].append((longest, cost))
        claims.append(
            Claim(
                what=f"cost / subsumption's by our model, {count:,} {kind} specifications",
                paper="",
                found=", ".join(
                    f"{name} {cost / costs['subsume']:.2g}"
                    for name, cost in costs.items()
                    if name != "subsume"
                ),
            )
        )
    figure = Figure(
        name=f"subsume_cost_{count}",
        title=f"Ways to share {count:,} specifications, {rate:,g} events per second",
        across="longest slide in seconds",
        up="cost by our model",
        lines=lines,
        log_x=False,
    )
    return Experiment(title="", figures=[figure], claims=claims)


def timed(
    session: SparkSession,
    *,
    count: int,
    rates: Sequence[int],
    seconds: int,
    repeats: int = 2,
    kinds: Sequence[str] = tuple(CLASSES),
) -> Experiment:
    """Figure 12: CPU per second of stream, all specifications answered, on Spark."""
    lines: Lines = {}
    steps = Steps(len(rates) * len(kinds) * len(TIMED))
    with TemporaryDirectory(prefix="muntin-bench-") as folder, steps as bar:
        for rate in rates:
            data = stored(
                readings(session, rate * seconds, 1, rate, disorder=0), Path(folder, str(rate))
            )
            for kind in kinds:
                asked = _workload(drawn(kind, count), rate)
                for strategy in TIMED:
                    with bar.step(f"{kind}, {strategy}, {rate:,} per second"):
                        work = _answering(asked, strategy, data)
                        work()
                        best = cheapest(measure(work) for _ in range(repeats))
                    line = lines.setdefault(f"{kind}, {strategy}", [])
                    line.append((rate, best.cpu_s / seconds))
    worst = {name: max(spent for _, spent in line) for name, line in lines.items()}
    figure = Figure(
        name="subsume_12",
        title=f"Subsumption, figure 12: {count:,} specifications",
        across="events per second",
        up="CPU seconds per second of stream",
        lines=lines,
    )
    claims = [
        Claim(
            what=f"time per second of stream, {name}, up to {max(rates):,} per second",
            paper="mostly below 2 s, up to 100,000 per second",
            found=f"{spent:.3f} s of CPU at most",
        )
        for name, spent in worst.items()
    ]
    return Experiment(title="", figures=[figure], claims=claims)


def _answering(asked: Workload, strategy: str, data: DataFrame) -> Callable[[], None]:
    shared = optimize(asked, strategy)
    return lambda: compute(run_plan(shared, data).together())


def run(
    session: SparkSession,
    *,
    counts: Sequence[int] = COUNTS,
    rates: Sequence[int] = (1_000, 10_000, 100_000),
    seconds: int = 120,
    repeats: int = 2,
) -> Experiment:
    """All of it; equal specifications are computed once."""
    parts = (
        groups_and_state(counts),
        beside_others(counts[0]),
        beside_others(counts[-1]),
        timed(session, count=counts[-1], rates=rates, seconds=seconds, repeats=repeats),
    )
    return Experiment(
        title="Subsumption",
        figures=[figure for part in parts for figure in part.figures],
        claims=[claim for part in parts for claim in part.claims],
    )
