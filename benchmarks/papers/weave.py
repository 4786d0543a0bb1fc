"""`weave`: the figures of Weave Share, on workloads of its table 1. Spark is not started."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from statistics import mean
from typing import Any

from benchmarks.harness.report import Claim, Experiment, Figure, Lines
from benchmarks.papers.generators import draw_weave, paper_cost
from benchmarks.papers.rivals import (
    insert_then_weave,
    local_search,
    no_share,
    random_groups,
    share_all,
)
from benchmarks.papers.weave_planning import (
    effort,
    incremental,
    incremental_time,
    optimum,
    scale,
)
from muntin.measure.progress import Steps
from muntin.model.windows import Window
from muntin.optimizer.weave_share.groups import Group, GroupCost, same_edges
from muntin.optimizer.weave_share.weave_share import weave_groups

LOW, MEDIUM, HIGH = 50.0, 300.0, 10_000.0

Contender = Callable[[list[Window], GroupCost, Random], Sequence[Group]]
CONTENDERS: dict[str, Contender] = {
    "no share": lambda windows, cost, random: no_share(windows),
    "random": lambda windows, cost, random: random_groups(windows, random),
    "shared": lambda windows, cost, random: share_all(windows),
    "insert then weave": lambda windows, cost, random: insert_then_weave(windows, cost),
    "local search": lambda windows, cost, random: local_search(
        no_share(windows), cost, random, iterations=10 * len(windows)
    ),
    "weave share": lambda windows, cost, random: weave_groups(same_edges(windows), cost),
}


@dataclass(frozen=True, kw_only=True)
class Ranges:
    """What is varied, and how far; the defaults are the paper's."""

    queries: tuple[int, ...] = (50, 100, 250, 500, 1_000)
    # Figures 8 and 10 have a line for each of these, figure 9 is for the last.
    many: tuple[int, ...] = (250, 1_000, 2_000)
    rates: tuple[float, ...] = (50, 300, 1_000, 2_000, 3_000, 10_000)
    overlaps: tuple[float, ...] = (50, 100, 200, 500, 1_000, 2_000)
    high_rates: tuple[float, ...] = (100, 1_000, 10_000, 100_000, 1_000_000)
    skews: tuple[float, ...] = (0.0, 0.3, 0.6, 0.9, 1.2, 1.8, 2.4, 3.3)
    tolerances: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3, 0.5, float("inf"))
    # The incremental plan grows from the first to the second.
    grown: tuple[int, int] = (50, 200)
    # Rate and queries of the optimum; the paper's third, 400 and 15, takes too long.
    optimum: tuple[tuple[float, int], ...] = ((200, 5), (300, 10))
    naive: tuple[int, ...] = (10, 20, 30)
    among: int = 10_000
    # Numbers of queries that are planned from scratch.
    planned: tuple[int, ...] = (1_000, 10_000, 100_000)
    repeats: int = 1


QUICK = Ranges(
    queries=(50, 100),
    many=(50, 100),
    rates=(50, 300, 10_000),
    overlaps=(50, 200),
    high_rates=(100, 10_000),
    skews=(0.0, 0.6, 3.3),
    tolerances=(0.0, 0.3, float("inf")),
    grown=(20, 60),
    optimum=((200, 5),),
    naive=(5, 10),
    among=200,
    planned=(1_000,),
)


def ranges(queries: int, repeats: int = 1, *, quick: bool) -> Ranges:
    """Returns the paper's ranges, or fewer, with plans of 1,000, 10,000, … up to `queries`."""
    planned = tuple(10**power for power in range(3, 7) if 10**power <= queries)
    return replace(QUICK if quick else Ranges(), planned=planned, repeats=repeats)


def run(ranges: Ranges) -> Experiment:
    """Repeats all figures; takes minutes with the paper's ranges."""
    works: list[Callable[[Ranges], Experiment]] = [
        _contenders,
        _against_shared,
        lambda r: optimum(r.optimum, r.repeats),
        lambda r: incremental(r.grown, r.tolerances),
        lambda r: effort(r.naive),
        lambda r: incremental_time(r.among),
        lambda r: scale(r.planned),
    ]
    whole = Experiment(title="Weave Share")
    with Steps(len(works)) as bar:
        for number, work in enumerate(works):
            with bar.step(f"part {number + 1} of {len(works)}"):
                whole.add(work(ranges))
    return whole


def _figure(number: int, title: str, up: str, lines: Lines, **more: Any) -> Figure:
    settings = {"across": "queries", **more}
    title = f"Weave Share, figure {number}: {title}"
    return Figure(name=f"weave_{number}", title=title, up=up, lines=lines, **settings)


def _contenders(ranges: Ranges) -> Experiment:
    """Figures 4 and 5."""
    part = Experiment()
    for number, rate, word in ((4, LOW, "low"), (5, MEDIUM, "medium")):
        cost = paper_cost(rate)
        lines: Lines = {name: [] for name in CONTENDERS}
        for count in ranges.queries:
            for name, contender in CONTENDERS.items():
                plans = (
                    contender(draw_weave(count, seed), cost, Random(seed))
                    for seed in range(ranges.repeats)
                )
                lines[name].append((count, mean(map(cost.plan, plans))))
        title = f"{word} input rate, {rate:g} per second"
        figure = _figure(number, title, "operations per second", lines)
        part.figures.append(figure)
        part.claims.append(_beside_rivals(figure, rate, max(ranges.queries)))
    return part


def _beside_rivals(figure: Figure, rate: float, most: int) -> Claim:
    ours = figure.at("weave share", most)
    times = {name: figure.at(name, most) / ours for name in CONTENDERS if name != "weave share"}
    orders = "three" if rate == LOW else "four"
    return Claim(
        what=f"others / weave share, {most:,} queries, {rate:g} per second",
        paper=f"always above 1; insert-then-weave and shared: {orders} orders of magnitude",
        found=", ".join(f"{name} {ratio:.1f}" for name, ratio in times.items()),
    )


def _relative_cost(
    count: int, rate: float, repeats: int, *, skew: float = 0.6, overlap: float = 50
) -> tuple[float, float]:
    """Returns the average cost of Weave Share, relative to one shared tree, and its trees."""
    cost, ratios, trees = paper_cost(rate), [], []
    for seed in range(repeats):
        windows = draw_weave(count, seed, skew=skew, overlap=overlap)
        groups = weave_groups(same_edges(windows), cost)
        ratios.append(cost.plan(groups) / cost.plan(share_all(windows)))
        trees.append(len(groups))
    return mean(ratios), mean(trees)


def _against_shared(ranges: Ranges) -> Experiment:
    """Figures 6 to 10."""
    repeats, last = ranges.repeats, ranges.many[-1]
    by_queries = {
        f"{rate:g} per second": [(n, *_relative_cost(n, rate, repeats)) for n in ranges.queries]
        for rate in (LOW, MEDIUM, HIGH)
    }
    ratios: Lines = {
        name: [(n, ratio) for n, ratio, _ in line] for name, line in by_queries.items()
    }
    trees: Lines = {name: [(n, count) for n, _, count in line] for name, line in by_queries.items()}
    rates: Lines = {
        f"{count:,} queries": [(r, _relative_cost(count, r, repeats)[0]) for r in ranges.rates]
        for count in ranges.many
    }
    overlaps: Lines = {
        f"{rate:,g} per second": [
            (overlap, _relative_cost(last, rate, 1, overlap=overlap)[0])
            for overlap in ranges.overlaps
        ]
        for rate in ranges.high_rates
    }
    skews: Lines = {
        f"{count:,} queries": [
            (skew, _relative_cost(count, 100.0, repeats, skew=skew, overlap=10)[0])
            for skew in ranges.skews
        ]
        for count in ranges.many
    }
    up = "cost / cost of one shared tree"
    title = "skew of slides, 100 per second, overlap to 10"
    figures = [
        _figure(6, "number of queries", up, ratios, log_y=False),
        _figure(7, "trees", "trees", trees),
        _figure(8, "input rate", up, rates, across="events per second", log_y=False),
        _figure(
            9, f"overlap, {last:,} queries", up, overlaps, across="greatest overlap", log_y=False
        ),
        _figure(10, title, up, skews, across="skew", log_x=False, log_y=False),
    ]
    return Experiment(figures=figures, claims=_gains(ranges, figures))


# Figure, line, point across, and the gain there that the paper states.
_STATED: tuple[tuple[int, str, float, str], ...] = (
    (6, "10000 per second", 1_000, "62%"),
    (8, "250 queries", 50, "80%"),
    (8, "250 queries", 2_000, "24%"),
    (8, "250 queries", 3_000, "6%"),
    (8, "1,000 queries", 10_000, "12% (62% in figure 6)"),
    (8, "2,000 queries", 10_000, "24%"),
    (9, "100,000 per second", 50, "0%"),
    (9, "100,000 per second", 200, "19%"),
    (9, "100,000 per second", 2_000, "74%"),
)


def _gains(ranges: Ranges, figures: Sequence[Figure]) -> list[Claim]:
    """Returns what Weave Share saves against one shared tree, where the paper states it."""
    numbered = {int(figure.name.removeprefix("weave_")): figure for figure in figures}
    claims = []
    for number, line, across, paper in _STATED:
        points = dict(numbered[number].lines.get(line, []))
        if across in points:
            what = f"saved against shared, figure {number}: {line}, at {across:,g}"
            claims.append(Claim(what=what, paper=paper, found=f"{1 - points[across]:.0%}"))
    last = f"{ranges.many[-1]:,} queries"
    line_10 = numbered[10].lines[last]
    best = min(line_10, key=lambda point: point[1])
    claims.append(
        Claim(
            what=f"saved against shared, figure 10: {last}, by skew",
            paper="rises to one maximum, then falls to nothing",
            found=f"most, {1 - best[1]:.0%}, at {best[0]:g}; "
            f"{1 - line_10[-1][1]:.0%} at {line_10[-1][0]:g}",
        )
    )
    return claims
