"""No sharing: a tree per query. What every other strategy is measured against."""

from muntin.model.plan import Plan
from muntin.model.query import Workload
from muntin.share.trees import flat_tree, plan_of


def unshared(workload: Workload) -> Plan:
    """Each query cut and combined by itself."""
    return plan_of(
        "unshared", workload, lambda queries: [flat_tree([query], workload) for query in queries]
    )
