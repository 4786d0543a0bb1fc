"""The table of strategies, and the one door to them."""

from collections.abc import Callable, Iterable

from muntin.errors import PlanError, nearest
from muntin.model.plan import Plan
from muntin.model.query import PlainQuery, Query, Workload, workload
from muntin.share.coverage import coverage
from muntin.share.factor import factor
from muntin.share.shared import shared
from muntin.share.unshared import unshared

STRATEGIES: dict[str, Callable[[Workload], Plan]] = {
    "unshared": unshared,
    "shared": shared,
    "coverage": coverage,
    "factor": factor,
}

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
