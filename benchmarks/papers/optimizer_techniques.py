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
from muntin.measure.progress import Steps
from muntin.optimizer.triweave import triweave_cost, triweave_groups
from muntin.optimizer.weave_share.groups import Group, GroupCost, same_edges
from muntin.optimizer.weave_share.weave_share import weave_groups

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

    def draw(self, value: float, seed: int) -> list[Group]:
        """Draws one workload: the groups of its distinct windows."""
        varied: dict[str, Any] = {} if self.name == "rate" else {self.name: value}
        return same_edges(dict.fromkeys(incremental_gen(Random(seed), **varied)))


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


def _weave(groups: list[Group], rate: float, technique: str) -> tuple[float, int]:
    cost = GroupCost(overhead=rate, technique=technique)
    trees = weave_groups(groups, cost)
    return cost.plan(trees), len(trees)


def _triweave(groups: list[Group], rate: float, technique: str) -> tuple[float, int]:
    trees = triweave_groups(groups, technique=technique)
    return triweave_cost(trees, rate=rate, technique=technique), len(trees)


OPTIMIZERS: dict[str, Callable[[list[Group], float, str], tuple[float, int]]] = {
    "Weave Share": _weave,
    "TriWeave": _triweave,
}


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
        rate = value if sweep.name == "rate" else 1.0
        for technique, name in TECHNIQUES.items():
            plans = [OPTIMIZERS[optimizer](groups, rate, technique) for groups in drawn]
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
