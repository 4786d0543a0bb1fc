"""The table of strategies: functions that choose the trees of a workload."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from muntin.errors import PlanError
from muntin.model.plan import Plan, cost_of
from muntin.model.query import Grouping, Query
from muntin.model.trees import PeriodicTree
from muntin.model.workload import Workload
from muntin.optimizer.choose_passes import cost_in_passes
from muntin.optimizer.coverage import coverage
from muntin.optimizer.exact import exact, exact_factor
from muntin.optimizer.factor_windows import factor
from muntin.optimizer.intermediate import best_tree, intermediate
from muntin.optimizer.lower_bounds import least_with_one_tree, least_with_two_trees
from muntin.optimizer.subsumption import subsume
from muntin.optimizer.trees import flat_tree, nodes_of, plan_of
from muntin.optimizer.triweave import triweave
from muntin.optimizer.weave_share.weave_share import weave

Strategy = Callable[[Workload], Plan]


def unshared(workload: Workload) -> Plan:
    """Plans a tree for each query: no sharing, the baseline of the other strategies."""
    return plan_of(
        "unshared", workload, lambda queries: [flat_tree([query], workload) for query in queries]
    )


def shared(workload: Workload) -> Plan:
    """Plans one tree per grouping, cut at every edge; its queries read the same slices (Shared Time
    Slices)."""
    return plan_of("shared", workload, lambda queries: [flat_tree(queries, workload)])


# No sharing, or one tree for each grouping: nearly always the cheapest.
_FIRST: dict[str, Strategy] = {
    "unshared": unshared,
    "shared": shared,
    "intermediate": intermediate,
}
# Other ways to arrange the windows of a grouping, whose events are cut once, at all edges.
_TREES: dict[str, Strategy] = {
    "coverage": coverage,
    "factor": factor,
    "exact_factor": exact_factor,
    "triweave": triweave,
}
# Several trees for a grouping, each cut by itself.
_GROUPS: dict[str, Strategy] = {
    "weave": weave,
    "subsume": subsume,
    "exact": exact,
}
# A plan that can be cheaper by this factor at most is not searched for.
_CLOSE_ENOUGH = 1.001
# The most distinct windows for which `auto` tries a strategy of superlinear time.
_MOST_WINDOWS = {
    **dict.fromkeys(("intermediate", "coverage", "factor", "exact_factor", "subsume"), 200),
    **dict.fromkeys(("triweave", "weave"), 1000),
}


def auto(workload: Workload) -> Plan:
    """Returns, for each grouping, the cheapest plan of all strategies, to a thousandth.

    Strategies are skipped if a bound shows that they cannot find a cheaper plan, or if they are too
    slow for this many windows. Trees of groupings get intermediate windows if that is cheaper.
    """
    search = _Search(workload)
    search.consider(_FIRST)
    if search.may_find_cheaper(least_with_one_tree):
        search.consider(_TREES)
    # Trees may also be made in one pass, which costs at least what one tree does.
    if any(map(search.may_find_cheaper, (least_with_two_trees, least_with_one_tree))):
        search.consider(_GROUPS)
        search.add_intermediate_windows()
    return search.plan()


class _Search:
    """The cheapest trees that `auto` has found for each grouping so far."""

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._windows = max(
            (len({q.window for q in queries}) for queries in workload.queries_by_grouping.values()),
            default=0,
        )
        # The strategy of the cheapest trees, the trees, and what they cost.
        self._best: dict[Grouping, tuple[str, tuple[PeriodicTree, ...]]] = {}
        self._least: dict[Grouping, float] = {}
        # What each strategy costs for all groupings.
        self._considered: dict[str, float] = {}

    def consider(self, strategies: Mapping[str, Strategy]) -> None:
        """Runs strategies, and keeps the trees of each grouping that are cheaper than before."""
        for name, strategy in strategies.items():
            if not self._is_fast_enough(name):
                continue
            try:
                plan = strategy(self._workload)
            except PlanError:
                # The exact strategies refuse what is too large for them.
                continue
            self._considered[name] = sum(tree.cost for tree in plan.data_trees)
            for grouping in self._workload.queries_by_grouping:
                trees = tuple(tree for tree in plan.periodic_trees if tree.grouping == grouping)
                spent = cost_in_passes(trees, self._workload)
                # Without sharing, each tree reads the events itself.
                self._considered[name] += cost_of(trees) if name == UNSHARED else spent
                if grouping not in self._best or spent < self._least[grouping]:
                    self._best[grouping], self._least[grouping] = (name, trees), spent

    def _is_fast_enough(self, strategy: str) -> bool:
        return self._windows <= _MOST_WINDOWS.get(strategy, self._windows)

    def may_find_cheaper(self, bound: Callable[[Iterable[Query], Workload], float]) -> bool:
        """Whether plans that cost at least `bound` may be cheaper for some grouping."""
        return any(
            self._least[grouping] > bound(queries, self._workload) * _CLOSE_ENOUGH
            for grouping, queries in self._workload.queries_by_grouping.items()
        )

    def add_intermediate_windows(self) -> None:
        """Adds intermediate windows to trees where that is cheaper; those of a pass stay."""
        if not self._is_fast_enough("intermediate"):
            return
        queries = {query.name: query for query in self._workload.periodic_queries}
        for grouping, (name, trees) in self._best.items():
            improved = []
            for tree in trees:
                if tree.slicing_pass is None:
                    nodes = nodes_of(queries[query] for query in tree.queries)
                    other = best_tree(grouping, nodes, self._workload)
                    tree = min(tree, other, key=lambda candidate: candidate.cost)
                improved.append(tree)
            self._best[grouping] = name, tuple(improved)

    def plan(self) -> Plan:
        """Returns the plan with the trees that were found."""
        plan = plan_of("auto", self._workload, lambda queries: self._best[queries[0].grouping][1])
        taken = tuple(dict.fromkeys(name for name, _ in self._best.values()))
        return replace(plan, strategy_costs=self._considered, chosen_strategies=taken)


# Every strategy except `auto`, which chooses among them.
ALGORITHMS: dict[str, Strategy] = {**_FIRST, **_TREES, **_GROUPS}
# The CLI, the documents and the tests iterate over this table.
STRATEGIES: dict[str, Strategy] = {**ALGORITHMS, "auto": auto}

DEFAULT = "auto"
UNSHARED = "unshared"
# The default of streams: one tree per grouping at any rate, so that a query that comes or goes
# never moves the others to a tree that has no slices for them.
STEADY = "shared"
