"""What a running plan costs by what was measured, beside the plan that is now the cheapest."""

from dataclasses import dataclass

from muntin.model.plan import Plan
from muntin.model.query import Query
from muntin.optimizer.evolve.cheapest import cheapest, priced
from muntin.optimizer.evolve.measured import Measured


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """The plan that runs and the cheapest one, both with costs for what was measured."""

    now: Plan
    best: Plan
    # None: nothing was measured yet.
    measured: Measured | None
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
        told = ", ".join([f"measured: {self.measured.rate:,.1f} events a second", *keys])
        if self.saves < 0.001:
            return f"{told}; no other plan is cheaper"
        trees = len(self.best.periodic_trees)
        return (
            f"{told}; replan() saves {self.saves:.1%}: the plan of {self.best.strategy}, "
            f"{trees} {'tree' if trees == 1 else 'trees'} instead of {len(self.now.periodic_trees)}"
        )


def outlook(running: Plan, measured: Measured | None) -> Outlook:
    """Compares a running plan with the cheapest of all strategies.

    Data windows stay where they are: only their trees know what is open.
    """
    queries = [query for query in running.queries if isinstance(query, Query)]
    if measured is None or running.data_trees:
        return Outlook(now=running, best=running, measured=measured)
    work = measured.of(running.workload_of(queries))
    now, best = priced(running, work), cheapest(work)
    # A plan is left only for a cheaper one.
    return Outlook(now=now, best=best if best.cost < now.cost else now, measured=measured)
