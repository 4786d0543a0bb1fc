"""`techniques-in-optimizers`: Incremental MQO's experiments 1 to 5, by estimated cost.

Weave Share and TriWeave group the same workloads with each technique's Ω (equations 3 to 7).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from statistics import mean
from typing import Any

from benchmarks.harness.report import Experiment, Figure, Lines
from benchmarks.papers.generators import incremental_gen
from muntin.aggregates.aggregate import count
from muntin.measure.progress import Steps
from muntin.model.query import Query
from muntin.model.workload import PlanOptions, Workload, workload
from muntin.optimizer.triweave import triweave_cost, triweave_groups
from muntin.optimizer.weave_share.groups import Group, GroupCost, same_edges
from muntin.optimizer.weave_share.weave_share import cost_of_groups, weave_groups

# The paper's names, by ours.
TECHNIQUES = {
    "panes": "panes",
    "flat_fat": "FlatFAT",
    "flat_fit": "FlatFIT",
    "slick_deque": "SlickDeque (non-inv)",
    "subtract": "SlickDeque (inv)",
}
BEST = (TECHNIQUES["slick_deque"], TECHNIQUES["subtract"])
PAPER = "Incremental MQO, "
_TENS = tuple(10**power for power in range(7))
# Trees in a plan, averaged over all runs; the paper has one number for SlickDeque.
_PAPER_TREES = {"panes": "16.0", "flat_fat": "15.7", "flat_fit": "10.3"}
# Trees in the plans of an optimizer with a technique.
Trees = dict[tuple[str, str], list[int]]


Grouper = Callable[[Sequence[Group], GroupCost], list[Group]]
Pricer = Callable[[Sequence[Group], GroupCost], float]


def draw_workload(seed: int, *, rate: float = 1.0, **varied: Any) -> Workload:
    """Draws the distinct windows of one workload; the defaults are the middle of every figure."""
    windows = dict.fromkeys(incremental_gen(Random(seed), **varied))
    queries = (
        Query(name=f"q{number}", window=window, aggregates={"n": count()}, time="ts")
        for number, window in enumerate(windows)
    )
    return Workload(queries=tuple(queries), rate=rate)


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """One experiment: the figure, what is varied, and the paper's greatest gain of SlickDeque."""

    figure: int
    across: str
    # The argument of `incremental_gen` that is varied, or "rate". The others have their defaults,
    # the middle of table 4.
    name: str
    values: Sequence[float]
    paper: str

    def draw(self, value: float, seed: int) -> Workload:
        """Draws one workload of distinct windows and one key."""
        if self.name == "rate":
            return draw_workload(seed, rate=value)
        return draw_workload(seed, **{self.name: value})


SWEEPS = tuple(
    Sweep(figure=figure, across=across, name=name, values=values, paper=f"panes up to {paper}")
    for figure, across, name, values, paper in (
        (17, "queries", "count", _TENS[0:5], "5,000x, FlatFIT up to 3x"),
        (18, "longest slide", "longest_slide", _TENS[1:6], "4,300x"),
        (19, "greatest overlap", "most_overlap", _TENS[2:7], "270,000x"),
        (20, "events per second", "rate", (0.01, 0.1, 1, 10, 100), "3,000x"),
        (21, "skew of slides", "skew", (-1.0, -0.5, 0.0, 0.5, 1.0), "4,200x"),
    )
)


# How each optimizer groups windows, and what its groups cost.
OPTIMIZERS: dict[str, tuple[Grouper, Pricer]] = {
    "Weave Share": (weave_groups, lambda groups, cost: cost.plan(groups)),
    "TriWeave": (triweave_groups, triweave_cost),
}


def plan_groups(work: Workload, optimizer: str, technique: str) -> tuple[float, int]:
    """Returns the cost and the number of the trees of an optimizer, for one technique's Ω."""
    group, price = OPTIMIZERS[optimizer]
    forced = workload(work, options=PlanOptions(technique=technique))
    cost = cost_of_groups(work.periodic_queries, forced)
    trees = group(same_edges(query.periodic_window for query in work.periodic_queries), cost)
    return price(trees, cost), len(trees)


def run(*, repeats: int = 10, sweeps: Sequence[Sweep] = SWEEPS) -> Experiment:
    """Computes every figure for both optimizers; each point averages `repeats` workloads."""
    whole = Experiment(title="Techniques in optimizers (Incremental MQO)")
    trees: Trees = {}
    with Steps(len(sweeps) * len(OPTIMIZERS)) as bar:
        for sweep in sweeps:
            for optimizer in OPTIMIZERS:
                with bar.step(f"figure {sweep.figure}, {optimizer}"):
                    lines = _lines(sweep, optimizer, repeats, trees)
                name = f"techniques_{sweep.figure}_{optimizer.replace(' ', '_').lower()}"
                title = f"{PAPER}figure {sweep.figure}: {optimizer}"
                axes = {"across": sweep.across, "up": "operations per second"}
                whole.figure(name, title, lines, **axes, log_x=sweep.name != "skew")
                what = f"others / the better SlickDeque, figure {sweep.figure}, {optimizer}"
                whole.claim(what, sweep.paper, _others_by_best(lines))
    for figure in whole.figures[: len(OPTIMIZERS)]:
        _claim_middle(whole, figure)
    for technique, name in TECHNIQUES.items():
        found = ", ".join(f"{each} {mean(trees[each, technique]):.1f}" for each in OPTIMIZERS)
        whole.claim(f"trees in a plan, {name}", _PAPER_TREES.get(technique, "4.8"), found)
    return whole


def _lines(sweep: Sweep, optimizer: str, repeats: int, trees: Trees) -> Lines:
    lines: Lines = {name: [] for name in TECHNIQUES.values()}
    for value in sweep.values:
        drawn = [sweep.draw(value, seed) for seed in range(repeats)]
        for technique, name in TECHNIQUES.items():
            plans = [plan_groups(each, optimizer, technique) for each in drawn]
            lines[name].append((value, mean(cost for cost, _ in plans)))
            trees.setdefault((optimizer, technique), []).extend(count for _, count in plans)
    return lines


def _others_by_best(lines: Lines) -> str:
    """Returns the most that SlickDeque saves against each other technique, over the points."""
    best = [dict(lines[name]) for name in BEST]
    ratios = {
        name: max(cost / min(line[across] for line in best) for across, cost in points)
        for name, points in lines.items()
        if name not in BEST
    }
    return "at most " + ", ".join(f"{name} {ratio:,.1f}x" for name, ratio in ratios.items())


def _claim_middle(whole: Experiment, figure: Figure) -> None:
    """Appends the claim about a hundred queries, if it is figure 17."""
    if "_17_" in figure.name:
        panes = figure.at("panes", 100)
        found = ", ".join(f"{name} {panes / figure.at(name, 100):,.0f}x" for name in BEST)
        what = f"panes / SlickDeque in the middle, {figure.title.removeprefix(PAPER)}"
        whole.claim(what, "three orders of magnitude", found)
