"""Compares Weave Share with the optimum, and its incremental form with planning from scratch."""

from collections.abc import Sequence
from statistics import mean

from benchmarks.harness.report import Claim, Experiment, Figure
from benchmarks.papers.generators import draw_weave, paper_cost
from muntin.model.windows.window import Window
from muntin.optimizer.exact import cheapest_partition
from muntin.optimizer.weave_share.groups import GroupCost, group_of, same_edges
from muntin.optimizer.weave_share.incremental import Reweaving
from muntin.optimizer.weave_share.weave_share import weave_groups


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
        part.claims.append(
            Claim(
                what=f"cost / optimum, {count} queries, {rate:g} per second",
                paper="1.00, in one case 1.03",
                found=f"{mean(ratios):.3f} on average, {max(ratios):.3f} at most",
            )
        )
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
    points, claims = [], []
    for tolerance in tolerances:
        plan = _with_slope(windows[:start], cost, tolerance)
        errors, rebuilt = [], 0
        for number, window in enumerate(windows[start:], start + 1):
            plan.add(window)
            if plan.due:
                plan.reconstruct()
                rebuilt += 1
            if number % (start // 2) == 0:
                offline = cost.plan(weave_groups(same_edges(plan.windows), cost))
                errors.append(max(0.0, cost.plan(plan.groups) / offline - 1))
        points.append((float(rebuilt), mean(errors)))
        claims.append(
            Claim(
                what=f"incremental, tolerance {tolerance:g}: error beside planning anew",
                paper="at most the tolerance; 0.2 or 0.3 is a good balance",
                found=f"{mean(errors):.3f}, {rebuilt} of {len(windows) - start} steps planned anew",
            )
        )
    figure = Figure(
        name="weave_11",
        title="Weave Share, figure 11: what tolerance buys",
        across="plans made from scratch",
        up="relative error",
        lines={
            f"tolerance {tolerance:g}": [point]
            for tolerance, point in zip(tolerances, points, strict=True)
        },
        log_x=False,
        log_y=False,
    )
    return Experiment(figures=[figure], claims=claims)


def _with_slope(windows: Sequence[Window], cost: GroupCost, tolerance: float) -> Reweaving:
    """Returns a plan whose curve has two points, since the line from zero rises too steeply."""
    plan = Reweaving(windows[: len(windows) // 2], cost, tolerance=tolerance)
    for window in windows[len(windows) // 2 :]:
        plan.add(window)
    plan.reconstruct()
    return plan
