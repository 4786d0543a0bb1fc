"""`subsume`: the Subsumption paper's groups of windows, their state, and what they cost."""

import time
from collections.abc import Iterator, Sequence
from random import Random

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.harness.report import Claim, Experiment, Figure, Lines
from benchmarks.papers.generators import subsumption_gen
from muntin.aggregates.aggregate import sum_
from muntin.aggregates.representations import INTEGER
from muntin.measure.progress import Steps
from muntin.model.plan import Plan
from muntin.model.query import Query
from muntin.model.time import SECOND
from muntin.model.trees import PeriodicTree
from muntin.model.windows import Slicing, Window
from muntin.model.workload import Workload, workload
from muntin.optimizer.optimize import optimize
from muntin.optimizer.subsumption import Stairs, subsume_windows
from muntin.runtime.periodic.tree import TreeRuntime
from muntin.runtime.storage.layout import Layout
from muntin.runtime.storage.table import component_storage

# The paper's classes, by their longest slide in seconds.
CLASSES = {"smooth": 10, "medium": 20, "abrupt": 30}
COUNTS = (1_000, 2_000, 5_000, 10_000)
ALTERNATIVES = ("unshared", "subsume", "weave", "triweave", "coverage", "shared")
RATES = (1_000, 10_000, 100_000)
# Strategies that are also timed, by the runtime in this process.
TIMED = ("subsume", "shared", "unshared")
_START = "start"


def draw_class(kind: str, count: int) -> list[Window]:
    """Draws the window specifications of a class."""
    return subsumption_gen(Random(count), count=count, longest_slide=CLASSES[kind])


def groups_and_state(counts: Sequence[int] = COUNTS) -> Experiment:
    """Figures 10 and 11: groups, the time to find them, and the stream held in window states."""
    groups: Lines = {kind: [] for kind in CLASSES}
    held: Lines = {"each alone": [], "subsumed": []}
    slowest = 0.0
    for kind in CLASSES:
        for count in counts:
            windows = draw_class(kind, count)
            before = time.thread_time()
            stairs = subsume_windows(windows)
            slowest = max(slowest, time.thread_time() - before)
            groups[kind].append((count, len(stairs)))
            if kind == "medium":
                held["each alone"].append((count, sum(window.size for window in windows) / SECOND))
                held["subsumed"].append((count, sum(map(_seconds_held, stairs))))
    saved = [alone / shared for (_, alone), (_, shared) in zip(*held.values(), strict=True)]
    sizes = [int(size) for line in groups.values() for _, size in line]
    return Experiment(
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


def _seconds_held(stairs: Stairs) -> float:
    """Returns the seconds of stream in a group: its widest window, and a slide for each stair."""
    waiting = sum(step[0].slide for step in stairs.steps)
    return (stairs.windows[-1].size + waiting) / SECOND


def make_workload(kind: str, count: int, rate: float) -> Workload:
    """Returns a SUM over each window; equal specifications are one query."""
    distinct = enumerate(dict.fromkeys(draw_class(kind, count)))
    queries = [
        Query(name=f"q{number}", window=window, aggregates={"total": sum_("temp")}, time="ts")
        for number, window in distinct
    ]
    return workload(queries, rate=rate, keys=1)


def compare_costs(count: int, rate: float = 1_000.0) -> Experiment:
    """Costs subsumption and the other ways to share by our model."""
    lines: Lines = {strategy: [] for strategy in ALTERNATIVES}
    claims = []
    for kind, longest in CLASSES.items():
        work = make_workload(kind, count, rate)
        costs = {strategy: optimize(work, strategy).cost for strategy in ALTERNATIVES}
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
    return Experiment(figures=[figure], claims=claims)


def time_strategies(
    kinds: Sequence[str], *, count: int, rates: Sequence[int], seconds: int
) -> Experiment:
    """Figure 12: CPU per second of stream for each class and strategy, and equality of answers."""
    lines: Lines = {}
    equal = True
    with Steps(len(kinds) * len(rates) * len(TIMED)) as bar:
        for kind in kinds:
            for rate in rates:
                work = make_workload(kind, count, rate)
                values = np.random.default_rng(rate).integers(0, 1_000, rate * seconds)
                sums = set()
                for strategy in TIMED:
                    with bar.step(f"{kind}, {rate:,} per second, {strategy}"):
                        plan = optimize(work, strategy)
                        spent, answers = _answer(plan, values, rate, seconds)
                    sums.add(answers)
                    line = lines.setdefault(f"{kind}, {strategy}", [])
                    line.append((rate, spent / seconds))
                equal &= len(sums) == 1
    figure = Figure(
        name="subsume_12",
        title=f"Subsumption, figure 12: {count:,} specifications, SUM",
        across="events per second",
        up="CPU seconds per second of stream",
        lines=lines,
    )
    claims = [
        Claim(
            what=f"CPU per second of stream, {name}",
            paper="mostly below 2 s (subsumed)",
            found=f"{1000 * max(spent for _, spent in line):.2f} ms at most",
        )
        for name, line in lines.items()
    ]
    claims.append(
        Claim(what="answers of all ways to share", paper="", found="equal" if equal else "DIFFER")
    )
    return Experiment(figures=[figure], claims=claims)


def _answer(
    plan: Plan, values: NDArray[np.int64], rate: int, seconds: int
) -> tuple[float, tuple[int, int]]:
    """Returns the CPU seconds of the better of two runs, and the count and sum of the answers."""
    spent = []
    for _ in range(2):
        before = time.thread_time()
        sums = [
            column for tree in plan.periodic_trees for column in _sums(tree, values, rate, seconds)
        ]
        spent.append(time.thread_time() - before)
    return min(spent), (
        sum(len(column) for column in sums),
        sum(int(column.sum()) for column in sums),
    )


def _sums(
    tree: PeriodicTree, values: NDArray[np.int64], rate: int, seconds: int
) -> Iterator[NDArray[np.int64]]:
    """Cuts events into the slices of a tree, and yields the answers of its nodes."""
    (component,) = tree.aggregates[0].components
    column = component_storage(component, value_type=INTEGER, name="total", ansi=False)
    layout = Layout(key_columns=(), start=_START, storages=(column,))
    starts = _edges(tree.slicing, seconds)
    cut = np.add.reduceat(values, starts * rate // SECOND)
    batch = pa.RecordBatch.from_pydict({_START: starts, "total": cut})
    for answers in TreeRuntime(tree, layout).run([batch]):
        yield answers.column("i0").to_numpy()


def _edges(slicing: Slicing, seconds: int) -> NDArray[np.int64]:
    """Returns every edge of a stream that begins at zero."""
    until = seconds * SECOND
    edges = [
        np.arange(progression.phase, until, progression.period, dtype=np.int64)
        for progression in slicing.edges
    ]
    return np.unique(np.concatenate([[0], *edges]))


def run(
    *, counts: Sequence[int] = COUNTS, rates: Sequence[int] = RATES, seconds: int = 120
) -> Experiment:
    """Runs all parts."""
    parts = (
        groups_and_state(counts),
        compare_costs(counts[0]),
        compare_costs(counts[-1]),
        time_strategies(list(CLASSES), count=counts[-1], rates=rates, seconds=seconds),
    )
    whole = Experiment(title="Subsumption")
    for part in parts:
        whole.add(part)
    return whole
