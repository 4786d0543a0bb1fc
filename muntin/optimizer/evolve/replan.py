"""Plans queries again when they change while they run, incrementally if the strategy can."""

from dataclasses import dataclass

from muntin.model.plan import Plan
from muntin.model.plan_json import definition
from muntin.model.query import Query, parts_of
from muntin.model.workload import Workload
from muntin.optimizer.optimize import optimize
from muntin.optimizer.weave_share.incremental import ReweavingPlan


@dataclass(frozen=True, kw_only=True)
class Replanned:
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

    def plan(self, workload: Workload) -> Replanned:
        """Returns a plan for the current queries."""
        if self._strategy != "weave":
            return Replanned(plan=optimize(workload, self._strategy))
        if self._woven is None:
            self._woven = ReweavingPlan(self._running.workload_of(self._queries))
        self._follow(self._woven, workload.shared)
        is_due = self._woven.due
        if is_due:
            self._woven.reconstruct()
        plan = self._woven.plan().with_trees(queries=workload.queries)
        return Replanned(plan=plan, moves=is_due)

    def _follow(self, woven: ReweavingPlan, queries: tuple[Query, ...]) -> None:
        """Removes queries that are gone or changed, then adds the new ones."""
        wanted = {query.name: definition(query.asked) for query in queries}
        there = {query.name: definition(query.asked) for query in self._queries}
        for name, asked in there.items():
            if wanted.get(name) != asked:
                woven.remove(name)
        for query in queries:
            if there.get(query.name) != wanted[query.name]:
                woven.add(query)
        self._queries = queries
