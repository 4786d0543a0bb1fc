"""The table of strategies, and `optimize`, which runs one of them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from muntin.errors import PlanError, nearest
from muntin.model.engine import Engine
from muntin.model.plan import Plan
from muntin.model.query import Grouping, Query
from muntin.model.trees import PeriodicTree, cost_of
from muntin.model.workload import Workload
from muntin.optimizer.approximate import exact_only
from muntin.optimizer.costs.cost import plain_queries_cost
from muntin.optimizer.costs.lower_bounds import (
    RATIOS,
    least_with_one_tree,
    least_with_two_trees,
)
from muntin.optimizer.data_windows import move_into_data_trees
from muntin.optimizer.exact import exact, exact_factor
from muntin.optimizer.factor_windows.coverage import coverage
from muntin.optimizer.factor_windows.factor_windows import factor
from muntin.optimizer.groupings.choose_passes import made_cost, with_passes
from muntin.optimizer.intermediate import best_tree, intermediate
from muntin.optimizer.name_techniques import check_forced
from muntin.optimizer.shared import shared
from muntin.optimizer.subsumption import subsume
from muntin.optimizer.trees import nodes_of, plan_of
from muntin.optimizer.triweave import triweave
from muntin.optimizer.unshared import unshared
from muntin.optimizer.weave_share.weave_share import weave

Strategy = Callable[[Workload], Plan]

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
# More queries than this nearly always share something.
_FEW_QUERIES = 8
# The most queries for which `auto` tries every strategy for all groupings at once, too.
_MOST_TOGETHER = 30
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
    windows = max(
        (len({q.window for q in queries}) for queries in workload.groupings.values()), default=0
    )
    best: dict[Grouping, tuple[str, tuple[PeriodicTree, ...]]] = {}
    least: dict[Grouping, float] = {}
    tried: dict[str, float] = {}

    def consider(strategies: Mapping[str, Strategy]) -> None:
        for name, strategy in strategies.items():
            if windows > _MOST_WINDOWS.get(name, windows):
                continue
            try:
                plan = strategy(workload)
            except PlanError:
                # The exact strategies refuse what is too large for them.
                continue
            tried[name] = sum(tree.cost for tree in plan.data_trees)
            for grouping in workload.groupings:
                trees = tuple(tree for tree in plan.periodic_trees if tree.grouping == grouping)
                spent = made_cost(trees, workload)
                # Without sharing, each tree reads the events itself.
                tried[name] += cost_of(trees) if name == "unshared" else spent
                if grouping not in best or spent < least[grouping]:
                    best[grouping], least[grouping] = (name, trees), spent

    def may_be_cheaper(bound: Callable[[Iterable[Query], Workload], float]) -> bool:
        return any(
            least[grouping] > bound(queries, workload) * _CLOSE_ENOUGH
            for grouping, queries in workload.groupings.items()
        )

    consider(_FIRST)
    if may_be_cheaper(least_with_one_tree):
        consider(_TREES)
    # Trees may also be made in one pass, which costs at least what one tree does.
    if may_be_cheaper(least_with_two_trees) or may_be_cheaper(least_with_one_tree):
        consider(_GROUPS)
        if windows <= _MOST_WINDOWS["intermediate"]:
            for grouping, (name, trees) in best.items():
                best[grouping] = name, tuple(_rehung(tree, workload) for tree in trees)
    chosen = plan_of("auto", workload, lambda queries: best[queries[0].grouping][1])
    taken = tuple(dict.fromkeys(name for name, _ in best.values()))
    return replace(chosen, considered=tried, taken=taken)


def _rehung(tree: PeriodicTree, workload: Workload) -> PeriodicTree:
    """Returns the tree with intermediate windows if that is cheaper; one of a pass stays."""
    if tree.made_in is not None:
        return tree
    queries = {query.name: query for query in workload.shared}
    asked = nodes_of(queries[name] for name in tree.queries)
    return min(
        tree, best_tree(tree.grouping, asked, workload), key=lambda candidate: candidate.cost
    )


# The CLI, the documents and the tests iterate over this table.
STRATEGIES: dict[str, Strategy] = {**_FIRST, **_TREES, **_GROUPS, "auto": auto}

DEFAULT = "auto"
UNSHARED = "unshared"
# The default of streams: one tree per grouping at any rate, so that a query that comes or goes
# never moves the others to a tree that has no slices for them.
STEADY = "shared"


def optimize(workload: Workload, strategy: str = DEFAULT) -> Plan:
    """Returns the plan of a strategy, by its name in `STRATEGIES`.

    The strategy plans the trees of each grouping for its own rate and keys. Then trees that differ
    in keys and filters are put into passes, except under `unshared`. Under `auto`, periodic windows
    move into trees of data windows first if that is cheaper.
    """
    if strategy not in STRATEGIES:
        raise PlanError(
            f"no strategy is called {strategy!r}; {nearest(strategy, list(STRATEGIES))}"
        )
    workload = exact_only(workload)
    check_forced(workload)
    return _with_plain_queries(_optimized(workload, strategy), workload)


def _with_plain_queries(plan: Plan, workload: Workload) -> Plan:
    """Returns the plan with what Spark spends on the queries that it answers alone, in its costs
    and in those that it is compared with."""
    plain = plain_queries_cost(workload)
    return replace(
        plan,
        cost_of_plain=plain,
        unshared_cost=plan.unshared_cost + plain,
        plain_cost=plan.plain_cost + plain,
        considered={name: spent + plain for name, spent in plan.considered.items()},
    )


def _optimized(workload: Workload, strategy: str) -> Plan:
    parts = workload.by_grouping or (workload,)
    plans = [STRATEGIES[strategy](part) for part in parts]
    if strategy == "unshared":
        return _united(plans, replace(workload, computed=frozenset()))
    if strategy != DEFAULT:
        return _made(plans, workload)
    ways = [plans]
    # What is cheapest for each grouping may cost more in the pass of several.
    if len(parts) > 1:
        if any(len(plan.periodic_trees) > 1 for plan in plans):
            ways.append(list(map(_in_one_tree, plans, parts)))
        # A single tumbling window has the same tree under every strategy.
        is_same = all(
            len(plan.periodic_trees) == 1 and plan.periodic_trees[0].engine is Engine.SPARK
            for plan in plans
        )
        if len(workload.shared) <= _MOST_TOGETHER and not is_same:
            ways += _by_one_strategy(plans, parts)
    if workload.data_windows:
        ways += [list(map(move_into_data_trees, way, parts)) for way in ways]
    return min((_made(way, workload) for way in ways), key=lambda plan: plan.cost)


def _made(plans: Sequence[Plan], workload: Workload) -> Plan:
    """Returns the plans of all groupings as one, in the passes that cost least."""
    return with_passes(_united(plans, workload), workload)


def _by_one_strategy(plans: Sequence[Plan], parts: Sequence[Workload]) -> Iterator[list[Plan]]:
    """Yields the plans of `auto` with the trees that one strategy has for every grouping."""
    known = [[plan.periodic_trees for plan in plans]]
    for name, strategy in {**_FIRST, **_TREES, **_GROUPS}.items():
        try:
            trees = [strategy(part).periodic_trees for part in parts]
        except PlanError:
            continue
        if trees not in known:
            known.append(trees)
            chosen = zip(plans, trees, strict=True)
            yield [plan.with_trees(periodic=own, taken=(name,)) for plan, own in chosen]


def _in_one_tree(plan: Plan, workload: Workload) -> Plan:
    """Returns the plan of one grouping, or one with a single tree if it has several."""
    if len(plan.periodic_trees) < 2:
        return plan
    return plan.with_trees(periodic=intermediate(workload).periodic_trees, taken=("intermediate",))


def _united(plans: Sequence[Plan], workload: Workload) -> Plan:
    """Returns one plan with the trees of all, for the whole workload."""
    tried = [set(plan.considered) for plan in plans]
    return plans[0].with_trees(
        periodic=(tree for plan in plans for tree in plan.periodic_trees),
        data=(tree for plan in plans for tree in plan.data_trees),
        workload=workload,
        unshared_cost=sum(plan.unshared_cost for plan in plans),
        plain_cost=sum(plan.plain_cost for plan in plans),
        considered={
            name: sum(plan.considered[name] for plan in plans)
            for name in plans[0].considered
            if all(name in names for names in tried)
        },
        taken=tuple(dict.fromkeys(name for plan in plans for name in plan.taken)),
    )


def may_share(workload: Workload) -> bool:
    """Whether `auto` shares something in a batch at some ratio of rate to keys; when in doubt, it
    does. If not, nothing more need be known of the events.

    Filters of unknown effect let in all events, and all keys are alike: then sharing saves most.
    """
    if workload.seconds is None or len(workload.queries) > _FEW_QUERIES:
        return True
    events = workload.seconds * workload.rate
    tried = (
        replace(workload, rate=ratio, keys=1.0, keys_known=True, seconds=events / ratio)
        for ratio in reversed(RATIOS)
    )
    return any(tree.engine is not Engine.SPARK for each in tried for tree in optimize(each, STEADY))


def compare(workload: Workload) -> dict[str, float]:
    """Returns the cost of every strategy except `auto`, without those that refuse the workload."""
    costs = {}
    for name in {**_FIRST, **_TREES, **_GROUPS}:
        try:
            costs[name] = optimize(workload, name).cost
        except PlanError:
            continue
    return costs
