"""The table of strategies, and the one door to them."""

from collections.abc import Callable, Iterable

from muntin.errors import PlanError, nearest
from muntin.model.plan import Plan, Tree
from muntin.model.query import Family, PlainQuery, Query, Workload, workload
from muntin.share import cost
from muntin.share.coverage import coverage
from muntin.share.edges import slicing
from muntin.share.exact import exact, exact_factor
from muntin.share.factor import factor
from muntin.share.intermediate import best_tree, intermediate
from muntin.share.rivals import insertion, local, random
from muntin.share.shared import shared
from muntin.share.subsume import subsume
from muntin.share.trees import nodes_of, plan_of
from muntin.share.triweave import triweave
from muntin.share.unshared import unshared
from muntin.share.weave import weave

# One tree for each family, or no sharing at all.
_TREES: dict[str, Callable[[Workload], Plan]] = {
    "unshared": unshared,
    "shared": shared,
    "coverage": coverage,
    "factor": factor,
    "exact_factor": exact_factor,
    "triweave": triweave,
    "intermediate": intermediate,
}
# Several trees for a family, each with slices of its own.
_GROUPINGS: dict[str, Callable[[Workload], Plan]] = {
    "weave": weave,
    "subsume": subsume,
    "exact": exact,
    "insert_then_weave": insertion,
    "local_search": local,
    "random": random,
}


def auto(workload: Workload) -> Plan:
    """The cheapest plan over all strategies by the cost model, chosen for each family.

    Groupings are tried only where a second tree could pay; their trees are then hung anew with
    intermediate windows, and kept so if that is cheaper.
    """
    best: dict[Family, tuple[Tree, ...]] = {}

    def consider(strategies: Iterable[Callable[[Workload], Plan]]) -> None:
        for strategy in strategies:
            try:
                found = strategy(workload)
            except PlanError:
                # The exact strategies refuse what is too large for them.
                continue
            for family in workload.families:
                trees = tuple(tree for tree in found.trees if tree.family == family)
                if family not in best or _cost(trees) < _cost(best[family]):
                    best[family] = trees

    consider(_TREES.values())
    if any(
        _cost(best[family]) > least_with_two_trees(queries, workload)
        for family, queries in workload.families.items()
    ):
        consider(_GROUPINGS.values())
        for family, trees in best.items():
            best[family] = tuple(_rehung(tree, workload) for tree in trees)
    return plan_of("auto", workload, lambda queries: best[queries[0].family])


def _cost(trees: Iterable[Tree]) -> float:
    return sum(tree.cost for tree in trees)


def _rehung(tree: Tree, workload: Workload) -> Tree:
    queries = {query.name: query for query in workload.shared}
    asked = nodes_of(queries[name] for node in tree.nodes for name in node.queries)
    return min(tree, best_tree(tree.family, asked, workload), key=lambda one: one.cost)


def least_with_two_trees(queries: Iterable[Query], workload: Workload) -> float:
    """What any plan of a family costs at least once it has two trees: two cuts, and the answers."""
    rate, keys = workload.rate, workload.keys
    windows = [query.window for query in queries]
    answers = sum(
        cost.PRICES.answer * cost.partials_per_second(window, rate=rate, keys=keys)
        for window in windows
    )
    cut = min(cost.cut_cost(slicing([window]), rate=rate, keys=keys) for window in set(windows))
    return answers + 2 * cut


# The CLI, the documents and the tests iterate over this table.
STRATEGIES: dict[str, Callable[[Workload], Plan]] = {**_TREES, **_GROUPINGS, "auto": auto}

DEFAULT = "shared"


def optimize(workload: Workload, strategy: str = DEFAULT) -> Plan:
    """The plan of a strategy, by its name in `STRATEGIES`."""
    if strategy not in STRATEGIES:
        raise PlanError(
            f"no strategy is called {strategy!r}; {nearest(strategy, list(STRATEGIES))}"
        )
    return STRATEGIES[strategy](workload)


def plan(
    queries: Workload | Query | PlainQuery | Iterable[Query | PlainQuery],
    *,
    strategy: str = DEFAULT,
    rate: float = 1000.0,
    keys: float = 1.0,
) -> Plan:
    """What is shared by these queries, and what it costs beside the unshared plan.

    `rate` is events per second, `keys` how many keys are live; costs are computed for them.
    """
    return optimize(workload(queries, rate=rate, keys=keys), strategy)
