"""`factor-plans`: Factor Windows' window sets by the paper's cost model. Spark is not started."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import mean

from benchmarks.harness.clocks import cpu_seconds
from benchmarks.harness.report import Experiment, Lines
from benchmarks.papers.factor_settings import SETTINGS
from muntin.measure.progress import Steps
from muntin.model.prices import WINDOW_READS
from muntin.model.windows import Window
from muntin.optimizer.cost_models import MODELS, WindowReads, common_period
from muntin.optimizer.coverage import min_cost_forest
from muntin.optimizer.exact import MOST_IN_GRAPH, cheapest_forest
from muntin.optimizer.factor_windows import with_factor_windows
from muntin.optimizer.intermediate import tumbling_closure

# The stream, of one event in a unit of time.
_STREAM = Window(size=1, slide=1)
_TABLES = {5: "I", 10: "I", 15: "III", 20: "III"}


@dataclass(frozen=True, kw_only=True)
class PlannedSet:
    """What the plans of one window set cost."""

    # The cost of the original plan by that without factor windows, and by that with them.
    coverage: float
    factor: float
    # The number of factor windows, and the time that it took to plan them.
    added: int
    spent_ms: float
    # The cost of algorithm 3 by the optimum; None if that was not computed.
    by_optimum: float | None


def run(
    *, sets: int = 10, settings: Sequence[str] = tuple(SETTINGS), solved: Sequence[int] = (10, 20)
) -> Experiment:
    """Plans `sets` window sets of each setting; those of `solved` numbers of windows optimally."""
    whole = Experiment(title="Factor windows, by the cost model")
    boosts, added, spent = Lines(), Lines(), Lines()
    with Steps(len(settings)) as bar:
        for name in settings:
            setting = SETTINGS[name]
            with bar.step(name):
                found = [
                    plan_set(
                        setting.windows(number, unit=1), setting.tumbling, setting.count in solved
                    )
                    for number in range(sets)
                ]
            line = name.replace(f"-{setting.count}-", " ")
            for lines, label, values in (
                (boosts, f"{line}, without", [each.coverage for each in found]),
                (boosts, f"{line}, with", [each.factor for each in found]),
                (added, line, [each.added for each in found]),
                (spent, line, [each.spent_ms for each in found]),
            ):
                lines.setdefault(label, []).append((setting.count, mean(values)))
            _claim(whole, name, found)
    for name, up, lines in (
        ("boost", "cost of the original plan / cost", boosts),
        ("windows", "factor windows", added),
        ("time", "CPU ms to plan (figure 12)", spent),
    ):
        title = f"Factor Windows: averages of {sets} sets of RandomGen and SequentialGen"
        axes = {"across": "windows in a set", "up": up}
        whole.figure(f"factor_plans_{name}", title, lines, **axes, log_x=False, log_y=False)
    return whole


def plan_set(windows: Sequence[Window], tumbling: bool, solve: bool) -> PlannedSet:
    """Plans one window set. As in the paper, tumbling windows read windows that partition them,
    and hopping ones those that cover them."""
    reads = WindowReads(eta=1, period=common_period(windows), model=MODELS[WINDOW_READS])

    def harmless(window: Window) -> bool:
        return not tumbling

    plan = partial(with_factor_windows, windows, reads, harmless, root=_STREAM)
    factored = plan()
    forests = (dict.fromkeys(windows), min_cost_forest(windows, reads, harmless), factored)
    original, coverage, cost = (reads.total(forest, harmless) for forest in forests)
    by_optimum = None
    if solve:
        offered = {*tumbling_closure(windows, most=MOST_IN_GRAPH + 1), *factored}
        if len({*windows, *offered}) <= MOST_IN_GRAPH:
            best = cheapest_forest(windows, offered, reads, harmless)
            by_optimum = cost / reads.total(best, harmless)
    return PlannedSet(
        coverage=original / coverage,
        factor=original / cost,
        added=len(factored) - len(windows),
        spent_ms=1000 * cpu_seconds(plan, repeats=3),
        by_optimum=by_optimum,
    )


def _claim(whole: Experiment, name: str, found: Sequence[PlannedSet]) -> None:
    """Appends the boosts beside the paper's throughput, and the distance from the optimum."""
    setting = SETTINGS[name]
    stated = (setting.coverage, setting.factor)
    here = ([each.coverage for each in found], [each.factor for each in found])
    whole.claim(
        f"boost, mean and most, {name}: without, with factor windows",
        ", ".join(f"{boost.mean:g} {boost.most:g}" for boost in stated)
        + f" (throughput, table {_TABLES[setting.count]})",
        ", ".join(f"{mean(boosts):.2f} {max(boosts):.2f}" for boosts in here)
        + f"; {mean(each.added for each in found):.1f} factor windows",
    )
    ratios = [each.by_optimum for each in found if each.by_optimum is not None]
    if ratios:
        whole.claim(
            f"cost by algorithm 3 / optimum, {name}",
            "the optimum is a Steiner tree; not measured",
            f"{mean(ratios):.3f} on average, {max(ratios):.3f} at most, "
            f"{sum(ratio < 1 + 1e-9 for ratio in ratios)} of {len(ratios)} sets optimal",
        )
