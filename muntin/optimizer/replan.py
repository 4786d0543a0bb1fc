"""Plans queries again while they run: when they change, or when their events are measured."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from muntin.errors import PlanError
from muntin.model.plan import Plan
from muntin.model.plan_json import definition
from muntin.model.query import Grouping, Query, parts_of
from muntin.model.workload import Workload
from muntin.optimizer.embedding import EmbeddingPlan
from muntin.optimizer.incremental_plan import IncrementalPlan
from muntin.optimizer.optimize import optimize
from muntin.optimizer.plan_for_stream import plan_for_stream, read_slices_or_levels
from muntin.optimizer.trees import flat_tree, plain_spark_cost, tree_each_cost
from muntin.optimizer.weave_share.incremental import TOLERANCE, ReweavingPlan


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """Events per second of event time; by grouping, live keys and the share of the events."""

    rate: float
    keys: Mapping[Grouping, float] = field(default_factory=dict)
    shares: Mapping[Grouping, float] = field(default_factory=dict)

    def of(self, workload: Workload) -> Workload:
        """Returns a workload with these figures; others stay where nothing was measured."""
        live = {frozenset(grouping.keys): keys for grouping, keys in self.keys.items()}
        main = max(
            self.keys, key=lambda grouping: len(workload.queries_by_grouping.get(grouping, ()))
        )
        return replace(
            workload,
            rate=self.rate,
            keys=self.keys[main],
            rate_known=True,
            keys_known=True,
            live_keys={**workload.live_keys, **live},
            shares={
                **workload.shares,
                **{each.where: share for each, share in self.shares.items() if each.where},
            },
        )


# A stream cuts the trees of all of these from one reading of the events; where nodes read other
# nodes, it has them read the slices. So only the assignment of queries to trees matters.
STRATEGIES = ("shared", "weave", "unshared", "exact")


def cheapest_plan(workload: Workload) -> Plan:
    """Returns the cheapest plan of all strategies for the rate and keys of a workload."""
    plans = []
    for strategy in STRATEGIES:
        try:
            plans.append(plan_for_stream(optimize(workload, strategy)))
        except PlanError:
            # The exact strategy refuses what is too large for it.
            continue
    return min(plans, key=lambda plan: plan.cost)


def price_stream_plan(plan: Plan, workload: Workload) -> Plan:
    """Returns a plan for a stream with its costs at the rate and keys of a workload."""
    facts = {
        part.periodic_queries[0].grouping: part
        for part in workload.split_by_grouping
        if part.periodic_queries
    }
    trees = (
        flat_tree(list(plan.queries_of(tree).values()), facts[tree.grouping])
        for tree in plan.periodic_trees
    )
    return read_slices_or_levels(
        plan.with_trees(
            periodic=trees,
            workload=replace(workload, queries=plan.queries),
            unshared_cost=sum(map(tree_each_cost, workload.split_by_grouping)),
            plain_cost=sum(map(plain_spark_cost, workload.split_by_grouping)),
        )
    )


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """The plan that runs and the cheapest one, both with costs for what was measured."""

    now: Plan
    best: Plan
    # None: nothing was measured yet.
    measured: Measurement | None
    # Whether the pipeline has moved to the cheapest plan.
    is_new: bool = False

    @property
    def saves(self) -> float:
        """The share of the cost that the cheapest plan saves."""
        return 0.0 if self.now.cost <= 0 else max(0.0, 1 - self.best.cost / self.now.cost)

    def __str__(self) -> str:
        if self.measured is None:
            return "nothing was measured yet"
        keys = (f"{live:,.0f} keys of {each}" for each, live in self.measured.keys.items())
        measured = ", ".join([f"measured: {self.measured.rate:,.1f} events a second", *keys])
        if self.saves < 0.001:
            return f"{measured}; no other plan is cheaper"
        trees = len(self.best.periodic_trees)
        saving = "the new plan" if self.is_new else "replan()"
        return (
            f"{measured}; {saving} saves {self.saves:.1%}: the plan of {self.best.strategy}, "
            f"{trees} {'tree' if trees == 1 else 'trees'} instead of {len(self.now.periodic_trees)}"
        )


def outlook(running: Plan, measured: Measurement | None) -> Outlook:
    """Compares a running plan with the cheapest of all strategies.

    Data windows stay where they are: only their trees know what is open.
    """
    queries = [query for query in running.queries if isinstance(query, Query)]
    if measured is None or running.data_trees:
        return Outlook(now=running, best=running, measured=measured)
    work = measured.of(running.workload_of(queries))
    now, best = price_stream_plan(running, work), cheapest_plan(work)
    # A plan is left only for a cheaper one.
    return Outlook(now=now, best=best if best.cost < now.cost else now, measured=measured)


@dataclass(frozen=True, kw_only=True)
class PlanChange:
    """A plan for changed queries."""

    plan: Plan
    # Whether queries that run are to move where it puts them.
    moves: bool = False


class Replanner:
    """Follows the queries of a running plan: Weave Share and subsumption incrementally, others from
    scratch."""

    def __init__(self, running: Plan, *, tolerance: float = TOLERANCE) -> None:
        """`tolerance` is that of Weave Share, which moves queries when it is exceeded."""
        self._strategy = running.strategy
        self._running = running
        self._queries = tuple(parts_of(running.queries))
        self._incremental: IncrementalPlan | None = None
        if self._strategy == "weave":
            self._incremental = ReweavingPlan(running, tolerance=tolerance)
        elif self._strategy == "subsume":
            self._incremental = EmbeddingPlan(running)

    def plan(self, workload: Workload) -> PlanChange:
        """Returns a plan for the current queries."""
        if self._incremental is None:
            return PlanChange(plan=optimize(workload, self._strategy))
        self._follow(self._incremental, workload.periodic_queries)
        plan = self._incremental.plan().with_trees(queries=workload.queries)
        before, self._running = self._running, plan
        return PlanChange(plan=plan, moves=_moves_queries(before, plan))

    def _follow(self, plan: IncrementalPlan, queries: tuple[Query, ...]) -> None:
        """Removes queries that are gone or changed, then adds the new ones."""
        wanted = {query.name: definition(query.whole_query) for query in queries}
        there = {query.name: definition(query.whole_query) for query in self._queries}
        for name, asked in there.items():
            if wanted.get(name) != asked:
                plan.remove(name)
        for query in queries:
            if there.get(query.name) != wanted[query.name]:
                plan.add(query)
        self._queries = queries


def _moves_queries(before: Plan, after: Plan) -> bool:
    """Whether queries of both plans share a tree in one of them and not in the other."""
    old, new = (
        {name: tree for tree, names in enumerate(each.periodic_trees) for name in names.queries}
        for each in (before, after)
    )
    pairs = {(old[name], new[name]) for name in old.keys() & new.keys()}
    return any(len({pair[side] for pair in pairs}) < len(pairs) for side in (0, 1))
