"""`subsume`: the Subsumption paper's groups of windows, their state, and what they cost."""

import time
from collections.abc import Iterator, Sequence
from random import Random

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.harness.clocks import cpu_seconds
from benchmarks.harness.report import Experiment, Lines
from benchmarks.papers.generators import subsumption_gen
from muntin.aggregates.aggregate import sum_
from muntin.aggregates.representations import INTEGER
from muntin.measure.progress import Steps
from muntin.model.plan import Plan
from muntin.model.query import Query
from muntin.model.time import SECOND
from muntin.model.trees import PeriodicTree
from muntin.model.windows import Window
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


def run(
    *, counts: Sequence[int] = COUNTS, rates: Sequence[int] = RATES, seconds: int = 120
) -> Experiment:
    """Runs all parts."""
    return Experiment(title="Subsumption").add(
        groups_and_state(counts),
        compare_costs(counts[0]),
        compare_costs(counts[-1]),
        time_strategies(list(CLASSES), count=counts[-1], rates=rates, seconds=seconds),
    )


def draw_class(kind: str, count: int) -> list[Window]:
    """Draws the window specifications of a class."""
    return subsumption_gen(Random(count), count=count, longest_slide=CLASSES[kind])


def groups_and_state(counts: Sequence[int] = COUNTS) -> Experiment:
    """Figures 10 and 11: groups, the time to find them, and the stream held in window states."""
    groups: Lines = {kind: [] for kind in CLASSES}
    state: Lines = {"each alone": [], "subsumed": []}
    slowest = 0.0
    for kind in CLASSES:
        for count in counts:
            windows = draw_class(kind, count)
            before = time.thread_time()
            stairs = subsume_windows(windows)
            slowest = max(slowest, time.thread_time() - before)
            groups[kind].append((count, len(stairs)))
            if kind == "medium":
                state["each alone"].append((count, sum(window.size for window in windows) / SECOND))
                state["subsumed"].append((count, sum(map(_seconds_of_state, stairs))))
    saved = [alone / shared for (_, alone), (_, shared) in zip(*state.values(), strict=True)]
    sizes = [int(size) for line in groups.values() for _, size in line]
    part, across = Experiment(), "window specifications"
    title = "Subsumption, figure 10: groups"
    part.figure("subsume_10", title, groups, across=across, up="groups", log_y=False)
    title = "Subsumption, figure 11: state of windows, medium class"
    part.figure("subsume_11", title, state, across=across, up="seconds of stream held")
    part.claim("groups", "a handful", f"{min(sizes)} to {max(sizes)}")
    part.claim("time to find the groups", "negligible", f"{1000 * slowest:.0f} ms at most")
    paper = "orders of magnitude, more with more windows"
    found = ", ".join(f"{ratio:,.0f}x" for ratio in saved)
    part.claim("state held alone / subsumed", paper, found)
    return part


def _seconds_of_state(stairs: Stairs) -> float:
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
    part = Experiment()
    for kind, longest in CLASSES.items():
        work = make_workload(kind, count, rate)
        costs = {strategy: optimize(work, strategy).cost for strategy in ALTERNATIVES}
        for strategy, cost in costs.items():
            lines[strategy].append((longest, cost))
        ours = costs.pop("subsume")
        what = f"cost / subsumption's by our model, {count:,} {kind} specifications"
        part.claim(what, "", ", ".join(f"{name} {cost / ours:.2g}" for name, cost in costs.items()))
    title = f"Ways to share {count:,} specifications, {rate:,g} events per second"
    axes = {"across": "longest slide in seconds", "up": "cost by our model", "log_x": False}
    part.figure(f"subsume_cost_{count}", title, lines, **axes)
    return part


def time_strategies(
    kinds: Sequence[str], *, count: int, rates: Sequence[int], seconds: int
) -> Experiment:
    """Figure 12: CPU per second of stream for each class and strategy, and equality of answers."""
    part, lines, equal = Experiment(), Lines(), True
    with Steps(len(kinds) * len(rates) * len(TIMED)) as bar:
        for kind in kinds:
            for rate in rates:
                work = make_workload(kind, count, rate)
                values = np.random.default_rng(rate).integers(0, 1_000, rate * seconds)
                sums = set()
                for strategy in TIMED:
                    with bar.step(f"{kind}, {rate:,} per second, {strategy}"):
                        spent, answers = _answer(optimize(work, strategy), values, rate, seconds)
                    sums.add(answers)
                    line = lines.setdefault(f"{kind}, {strategy}", [])
                    line.append((rate, spent / seconds))
                equal &= len(sums) == 1
    title = f"Subsumption, figure 12: {count:,} specifications, SUM"
    axes = {"across": "events per second", "up": "CPU seconds per second of stream"}
    part.figure("subsume_12", title, lines, **axes)
    for name, line in lines.items():
        found = f"{1000 * max(spent for _, spent in line):.2f} ms at most"
        part.claim(f"CPU per second of stream, {name}", "mostly below 2 s (subsumed)", found)
    part.claim("answers of all ways to share", "", "equal" if equal else "DIFFER")
    return part


def _answer(
    plan: Plan, values: NDArray[np.int64], rate: int, seconds: int
) -> tuple[float, tuple[int, int]]:
    """Returns the CPU seconds of the better of two runs, and the count and sum of the answers."""
    sums: list[NDArray[np.int64]] = []

    def answer() -> None:
        sums[:] = (s for tree in plan.periodic_trees for s in _sums(tree, values, rate, seconds))

    spent = cpu_seconds(answer, repeats=2)
    return spent, (sum(map(len, sums)), sum(int(column.sum()) for column in sums))


def _sums(
    tree: PeriodicTree, values: NDArray[np.int64], rate: int, seconds: int
) -> Iterator[NDArray[np.int64]]:
    """Cuts events into the slices of a tree, and yields the answers of its nodes."""
    (component,) = tree.aggregates[0].components
    column = component_storage(component, value_type=INTEGER, name="total", ansi=False)
    layout = Layout(key_columns=(), start="start", storages=(column,))
    # Every edge of a stream that starts at zero.
    edges = [np.arange(e.phase, seconds * SECOND, e.period) for e in tree.slicing.edges]
    starts = np.unique(np.concatenate([[0], *edges]))
    cut = np.add.reduceat(values, starts * rate // SECOND)
    batch = pa.RecordBatch.from_pydict({"start": starts, "total": cut})
    for answers in TreeRuntime(tree, layout).run([batch]):
        yield answers.column("i0").to_numpy()
