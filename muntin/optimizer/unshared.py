"""No sharing: a tree per query, the baseline of the other strategies."""

from muntin.model.plan import Plan
from muntin.model.workload import Workload
from muntin.optimizer.trees import flat_tree, plan_of


def unshared(workload: Workload) -> Plan:
    """Plans a tree for each query."""
    return plan_of(
        "unshared", workload, lambda queries: [flat_tree([query], workload) for query in queries]
    )
