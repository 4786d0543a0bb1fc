"""`techniques-in-optimizers`: Incremental MQO's experiments 1 to 5, by estimated cost.

Weave Share and TriWeave group the same workloads with each technique's Ω (equations 3 to 7).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from statistics import mean
from typing import Any

from benchmarks.harness.report import Claim, Experiment, Figure, Lines
from benchmarks.papers.generators import incremental_gen
from muntin.measure.progress import Steps
from muntin.model.windows.window import Window
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
BEST = ("slick_deque", "subtract")
PAPER = "Incremental MQO, "


@dataclass(frozen=True, kw_only=True)
class Load:
    """A row of table 4; the defaults are the middle of every figure."""

    queries: int = 100
    longest_slide: int = 1_000
    most_overlap: int = 10_000
    rate: float = 1.0
    skew: float = 0.0

    def drawn(self, seed: int) -> list[Window]:
        """Draws the distinct windows of one workload."""
        windows = incremental_gen(
            Random(seed),
            count=self.queries,
            longest_slide=self.longest_slide,
            most_overlap=self.most_overlap,
            skew=self.skew,
        )
        return list(dict.fromkeys(windows))


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """One experiment: the figure, what is varied, and the paper's greatest gain of SlickDeque."""

    figure: int
    across: str
    loads: dict[float, Load]
    paper: str
    log_x: bool = True


def _vary(name: str, values: Sequence[Any]) -> dict[float, Load]:
    return {value: replace(Load(), **{name: value}) for value in values}


SWEEPS = (
    Sweep(
        figure=17,
        across="queries",
        loads=_vary("queries", (1, 10, 100, 1_000, 10_000)),
        paper="panes up to 5,000x, FlatFIT up to 3x",
    ),
    Sweep(
        figure=18,
        across="longest slide",
        loads=_vary("longest_slide", (10, 100, 1_000, 10_000, 100_000)),
        paper="panes up to 4,300x",
    ),
    Sweep(
        figure=19,
        across="greatest overlap",
        loads=_vary("most_overlap", (100, 1_000, 10_000, 100_000, 1_000_000)),
        paper="panes up to 270,000x",
    ),
    Sweep(
        figure=20,
        across="events per second",
        loads=_vary("rate", (0.01, 0.1, 1, 10, 100)),
        paper="panes up to 3,000x",
    ),
    Sweep(
        figure=21,
        across="skew of slides",
        loads=_vary("skew", (-1.0, -0.5, 0.0, 0.5, 1.0)),
        paper="panes up to 4,200x",
        log_x=False,
    ),
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
    trees: dict[tuple[str, str], list[int]] = {}
    with Steps(len(sweeps) * len(OPTIMIZERS)) as bar:
        for sweep in sweeps:
            for optimizer in OPTIMIZERS:
                with bar.step(f"figure {sweep.figure}, {optimizer}"):
                    lines = _lines(sweep, optimizer, repeats, trees)
                figure = Figure(
                    name=f"techniques_{sweep.figure}_{optimizer.replace(' ', '_').lower()}",
                    title=f"{PAPER}figure {sweep.figure}: {optimizer}",
                    across=sweep.across,
                    up="operations per second",
                    lines=lines,
                    log_x=sweep.log_x,
                )
                whole.figures.append(figure)
                whole.claims.append(_others_by_best(sweep, optimizer, lines))
    whole.claims.extend(_middle(whole.figures))
    whole.claims.extend(_trees(trees))
    return whole


def _lines(
    sweep: Sweep, optimizer: str, repeats: int, trees: dict[tuple[str, str], list[int]]
) -> Lines:
    lines: Lines = {name: [] for name in TECHNIQUES.values()}
    for across, load in sweep.loads.items():
        drawn = [same_edges(load.drawn(seed)) for seed in range(repeats)]
        for technique, name in TECHNIQUES.items():
            plans = [OPTIMIZERS[optimizer](groups, load.rate, technique) for groups in drawn]
            lines[name].append((across, mean(cost for cost, _ in plans)))
            trees.setdefault((optimizer, technique), []).extend(count for _, count in plans)
    return lines


def _others_by_best(sweep: Sweep, optimizer: str, lines: Lines) -> Claim:
    """Returns the most that SlickDeque saves against each other technique, over the points."""
    best = [dict(lines[TECHNIQUES[name]]) for name in BEST]
    worse = {
        name: max(cost / min(line[across] for line in best) for across, cost in lines[name])
        for name in (TECHNIQUES[technique] for technique in TECHNIQUES if technique not in BEST)
    }
    return Claim(
        what=f"others / the better SlickDeque, figure {sweep.figure}, {optimizer}",
        paper=sweep.paper,
        found="at most " + ", ".join(f"{name} {ratio:,.1f}x" for name, ratio in worse.items()),
    )


def _middle(figures: Sequence[Figure]) -> list[Claim]:
    """Returns the claims of figure 17 at a hundred queries."""
    claims = []
    for figure in figures:
        middle = {name: dict(line).get(100) for name, line in figure.lines.items()}
        panes = middle["panes"]
        if not figure.name.startswith("techniques_17") or panes is None:
            continue
        claims.append(
            Claim(
                what=f"panes / SlickDeque in the middle, {figure.title.removeprefix(PAPER)}",
                paper="three orders of magnitude",
                found=", ".join(
                    f"{name} {panes / cost:,.0f}x"
                    for name, cost in middle.items()
                    if cost is not None and name.startswith("SlickDeque")
                ),
            )
        )
    return claims


# Trees in a plan, averaged over all runs; the paper gives one figure for SlickDeque.
_PAPER_TREES = {"panes": "16.0", "flat_fat": "15.7", "flat_fit": "10.3", "slick_deque": "4.8"}


def _trees(trees: dict[tuple[str, str], list[int]]) -> list[Claim]:
    return [
        Claim(
            what=f"trees in a plan, {name}",
            paper=_PAPER_TREES.get(technique, _PAPER_TREES["slick_deque"]),
            found=", ".join(
                f"{optimizer} {mean(trees[optimizer, technique]):.1f}" for optimizer in OPTIMIZERS
            ),
        )
        for technique, name in TECHNIQUES.items()
    ]
