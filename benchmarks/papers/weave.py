"""`weave`: the figures of Weave Share, on workloads of its table 1. Spark is not started."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from statistics import mean
from typing import Any

from benchmarks.harness.report import Experiment, Lines
from benchmarks.papers.generators import draw_weave, paper_cost
from benchmarks.papers.rivals import CONTENDERS, share_all
from benchmarks.papers.weave_planning import (
    count_edges,
    effort,
    incremental,
    incremental_time,
    optimum,
    scale,
)
from muntin.measure.progress import Steps
from muntin.optimizer.weave_share.groups import same_edges
from muntin.optimizer.weave_share.weave_share import weave_groups

LOW, MEDIUM, HIGH = 50.0, 300.0, 10_000.0


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
    # Longest slides, of many divisors.
    longest_slides: tuple[int, ...] = (840, 5_040, 55_440, 720_720, 14_414_400, 73_513_440)
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
    longest_slides=(840, 5_040, 55_440),
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
        lambda r: count_edges(r.longest_slides),
        lambda r: incremental_time(r.among),
        lambda r: scale(r.planned),
    ]
    whole = Experiment(title="Weave Share")
    with Steps(len(works)) as bar:
        for number, work in enumerate(works):
            with bar.step(f"part {number + 1} of {len(works)}"):
                whole.add(work(ranges))
    return whole


def _contenders(ranges: Ranges) -> Experiment:
    """Figures 4 and 5."""
    part, most = Experiment(), max(ranges.queries)
    for number, rate, word, orders in ((4, LOW, "low", "three"), (5, MEDIUM, "medium", "four")):
        cost = paper_cost(rate)
        lines: Lines = {name: [] for name in CONTENDERS}
        for count in ranges.queries:
            for name, contender in CONTENDERS.items():
                plans = (
                    contender(draw_weave(count, seed), cost, Random(seed))
                    for seed in range(ranges.repeats)
                )
                lines[name].append((count, mean(map(cost.plan, plans))))
        title = f"Weave Share, figure {number}: {word} input rate, {rate:g} per second"
        axes = {"across": "queries", "up": "operations per second"}
        figure = part.figure(f"weave_{number}", title, lines, **axes)
        ours = figure.at("weave share", most)
        part.claim(
            f"others / weave share, {most:,} queries, {rate:g} per second",
            f"always above 1; insert-then-weave and shared: {orders} orders of magnitude",
            ", ".join(f"{name} {figure.at(name, most) / ours:.1f}" for name in [*CONTENDERS][:-1]),
        )
    return part


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
    ratios, trees = Lines(), Lines()
    for rate in (LOW, MEDIUM, HIGH):
        name = f"{rate:g} per second"
        found = [(count, *_relative_cost(count, rate, repeats)) for count in ranges.queries]
        ratios[name] = [(count, ratio) for count, ratio, _ in found]
        trees[name] = [(count, number) for count, _, number in found]
    rates: Lines = {
        f"{count:,} queries": [(r, _relative_cost(count, r, repeats)[0]) for r in ranges.rates]
        for count in ranges.many
    }
    overlaps: Lines = {
        f"{rate:,g} per second": [
            (most, _relative_cost(last, rate, 1, overlap=most)[0]) for most in ranges.overlaps
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
    part = Experiment()
    for number, title, across, lines in (
        (6, "number of queries", "queries", ratios),
        (7, "trees", "queries", trees),
        (8, "input rate", "events per second", rates),
        (9, f"overlap, {last:,} queries", "greatest overlap", overlaps),
        (10, "skew of slides, 100 per second, overlap to 10", "skew", skews),
    ):
        up = "trees" if lines is trees else "cost / cost of one shared tree"
        title = f"Weave Share, figure {number}: {title}"
        axes: dict[str, Any] = {"log_x": lines is not skews, "log_y": lines is trees}
        part.figure(f"weave_{number}", title, lines, across=across, up=up, **axes)
        _claim_gains(part, number, lines)
    line = skews[f"{last:,} queries"]
    at, best = min(line, key=lambda point: point[1])
    part.claim(
        f"saved against shared, figure 10: {last:,} queries, by skew",
        "rises to one maximum, then falls to nothing",
        f"most, {1 - best:.0%}, at {at:g}; {1 - line[-1][1]:.0%} at {line[-1][0]:g}",
    )
    return part


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


def _claim_gains(part: Experiment, figure: int, lines: Lines) -> None:
    """Appends what Weave Share saves against one shared tree, where the paper states it."""
    for number, name, across, paper in _STATED:
        points = dict(lines.get(name, []))
        if number == figure and across in points:
            what = f"saved against shared, figure {number}: {name}, at {across:,g}"
            part.claim(what, paper, f"{1 - points[across]:.0%}")
