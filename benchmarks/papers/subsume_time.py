"""Figure 12 of Subsumption: the time to answer all windows with the runtime in this process."""

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.harness.experiment import Claim, Experiment, Figure
from muntin.measure.progress import Steps
from muntin.model.aggregates.representations import INTEGER
from muntin.model.plan import Plan
from muntin.model.slicing import Slicing
from muntin.model.time import SECOND
from muntin.model.trees import PeriodicTree
from muntin.model.workload import Workload
from muntin.optimizer.strategies import optimize
from muntin.runtime.periodic.tree import TreeRuntime
from muntin.runtime.storage.layout import Layout
from muntin.runtime.storage.table import component_storage

TIMED = ("subsume", "shared", "unshared")
Asked = Callable[[str, int, float], Workload]
_START = "start"


def timed(
    asked: Asked, kinds: Sequence[str], *, count: int, rates: Sequence[int], seconds: int
) -> Experiment:
    """Measures CPU per second of stream for each class and strategy, and compares the answers."""
    lines: dict[str, list[tuple[float, float]]] = {}
    equal = True
    with Steps(len(kinds) * len(rates) * len(TIMED)) as bar:
        for kind in kinds:
            for rate in rates:
                workload = asked(kind, count, rate)
                values = np.random.default_rng(rate).integers(0, 1_000, rate * seconds)
                sums = set()
                for strategy in TIMED:
                    with bar.step(f"{kind}, {rate:,} per second, {strategy}"):
                        plan = optimize(workload, strategy)
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
    return Experiment(title="", figures=[figure], claims=claims)


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
