"""Optimal plans for few windows, to measure heuristics by, and for users who ask for them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from muntin.errors import PlanError
from muntin.model.plan import Plan
from muntin.model.query import Query
from muntin.model.trees import PeriodicTree
from muntin.model.windows import Window
from muntin.model.workload import Workload
from muntin.optimizer import costs
from muntin.optimizer.cost_models import WindowReads
from muntin.optimizer.coverage import (
    Forest,
    Harmless,
    choices,
    plan_by_forest,
)
from muntin.optimizer.edges import slicing
from muntin.optimizer.factor_windows import with_factor_windows
from muntin.optimizer.intermediate import tumbling_closure
from muntin.optimizer.trees import nodes_of, plan_of, tree_of

# The most windows: the search takes three to the power of this many steps.
MOST_GROUPED = 14
# The most windows, asked for and intermediate, in the integer program.
MOST_IN_GRAPH = 160


def cheapest_partition(count: int, cost_of: Callable[[tuple[int, ...]], float]) -> list[list[int]]:
    """Returns the cheapest partition of `count` items.

    Dynamic programming over subsets: the best partition of a set is the best part that holds its
    lowest item, and the best partition of the rest.
    """
    if count > MOST_GROUPED:
        raise PlanError(
            f"the exact grouping is for at most {MOST_GROUPED} distinct windows in a grouping, not "
            f"{count}; strategy 'weave' takes any number"
        )
    price = [0.0] * (1 << count)
    for subset in range(1, 1 << count):
        price[subset] = cost_of(tuple(i for i in range(count) if subset >> i & 1))
    least, part_of = [0.0] * (1 << count), [0] * (1 << count)
    for subset in range(1, 1 << count):
        low = subset & -subset
        others = rest = subset ^ low
        best, chosen = price[subset], subset
        while rest:
            # `rest` runs through the subsets of the others; the remaining ones go with the lowest.
            total = price[subset ^ rest] + least[rest]
            if total < best:
                best, chosen = total, subset ^ rest
            rest = (rest - 1) & others
        least[subset], part_of[subset] = best, chosen
    groups, subset = [], (1 << count) - 1
    while subset:
        part = part_of[subset]
        groups.append([i for i in range(count) if part >> i & 1])
        subset ^= part
    return groups


def exact(workload: Workload) -> Plan:
    """Plans the cheapest grouping into flat trees, by the runtime's cost model."""

    def build_trees(queries: tuple[Query, ...]) -> list[PeriodicTree]:
        nodes = nodes_of(queries)
        alone = [tree_of(queries[0].grouping, [node], workload).cost for node in nodes]
        answers = [
            workload.prices.answer
            * len(node.queries)
            * costs.partials_per_second(node.window, workload)
            for node in nodes
        ]

        def flat_cost(part: tuple[int, ...]) -> float:
            few = [nodes[i] for i in part]
            if len(few) == 1:
                return alone[part[0]]
            cut = slicing([node.window for node in few], workload)
            read = sum(
                costs.combine_cost(cut, node.window, node.aggregates, workload) for node in few
            )
            columns = costs.slicer_columns(
                [queries[0].grouping], (a for node in few for a in node.aggregates)
            )
            cutting = costs.cut_cost(cut, workload, columns=columns)
            return cutting + read + sum(answers[i] for i in part)

        return [
            tree_of(queries[0].grouping, [nodes[i] for i in part], workload)
            for part in cheapest_partition(len(nodes), flat_cost)
        ]

    return plan_of("exact", workload, build_trees)


def cheapest_forest(
    asked: Iterable[Window],
    candidates: Iterable[Window],
    reads: WindowReads,
    is_harmless: Harmless,
) -> Forest:
    """Returns the cheapest coverage forest over the asked windows and any of the candidates.

    An integer program: one variable for each candidate and each link. Every asked window and every
    taken candidate has one link, to the stream or to a window that is asked for or taken.
    """
    asked = sorted(set(asked))
    extra = sorted(set(candidates) - set(asked))
    if len(asked) + len(extra) > MOST_IN_GRAPH:
        raise PlanError(
            f"the exact graph is for at most {MOST_IN_GRAPH} windows with their candidates, not "
            f"{len(asked) + len(extra)}; strategy 'factor' takes any number"
        )
    graph = choices((*asked, *extra), reads, is_harmless)
    links = [(w, parent, price) for w, offers in graph.items() for price, parent in offers]
    taken = {window: index for index, window in enumerate(extra)}
    solution = _solve(links, asked, taken)
    return {w: parent for index, (w, parent, _) in enumerate(links) if solution[index] > 0.5}


def _solve(
    links: Sequence[tuple[Window, Window | None, float]],
    asked: Sequence[Window],
    taken: dict[Window, int],
) -> Any:
    try:
        import numpy as np
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import lil_array
    except ImportError:
        raise PlanError(
            "the exact graph needs scipy's solver, which is not installed: pip install scipy"
        ) from None
    size = len(links) + len(taken)
    rows = {window: row for row, window in enumerate((*asked, *taken))}
    one_link = lil_array((len(rows), size))
    only_taken = lil_array((len(links), size))
    objective = np.zeros(size)
    for index, (window, parent, price) in enumerate(links):
        objective[index] = price
        one_link[rows[window], index] = 1
        if parent in taken:
            only_taken[index, index] = 1
            only_taken[index, len(links) + taken[parent]] = -1
    for window, index in taken.items():
        one_link[rows[window], len(links) + index] = -1
    wanted = np.array([1.0] * len(asked) + [0.0] * len(taken))
    result = milp(
        objective / objective.max(),
        constraints=[
            LinearConstraint(one_link.tocsc(), wanted, wanted),
            LinearConstraint(only_taken.tocsc(), -np.inf, 0),
        ],
        integrality=np.ones(size),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0},
    )
    if result.x is None:
        raise PlanError(f"the exact graph was not solved: {result.message}")
    return result.x


def exact_factor(workload: Workload) -> Plan:
    """Plans the cheapest factor-window graph by the paper's model, with any tumbling window."""

    def build_forest(
        windows: Sequence[Window], reads: WindowReads, is_harmless: Harmless
    ) -> Forest:
        offered = set(tumbling_closure(windows, most=MOST_IN_GRAPH + 1))
        if len({*windows, *offered}) <= MOST_IN_GRAPH:
            offered |= set(with_factor_windows(windows, reads, is_harmless))
        return cheapest_forest(windows, offered, reads, is_harmless)

    return plan_by_forest("exact_factor", workload, build_forest)
