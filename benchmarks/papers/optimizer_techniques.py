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
from muntin.aggregates.aggregate import count
from muntin.measure.progress import Steps
from muntin.model.query import Query
from muntin.model.workload import PlanOptions, Workload
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
Grouper = Callable[[Sequence[Group], GroupCost], list[Group]]
Pricer = Callable[[Sequence[Group], GroupCost], float]
BEST = ("slick_deque", "subtract")
PAPER = "Incremental MQO, "
_TENS = tuple(10**power for power in range(7))
# Trees in a plan, averaged over all runs; the paper has one number for SlickDeque.
_PAPER_TREES = {"panes": "16.0", "flat_fat": "15.7", "flat_fit": "10.3"}


@dataclass(frozen=True, kw_only=True)
class Load:
    """A row of table 4; the defaults are the middle of every figure."""

    queries: int = 100
    longest_slide: int = 1_000
    most_overlap: int = 10_000
    rate: float = 1.0
    skew: float = 0.0

    def draw(self, seed: int) -> Workload:
        """Draws one workload of distinct windows and one key."""
        windows = incremental_gen(
            Random(seed),
            count=self.queries,
            longest_slide=self.longest_slide,
            most_overlap=self.most_overlap,
            skew=self.skew,
        )
        queries = (
            Query(name=f"q{number}", window=window, aggregates={"n": count()}, time="ts")
            for number, window in enumerate(dict.fromkeys(windows))
        )
        return Workload(queries=tuple(queries), rate=self.rate)


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


SWEEPS = tuple(
    Sweep(figure=figure, across=across, loads=_vary(name, values), paper=paper, log_x=log_x)
    for figure, across, name, values, paper, log_x in (
        (17, "queries", "queries", _TENS[0:5], "panes up to 5,000x, FlatFIT up to 3x", True),
        (18, "longest slide", "longest_slide", _TENS[1:6], "panes up to 4,300x", True),
        (19, "greatest overlap", "most_overlap", _TENS[2:7], "panes up to 270,000x", True),
        (20, "events per second", "rate", (0.01, 0.1, 1, 10, 100), "panes up to 3,000x", True),
        (21, "skew of slides", "skew", (-1.0, -0.5, 0.0, 0.5, 1.0), "panes up to 4,200x", False),
    )
)


# How each optimizer groups windows, and what its groups cost.
OPTIMIZERS: dict[str, tuple[Grouper, Pricer]] = {
    "Weave Share": (weave_groups, lambda groups, cost: cost.plan(groups)),
    "TriWeave": (triweave_groups, triweave_cost),
}


def plan_groups(workload: Workload, optimizer: str, technique: str) -> tuple[float, int]:
    """Returns the cost and the number of the trees of an optimizer, for one technique's Ω."""
    group, price = OPTIMIZERS[optimizer]
    forced = workload.with_options(PlanOptions(technique=technique))
    cost = cost_of_groups(workload.shared, forced)
    trees = group(same_edges(query.periodic_window for query in workload.shared), cost)
    return price(trees, cost), len(trees)


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
    for figure in whole.figures:
        whole.claims.extend(_middle(figure))
    whole.claims.extend(_tree_claims(trees))
    return whole


def _lines(
    sweep: Sweep, optimizer: str, repeats: int, trees: dict[tuple[str, str], list[int]]
) -> Lines:
    lines: Lines = {name: [] for name in TECHNIQUES.values()}
    for across, load in sweep.loads.items():
        drawn = [load.draw(seed) for seed in range(repeats)]
        for technique, name in TECHNIQUES.items():
            plans = [plan_groups(each, optimizer, technique) for each in drawn]
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


def _middle(figure: Figure) -> list[Claim]:
    """Returns the claim about figure 17 at a hundred queries."""
    middle = {name: dict(line).get(100) for name, line in figure.lines.items()}
    panes = middle["panes"]
    if not figure.name.startswith("techniques_17") or panes is None:
        return []
    found = ", ".join(
        f"{name} {panes / cost:,.0f}x"
        for name, cost in middle.items()
        if cost is not None and name.startswith("SlickDeque")
    )
    what = f"panes / SlickDeque in the middle, {figure.title.removeprefix(PAPER)}"
    return [Claim(what=what, paper="three orders of magnitude", found=found)]


def _tree_claims(trees: dict[tuple[str, str], list[int]]) -> list[Claim]:
    return [
        Claim(
            what=f"trees in a plan, {name}",
            paper=_PAPER_TREES.get(technique, "4.8"),
            found=", ".join(f"{each} {mean(trees[each, technique]):.1f}" for each in OPTIMIZERS),
        )
        for technique, name in TECHNIQUES.items()
    ]
