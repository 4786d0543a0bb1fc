"""Plans queries again while they run: when they change, or when their events are measured."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from muntin.errors import PlanError
from muntin.model.plan import Plan
from muntin.model.plan_json import definition
from muntin.model.query import Grouping, Query, parts_of
from muntin.model.workload import Workload
from muntin.optimizer.optimize import optimize
from muntin.optimizer.plan_for_stream import plan_for_stream, read_slices_or_levels
from muntin.optimizer.trees import flat_tree, plain_spark_cost, tree_each_cost
from muntin.optimizer.weave_share.incremental import ReweavingPlan


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
        return (
            f"{measured}; replan() saves {self.saves:.1%}: the plan of {self.best.strategy}, "
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
    # Whether queries that run are to move where it puts them: it was made from scratch, because the
    # one that runs has drifted too far.
    moves: bool = False


class Replanner:
    """Follows the queries of a running plan: Weave Share incrementally, others from scratch."""

    def __init__(self, plan: Plan) -> None:
        self._strategy = plan.strategy
        self._running = plan
        self._queries = tuple(parts_of(plan.queries))
        self._woven: ReweavingPlan | None = None

    def plan(self, workload: Workload) -> PlanChange:
        """Returns a plan for the current queries."""
        if self._strategy != "weave":
            return PlanChange(plan=optimize(workload, self._strategy))
        if self._woven is None:
            self._woven = ReweavingPlan(self._running.workload_of(self._queries))
        self._follow(self._woven, workload.periodic_queries)
        is_due = self._woven.due
        if is_due:
            self._woven.reconstruct()
        plan = self._woven.plan().with_trees(queries=workload.queries)
        return PlanChange(plan=plan, moves=is_due)

    def _follow(self, woven: ReweavingPlan, queries: tuple[Query, ...]) -> None:
        """Removes queries that are gone or changed, then adds the new ones."""
        wanted = {query.name: definition(query.whole_query) for query in queries}
        there = {query.name: definition(query.whole_query) for query in self._queries}
        for name, asked in there.items():
            if wanted.get(name) != asked:
                woven.remove(name)
        for query in queries:
            if there.get(query.name) != wanted[query.name]:
                woven.add(query)
        self._queries = queries
