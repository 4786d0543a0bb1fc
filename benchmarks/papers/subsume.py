"""`bench subsume`: the Subsumption paper's groups of windows, their state, and what they cost."""

import time
from collections.abc import Sequence
from random import Random

from benchmarks.harness.experiment import Claim, Experiment, Figure
from benchmarks.papers.generators import subsumption_gen
from benchmarks.papers.subsume_time import timed
from muntin.model.aggregates.aggregate import sum_
from muntin.model.query import Query
from muntin.model.time import SECOND
from muntin.model.windows.window import Window
from muntin.model.workload import Workload, workload
from muntin.optimizer.strategies import optimize
from muntin.optimizer.subsumption import Stairs, subsume_windows

# The paper's classes, by their longest slide in seconds.
CLASSES = {"smooth": 10, "medium": 20, "abrupt": 30}
COUNTS = (1_000, 2_000, 5_000, 10_000)
ALTERNATIVES = ("unshared", "subsume", "weave", "triweave", "coverage", "shared")
RATES = (1_000, 10_000, 100_000)
Lines = dict[str, list[tuple[float, float]]]


def drawn(kind: str, count: int) -> list[Window]:
    """Draws the window specifications of a class."""
    return subsumption_gen(Random(count), count=count, longest_slide=CLASSES[kind])


def groups_and_state(counts: Sequence[int] = COUNTS) -> Experiment:
    """Figures 10 and 11: groups, the time to find them, and the stream held in window states."""
    groups: Lines = {kind: [] for kind in CLASSES}
    held: Lines = {"each alone": [], "subsumed": []}
    slowest = 0.0
    for kind in CLASSES:
        for count in counts:
            windows = drawn(kind, count)
            before = time.thread_time()
            stairs = subsume_windows(windows)
            slowest = max(slowest, time.thread_time() - before)
            groups[kind].append((count, len(stairs)))
            if kind == "medium":
                held["each alone"].append((count, sum(window.size for window in windows) / SECOND))
                held["subsumed"].append((count, sum(map(_held, stairs))))
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
    """Returns the seconds of stream in a group: its widest window, and a slide for each stair."""
    waiting = sum(step[0].slide for step in stairs.steps)
    return (stairs.windows[-1].size + waiting) / SECOND


def asked(kind: str, count: int, rate: float) -> Workload:
    """Returns a SUM over each window; equal specifications are one query."""
    distinct = enumerate(dict.fromkeys(drawn(kind, count)))
    queries = [
        Query(name=f"q{number}", window=window, aggregates={"total": sum_("temp")}, time="ts")
        for number, window in distinct
    ]
    return workload(queries, rate=rate, keys=1)


def beside_others(count: int, rate: float = 1_000.0) -> Experiment:
    """Costs subsumption and the other ways to share by our model."""
    lines: Lines = {strategy: [] for strategy in ALTERNATIVES}
    claims = []
    for kind, longest in CLASSES.items():
        wanted = asked(kind, count, rate)
        costs = {strategy: optimize(wanted, strategy).cost for strategy in ALTERNATIVES}
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


def run(
    *, counts: Sequence[int] = COUNTS, rates: Sequence[int] = RATES, seconds: int = 120
) -> Experiment:
    """Runs all parts."""
    parts = (
        groups_and_state(counts),
        beside_others(counts[0]),
        beside_others(counts[-1]),
        timed(asked, list(CLASSES), count=counts[-1], rates=rates, seconds=seconds),
    )
    return Experiment(
        title="Subsumption",
        figures=[figure for part in parts for figure in part.figures],
        claims=[claim for part in parts for claim in part.claims],
    )
