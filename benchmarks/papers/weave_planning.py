"""Weave Share next to the optimum and to itself: its error, and the time to plan."""

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from statistics import mean

from benchmarks.harness.clocks import cpu_seconds
from benchmarks.harness.report import Experiment, Lines
from benchmarks.papers.generators import draw_everyday, draw_weave, incremental_gen, paper_cost
from muntin.aggregates.aggregate import min_
from muntin.model.query import Query
from muntin.model.windows import Edges, Window
from muntin.model.workload import Workload
from muntin.optimizer.edges import count_by_bit_set, count_by_formula, edges_of, estimated_rate
from muntin.optimizer.exact import cheapest_partition
from muntin.optimizer.optimize import optimize
from muntin.optimizer.weave_share.groups import Group, GroupCost, Lookup, group_of, same_edges
from muntin.optimizer.weave_share.incremental import Reweaving
from muntin.optimizer.weave_share.weave_share import weave_exactly, weave_groups

_RATE = 100.0
# Up to this many queries, all windows are distinct.
MOST_DISTINCT = 10_000


def _naive(groups: Sequence[Group], cost: GroupCost) -> list[Group]:
    """The greedy algorithm without a lookup: it counts every pair again for every merge."""
    groups = list(groups)
    while len(groups) > 1:
        pairs = [(i, j) for i in range(len(groups)) for j in range(i + 1, len(groups))]
        saved = [cost.reduction(groups[i], groups[j]) for i, j in pairs]
        best = max(range(len(pairs)), key=saved.__getitem__)
        if saved[best] <= 0:
            break
        i, j = pairs[best]
        groups[i] = groups[i] + groups.pop(j)
    return groups


def _by_rows(groups: Sequence[Group], cost: GroupCost) -> None:
    lookup = Lookup(groups, cost)
    while lookup.merge_best():
        pass


def effort(counts: Sequence[int]) -> Experiment:
    """Figure 14: the naive algorithm, the cost lookup, and the lookup estimated by whole rows."""
    cost, most = paper_cost(_RATE), max(counts)
    algorithms: dict[str, Callable[[Sequence[Group], GroupCost], object]] = {
        "naive": _naive,
        "lookup, counted": weave_exactly,
        "lookup, estimated by rows": _by_rows,
    }
    lines: Lines = {name: [] for name in algorithms}
    for count in counts:
        groups = same_edges(draw_weave(count, 0, skew=0.7, overlap=10))
        for name, algorithm in algorithms.items():
            lines[name].append((count, cpu_seconds(partial(algorithm, groups, cost))))
    part = Experiment()
    title = "Weave Share, figure 14: what the lookup saves, 100 per second, skew 0.7"
    figure = part.figure("weave_14", title, lines, across="queries", up="CPU seconds")
    naive, lookup, rows = (figure.at(name, most) for name in algorithms)
    part.claim(
        f"naive time / optimized, {most} queries",
        "10 with the lookup, 1,000 with all, 250 queries",
        f"{naive / lookup:.0f} with the lookup, {naive / rows:,.0f} with whole rows",
    )
    return part


def count_edges(slides: Sequence[int], queries: int = 20) -> Experiment:
    """Incremental MQO, figure 16: the edges of one composite slide by a bit set and by F1.

    Slides are divisors of the longest, which is the composite slide, and prefer long ones.
    """
    ways: dict[str, Callable[[list[Edges]], object]] = {
        "bit set": count_by_bit_set,
        "F1": count_by_formula,
        "estimated": estimated_rate,
    }
    lines: Lines = {name: [] for name in ways}
    part, most = Experiment(), max(slides)
    for longest in slides:
        settings = {"longest_slide": longest, "most_overlap": 50, "skew": 2}
        drawn = incremental_gen(Random(0), count=queries, whole=False, **settings)
        edges = list(edges_of(drawn))
        assert count_by_bit_set(edges) == count_by_formula(edges)
        for name, way in ways.items():
            lines[name].append((longest, 1000 * cpu_seconds(partial(way, edges), repeats=3)))
    title = f"Incremental MQO, figure 16: counting the edges of {queries} queries"
    figure = part.figure("weave_edges", title, lines, across="composite slide", up="CPU ms")
    part.claim(
        f"bit set / F1, {queries} queries, a composite slide of {most:,}",
        "plans up to 60,000 times faster",
        f"{figure.at('bit set', most) / figure.at('F1', most):,.0f}",
    )
    return part


def _workload(windows: Sequence[Window]) -> Workload:
    aggregates = {"low": min_("temp")}
    queries = (
        Query(name=f"q{number}", window=window, aggregates=aggregates, time="ts")
        for number, window in enumerate(windows)
    )
    return Workload(queries=tuple(queries), rate=_RATE)


_GOALS = {1_000: "asked: under 1 s", 1_000_000: "asked: under 60 s"}


def scale(counts: Sequence[int]) -> Experiment:
    """Measures the CPU of a whole plan, from queries to costed trees.

    Up to `MOST_DISTINCT` the windows are the paper's, all distinct; beyond, as people ask for them.
    """
    lines: Lines = {"weave": [], "triweave": []}
    part = Experiment()
    for count in counts:
        windows = draw_weave(count, 0) if count <= MOST_DISTINCT else draw_everyday(count, 0)
        workload = _workload(windows)
        for strategy, line in lines.items():
            spent = cpu_seconds(partial(optimize, workload, strategy))
            line.append((count, spent))
            distinct = len(set(windows))
            what = f"planning {count:,} queries, {distinct:,} distinct with {strategy}"
            part.claim(what, _GOALS.get(count, ""), f"{spent:.2f} s")
    title = "Planning from scratch, one core"
    part.figure("weave_scale", title, lines, across="queries", up="CPU seconds")
    return part


def incremental_time(among: int, changes: int = 200) -> Experiment:
    """Measures the CPU of adding and of removing one query among many."""
    windows = draw_weave(among + changes, 1)
    plan = Reweaving(windows[changes:], paper_cost(_RATE))
    part = Experiment()
    for word, change in (("adding", plan.add), ("removing", plan.remove)):
        spent = [1000 * cpu_seconds(partial(change, window)) for window in windows[:changes]]
        found = f"{mean(spent):.2f} ms on average, {max(spent):.2f} at most"
        part.claim(f"{word} a query among {among:,}", "asked: under 10 ms", found)
    return part


def optimum(cases: Sequence[tuple[float, int]], repeats: int) -> Experiment:
    """The footnote of section 6: the distance from the cheapest grouping."""
    part = Experiment()
    for rate, count in cases:
        cost = paper_cost(rate)
        drawn = [draw_weave(count, seed) for seed in range(repeats)]
        ratios = [
            cost.plan(weave_groups(same_edges(windows), cost)) / _least_cost(windows, cost)
            for windows in drawn
        ]
        what = f"cost / optimum, {count} queries, {rate:g} per second"
        found = f"{mean(ratios):.3f} on average, {max(ratios):.3f} at most"
        part.claim(what, "1.00, in one case 1.03", found)
    return part


def _least_cost(windows: Sequence[Window], cost: GroupCost) -> float:
    """Returns the cost of the cheapest grouping."""

    def price(members: Sequence[int]) -> float:
        return cost.tree(group_of(windows[index] for index in members))

    return sum(map(price, cheapest_partition(len(windows), price)))


def incremental(grown: tuple[int, int], tolerances: Sequence[float]) -> Experiment:
    """Figure 11: how often plans are reconstructed, and their error in between."""
    start, end = grown
    windows, cost = draw_weave(end, 0, overlap=10), paper_cost(100.0)
    part, lines = Experiment(), Lines()
    steps = len(windows) - start
    for tolerance in tolerances:
        plan = Reweaving(windows[:start], cost, tolerance=tolerance)
        errors, rebuilt = [], 0
        for window in windows[start:]:
            plan.add(window)
            rebuilt += plan.rebuild_if_due()
            offline = cost.plan(weave_groups(same_edges(plan.windows), cost))
            errors.append(max(0.0, cost.plan(plan.groups) / offline - 1))
        lines[f"tolerance {tolerance:g}"] = [(float(rebuilt), mean(errors))]
        part.claim(
            f"incremental, tolerance {tolerance:g}: error beside planning anew",
            "at most the tolerance; 0.2 or 0.3 is a good balance",
            f"{mean(errors):.3f} on average, {max(errors):.3f} at most; in {steps} steps "
            f"{len(plan.curve) - 1} compared with a new plan, {rebuilt} rebuilt",
        )
    title = "Weave Share, figure 11: what tolerance buys"
    axes = {"across": "plans made from scratch", "up": "relative error"}
    part.figure("weave_11", title, lines, **axes, log_x=False, log_y=False)
    return part
